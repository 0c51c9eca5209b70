/* What copies and matrix cores of NVIDIA GPUs do, by work-items of the CPU device.
 *
 * An instruction that ends later may end at any time until it is waited for. Two extremes find what depends on that, and
 * blocks take turns:
 *   even blocks  copies end where they start, and products read shared memory when they are waited for
 *   odd blocks   copies end when they are waited for, or at the second barrier; products read where they start, and
 *                what was written since the last proxy fence they do not see
 *
 * Written down from the PTX ISA, apart from the text that is tested. It needs a device that runs blocks one by one, each
 * from shared memory full of NaN: one that is guarded. */
#pragma once

extern __shared__ unsigned char emulated_shared[];

static constexpr unsigned emulated_reserved_bytes = 1024; /* of the system's own, in front of a block's shared memory */
static constexpr int emulated_most_items = 512, emulated_most_copies = 1024, emulated_most_products = 64;
static constexpr int emulated_most_agreements = 1024;
static constexpr int emulated_late_barriers = 2, emulated_turns_behind = 64;

static inline size_t __cvta_generic_to_shared(const void* place)
{
    return (size_t)((const unsigned char*)place - emulated_shared) + emulated_reserved_bytes;
}

struct emulated_copy {
    unsigned char* to;
    const unsigned char* from;
    int size, bytes, group, barrier;
};
struct emulated_product {
    unsigned long long factors[2];
    bool is_across[2], is_bf16; /* across: k is the slow axis of that factor */
    int columns, group;
    float* sums[128];
};

/* What a work-item offers to its wave, and what it has begun. Groups and barriers are counted from the start of its block. */
struct emulated_item {
    unsigned block; /* counted from 1 */
    unsigned row;   /* of ldmatrix, in bytes of shared memory */
    unsigned words[2][4];
    bool is_fenced;
    int barriers, copy_groups, product_groups;
    int first_copy, copies, first_product, products, products_begun;
    emulated_copy copy[emulated_most_copies];
    emulated_product product[emulated_most_products];
};
static emulated_item emulated_items[emulated_most_items];

/* Shared memory as the matrix cores of an odd block see it. */
static unsigned char emulated_shown[HIP_HOST_DYNAMIC_SHARED_BYTES];

static unsigned emulated_block; /* that runs now, counted from 1 */
static bool emulated_waits_for_lanes, emulated_falls_behind;

static bool emulated_is_eager() { return blockIdx.x % 2 == 0; }

static emulated_item* emulated_self()
{
    const unsigned block = blockIdx.x + 1;
    if(threadIdx.x >= emulated_most_items) __builtin_trap();
    if(emulated_block != block) {
        emulated_block = block;
        emulated_falls_behind = emulated_waits_for_lanes;
        __builtin_memset(emulated_shown, 0xff, sizeof(emulated_shown));
    }
    emulated_item* self = &emulated_items[threadIdx.x];
    if(self->block != block) {
        self->block = block;
        self->is_fenced = false;
        self->barriers = self->copy_groups = self->product_groups = 0;
        self->first_copy = self->copies = self->first_product = self->products = self->products_begun = 0;
    }
    return self;
}

/* copies */

static void emulated_land(const emulated_copy* copy)
{
    for(int i = 0; i < copy->size; ++i) copy->to[i] = i < copy->bytes ? copy->from[i] : 0;
}

static void emulated_start_copy(unsigned to, const unsigned char* from, int size, int bytes)
{
    emulated_item* self = emulated_self();
    const unsigned place = to - emulated_reserved_bytes;
    const bool is_aligned = to % size == 0 && (bytes == 0 || (size_t)from % size == 0);
    if(!is_aligned || bytes > size || place + size > HIP_HOST_DYNAMIC_SHARED_BYTES) __builtin_trap();
    const emulated_copy copy = {emulated_shared + place, from, size, bytes, self->copy_groups, self->barriers};
    if(emulated_is_eager()) return emulated_land(&copy);
    if(self->copies == emulated_most_copies) __builtin_trap();
    self->copy[(self->first_copy + self->copies++) % emulated_most_copies] = copy;
}

