/* The PTX of a kernel on the CPU device: its text and its operands are taken as they stand there, `asm` alone has become
 * `ptx`. An instruction that is not known here, or stands in another form, ends the kernel. */
#pragma once

#define __CUDACC__

#include "ptx_operations.h"

struct ptx_operand {
    float* sum;
    unsigned* word;
    unsigned long long value;
};
static inline ptx_operand ptx_f(float& sum) { return {&sum, nullptr, 0}; }
template <class Value>
static inline ptx_operand ptx_l(Value value) { return {nullptr, nullptr, (unsigned long long)value}; }
static inline ptx_operand ptx_r(unsigned& word) { return {nullptr, &word, word}; }
static inline ptx_operand ptx_r(const unsigned& value) { return {nullptr, nullptr, value}; }
static inline ptx_operand ptx_r(int value) { return {nullptr, nullptr, (unsigned)value}; }
static inline ptx_operand ptx_n(int value) { return {nullptr, nullptr, (unsigned)value}; }

struct ptx_reader {
    const char* at;
    const ptx_operand* operands;

    bool accepts(const char* wanted)
    {
        const char* end = at;
        while(*wanted && *end == *wanted) ++end, ++wanted;
        if(!*wanted) at = end;
        return !*wanted;
    }
    void expect(const char* wanted)
    {
        if(!accepts(wanted)) __builtin_trap();
    }
    int number()
    {
        if(*at < '0' || *at > '9') __builtin_trap();
        int value = 0;
        while(*at >= '0' && *at <= '9') value = value * 10 + *at++ - '0';
        return value;
    }
    ptx_operand operand()
    {
        expect("%");
        return operands[number()];
    }
    void list(int count, ptx_operand* list)
    {
        expect("{");
        for(int i = 0; i < count; ++i) {
            expect(i ? ", " : "");
            list[i] = operand();
        }
        expect("}");
    }
};

static void emulated_copy_text(ptx_reader read)
{
    const bool is_past_l1 = read.accepts(".cg");
    if(!is_past_l1) read.expect(".ca");
    read.expect(".shared.global [");
    const unsigned to = (unsigned)read.operand().value;
    read.expect("], [");
    const unsigned char* from = (const unsigned char*)read.operand().value;
    read.expect("], ");
    const int size = read.number();
    read.expect(", ");
    const int bytes = (int)read.operand().value;
    read.expect(";");
    if(size != 16 && (is_past_l1 || (size != 8 && size != 4))) __builtin_trap();
    emulated_start_copy(to, from, size, bytes);
}

static void emulated_product_text(ptx_reader read)
{
    emulated_product product;
    const bool is_sum = read.operand().value != 0;
    read.expect(", 0;\nwgmma.mma_async.sync.aligned.m64n");
    product.columns = read.number();
    read.expect("k16.f32.");
    product.is_bf16 = read.accepts("bf16.bf16");
    if(!product.is_bf16) read.expect("f16.f16");
    if(product.columns > 256) __builtin_trap();
    ptx_operand sums[128];
    read.expect(" ");
    read.list(product.columns / 2, sums);
    for(int i = 0; i < product.columns / 2; ++i) product.sums[i] = sums[i].sum;
    read.expect(", ");
    product.factors[0] = read.operand().value;
    read.expect(", ");
    product.factors[1] = read.operand().value;
    read.expect(", is_sum, 1, 1, ");
    product.is_across[0] = read.operand().value;
    read.expect(", ");
    product.is_across[1] = read.operand().value;
    read.expect(";\n}");
    if(!is_sum) __builtin_trap(); /* products that replace the sums are not needed here */
    emulated_start_product(&product);
}

static void emulated_load_text(ptx_reader read)
{
    ptx_operand words[4];
    const bool is_transposed = read.accepts(".trans");
    read.expect(".shared.b16 ");
    read.list(4, words);
    read.expect(", [");
    const unsigned row = (unsigned)read.operand().value;
    read.expect("];");
    unsigned* const to[] = {words[0].word, words[1].word, words[2].word, words[3].word};
    emulated_load(row, is_transposed, to);
}

static void emulated_wave_product_text(ptx_reader read)
{
    ptx_operand sums[4], a[4], b[2], added[4];
    const bool is_bf16 = read.accepts("bf16.bf16");
    if(!is_bf16) read.expect("f16.f16");
    read.expect(".f32 ");
    read.list(4, sums);
    read.expect(", ");
    read.list(4, a);
    read.expect(", ");
    read.list(2, b);
    read.expect(", ");
    read.list(4, added);
    read.expect(";");
    float* places[4];
    unsigned a_words[4], b_words[2];
    for(int i = 0; i < 4; ++i) {
        if(sums[i].sum != added[i].sum) __builtin_trap(); /* sums are added to in their place */
        places[i] = sums[i].sum;
        a_words[i] = (unsigned)a[i].value;
        b_words[i % 2] = (unsigned)b[i % 2].value;
    }
    emulated_multiply_16_8(places, a_words, b_words, is_bf16);
}

static void emulated_ptx(ptx_reader read)
{
    emulated_item* self = emulated_self();
    if(read.accepts("cp.async.commit_group;"))
        ++self->copy_groups;
    else if(read.accepts("cp.async.wait_group ")) {
        emulated_fall_behind();
        emulated_end_copies(self->copy_groups - 1 - (int)read.operand().value, -1);
    } else if(read.accepts("cp.async"))
        emulated_copy_text(read);
    else if(read.accepts("fence.proxy.async.shared::cta;"))
        __builtin_memcpy(emulated_shown, emulated_shared, sizeof(emulated_shown));
    else if(read.accepts("wgmma.fence.sync.aligned;"))
        self->is_fenced = true;
    else if(read.accepts("wgmma.commit_group.sync.aligned;"))
        ++self->product_groups;
    else if(read.accepts("wgmma.wait_group.sync.aligned "))
        emulated_end_products(self->product_groups - 1 - (int)read.operand().value);
    else if(read.accepts("ldmatrix.sync.aligned.m8n8.x4"))
        emulated_load_text(read);
    else if(read.accepts("mma.sync.aligned.m16n8k16.row.col.f32."))
        emulated_wave_product_text(read);
    else if(read.accepts("{\n.reg .pred is_sum;\nsetp.ne.b32 is_sum, "))
        emulated_product_text(read);
    else
        __builtin_trap();
}

template <class... Operands>
static void ptx(const char* text, Operands... operands)
{
    const ptx_operand all[] = {operands..., {}};
    emulated_ptx({text, all});
}