/* Ends the copies of all groups up to that one, and those that began that many barriers ago. */
static void emulated_end_copies(int last_group, int last_barrier)
{
    emulated_item* self = emulated_self();
    while(self->copies) {
        const emulated_copy* copy = &self->copy[self->first_copy];
        if(copy->group > last_group && copy->barrier > last_barrier) return;
        emulated_land(copy);
        self->first_copy = (self->first_copy + 1) % emulated_most_copies;
        --self->copies;
    }
}

/* Waves that wait for their lanes would all keep step: that is how the device releases them. So they fall behind each
 * other, in even blocks the last one most. The first block alone does not know yet that its waves have to. */
static void emulated_fall_behind()
{
    if(!emulated_falls_behind) return;
    const unsigned wave = threadIdx.x / warpSize, last_wave = (blockDim.x - 1) / warpSize;
    const unsigned behind = emulated_is_eager() ? wave : last_wave - wave;
    for(unsigned i = 0; i < behind * emulated_turns_behind; ++i) __syncwarp();
}

static void emulated_barrier()
{
    const int barriers = ++emulated_self()->barriers;
    emulated_end_copies(-1, barriers - emulated_late_barriers);
    __syncthreads();
    emulated_fall_behind();
}
#define __syncthreads() emulated_barrier()

static float emulated_value(unsigned short bits, bool is_bf16)
{
    return is_bf16 ? hip_host_bits<float>((unsigned)bits << 16) : (float)hip_host_bits<_Float16>(bits);
}

/* products of warpgroups */

/* A descriptor: in units of 16 bytes the start, how far it is to the next 64 along the fast axis, and to the next 8 along
 * the slow one. Of every address, which counts from the start of all shared memory, bits 7 to 9 are added to 4 to 6. */
static float emulated_element(const emulated_product* product, int factor, int row, int k)
{
    const unsigned long long descriptor = product->factors[factor];
    const unsigned long long swizzled_128_bytes = 1ull << 62, meaningless = 0xffffc000c000c000ull;
    if((descriptor & meaningless) != swizzled_128_bytes) __builtin_trap();
    const unsigned start = descriptor % 0x4000 * 16;
    const unsigned next_64 = (descriptor >> 16) % 0x4000 * 16, next_8 = (descriptor >> 32) % 0x4000 * 16;
    const int fast = product->is_across[factor] ? row : k, slow = product->is_across[factor] ? k : row;
    const unsigned straight = start + fast / 64 * next_64 + fast % 64 * 2 + slow / 8 * next_8 + slow % 8 * 128;
    const unsigned place = (straight ^ straight / 128 % 8 * 16) - emulated_reserved_bytes;
    if(place >= HIP_HOST_DYNAMIC_SHARED_BYTES) return __builtin_nanf("");
    unsigned short bits;
    __builtin_memcpy(&bits, (emulated_is_eager() ? emulated_shared : emulated_shown) + place, sizeof(bits));
    return emulated_value(bits, product->is_bf16);
}

/* Sums of a lane: of two rows, 8 apart, two columns in every 8. */
static void emulated_multiply(const emulated_product* product)
{
    const int lane = (int)threadIdx.x % 32, first_row = (int)threadIdx.x / 32 % 4 * 16 + lane / 4;
    float rows[2][16];
    for(int k = 0; k < 16; ++k)
        for(int i = 0; i < 2; ++i) rows[i][k] = emulated_element(product, 0, first_row + 8 * i, k);
    for(int at = 0; at < product->columns / 4; ++at) {
        const int column = at / 2 * 8 + lane % 4 * 2 + at % 2;
        for(int k = 0; k < 16; ++k) {
            const float element = emulated_element(product, 1, column, k);
            for(int i = 0; i < 2; ++i) *product->sums[at / 2 * 4 + i * 2 + at % 2] += rows[i][k] * element;
        }
    }
}

/* The factors of a warpgroup's products, in their order: all of its work-items name the same. */
struct emulated_agreement {
    unsigned block;
    unsigned long long factors[2];
};
static emulated_agreement emulated_agreements[emulated_most_items / 128][emulated_most_agreements];

static void emulated_agree(int number, const emulated_product* product)
{
    if(number >= emulated_most_agreements) __builtin_trap();
    emulated_agreement* agreed = &emulated_agreements[threadIdx.x / 128][number];
    if(agreed->block != emulated_block) *agreed = {emulated_block, {product->factors[0], product->factors[1]}};
    if(agreed->factors[0] != product->factors[0] || agreed->factors[1] != product->factors[1]) __builtin_trap();
}

static void emulated_start_product(const emulated_product* product)
{
    emulated_item* self = emulated_self();
    emulated_agree(self->products_begun++, product);
    if(!self->is_fenced) /* nothing says that the sums have arrived in the registers that the cores use */
        for(int i = 0; i < product->columns / 2; ++i) *product->sums[i] = __builtin_nanf("");
    if(!emulated_is_eager()) return emulated_multiply(product);
    if(self->products == emulated_most_products) __builtin_trap();
    emulated_product* queued = &self->product[(self->first_product + self->products++) % emulated_most_products];
    *queued = *product;
    queued->group = self->product_groups;
}

static void emulated_end_products(int last_group)
{
    emulated_item* self = emulated_self();
    while(self->products && self->product[self->first_product].group <= last_group) {
        emulated_multiply(&self->product[self->first_product]);
        self->first_product = (self->first_product + 1) % emulated_most_products;
        --self->products;
    }
}

/* products of a wave */

static const emulated_item* emulated_wave() { return &emulated_items[threadIdx.x / 32 * 32]; }

/* Lanes 8 q to 8 q + 7 name the rows of matrix q, of 8 x 8. A lane gets two neighbours of a row, or of a column. */
static void emulated_load(unsigned row, bool is_transposed, unsigned* const* to)
{
    const int lane = (int)threadIdx.x % 32;
    if(row % 16 || row - emulated_reserved_bytes + 16 > HIP_HOST_DYNAMIC_SHARED_BYTES) __builtin_trap();
    emulated_self()->row = row;
    emulated_waits_for_lanes = true;
    __syncwarp();
    for(int q = 0; q < 4; ++q) {
        unsigned short pair[2];
        for(int i = 0; i < 2; ++i) {
            const int at_row = is_transposed ? lane % 4 * 2 + i : lane / 4;
            const int at_column = is_transposed ? lane / 4 : lane % 4 * 2 + i;
            const unsigned place = emulated_wave()[8 * q + at_row].row - emulated_reserved_bytes + at_column * 2;
            __builtin_memcpy(&pair[i], emulated_shared + place, sizeof(pair[i]));
        }
        *to[q] = pair[0] | (unsigned)pair[1] << 16;
    }
    __syncwarp();
}

/* Element k of a row of 16: its words are spread over 4 lanes, and over two registers of each. */
static float emulated_element_of_lanes(int factor, int row, int k, bool is_bf16)
{
    const int rows_on = row / 8, halves = factor ? 1 : 2;
    const unsigned word = emulated_wave()[row % 8 * 4 + k % 8 / 2].words[factor][k / 8 * halves + rows_on];
    return emulated_value((unsigned short)(word >> k % 2 * 16), is_bf16);
}

static void emulated_multiply_16_8(float* const* sums, const unsigned* a, const unsigned* b, bool is_bf16)
{
    emulated_item* self = emulated_self();
    const int lane = (int)threadIdx.x % 32;
    for(int i = 0; i < 4; ++i) self->words[0][i] = a[i];
    for(int i = 0; i < 2; ++i) self->words[1][i] = b[i];
    __syncwarp();
    for(int i = 0; i < 4; ++i)
        for(int k = 0; k < 16; ++k)
            *sums[i] += emulated_element_of_lanes(0, lane / 4 + i / 2 * 8, k, is_bf16) *
                            emulated_element_of_lanes(1, lane % 4 * 2 + i % 2, k, is_bf16);
    __syncwarp();
}
