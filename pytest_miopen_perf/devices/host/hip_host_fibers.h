/* Work-items as fibers on one OS thread: __syncthreads() and the wave intrinsics switch to the next one.
 *
 * The scheduler runs every fiber that is not waiting, in the chosen order, until none is left that can run: that is a
 * phase. Then it releases the waves, or, when every work-item waits at the barrier, the block. */
#pragma once

enum hip_host_state { HIP_HOST_READY, HIP_HOST_AT_BARRIER, HIP_HOST_AT_WAVE, HIP_HOST_ENDED };

struct hip_host_slot {
    unsigned long long phase, value;
};
struct alignas(64) hip_host_fiber {
    void* stack;
    uint3 thread;
    hip_host_state state;
    hip_host_slot slots[2]; /* what it offers to its wave in this phase, and what it offered in the one before */
};
struct hip_host_worker {
    void* stack;
    hip_host_fiber *fibers, *current;
    unsigned count;
    unsigned long long phase;
    void (*body)(void**);
    void** params;
};

#if !defined(__x86_64__)
#error "the context switch of hip_host_fibers.h is written for x86-64 only"
#endif
/* Saves the callee-saved registers and the stack pointer of the caller in *save and continues the other stack. */
extern "C" __attribute__((visibility("hidden"))) void hip_host_switch(void** save, void* load);
asm(".text\n"
    ".p2align 4\n"
    ".hidden hip_host_switch\n"
    ".globl hip_host_switch\n"
    ".type hip_host_switch,@function\n"
    "hip_host_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
    "    movq %rsp,(%rdi)\n"
    "    movq %rsi,%rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size hip_host_switch,.-hip_host_switch\n");

static __attribute__((noinline)) void hip_host_wait(hip_host_state state) {
    hip_host_worker* worker = hip_host_now.worker;
    worker->current->state = state;
    hip_host_switch(&worker->current->stack, worker->stack);
}
static inline void __syncthreads() { hip_host_wait(HIP_HOST_AT_BARRIER); }

static void hip_host_fiber_main() {
    hip_host_worker* worker = hip_host_now.worker;
    worker->body(worker->params);
    hip_host_wait(HIP_HOST_ENDED);
    __builtin_unreachable();
}

/* Bytes between two stacks: an odd number of cache lines, so that the hot ends of the stacks share no cache set. */
static constexpr size_t hip_host_stack_bytes = 65536 + 5 * 64;

static inline void hip_host_prepare(hip_host_worker* worker, unsigned index) {
    hip_host_fiber* fiber = &worker->fibers[index];
    const uint3 size = hip_host_now.block_dim;
    char* stacks = reinterpret_cast<char*>(worker->fibers + worker->count);
    void** top = reinterpret_cast<void**>(stacks + (index + 1) * hip_host_stack_bytes);
    /* Six registers, the entry point that `ret` takes, and the return address that an entered function expects. */
    fiber->stack = top - 8;
    for(int i = 1; i <= 8; ++i) top[-i] = nullptr;
    top[-2] = reinterpret_cast<void*>(hip_host_fiber_main);
    fiber->thread = {index % size.x, index / size.x % size.y, index / (size.x * size.y)};
    fiber->state = HIP_HOST_READY;
    fiber->slots[0].phase = fiber->slots[1].phase = ~0ull;
}

struct hip_host_census {
    unsigned at_barrier, at_wave;
};
static inline hip_host_census hip_host_run_phase(hip_host_worker* worker, hip_host_turns turns) {
    hip_host_census census = {0, 0};
    for(unsigned step = 0; step < worker->count; ++step) {
        hip_host_fiber* fiber = &worker->fibers[turns.at(step, worker->phase)];
        if(fiber->state == HIP_HOST_READY) {
            worker->current = fiber;
            hip_host_now.thread = fiber->thread;
            hip_host_switch(&worker->stack, fiber->stack);
        }
        census.at_barrier += fiber->state == HIP_HOST_AT_BARRIER;
        census.at_wave += fiber->state == HIP_HOST_AT_WAVE;
    }
    return census;
}
static inline void hip_host_release(hip_host_worker* worker, hip_host_state waiting) {
    for(unsigned i = 0; i < worker->count; ++i)
        if(worker->fibers[i].state == waiting) worker->fibers[i].state = HIP_HOST_READY;
    ++worker->phase;
}

/* False when work-items ended while others wait at the barrier. */
static bool hip_host_run_block(hip_host_worker* worker, hip_host_turns turns) {
    for(unsigned i = 0; i < worker->count; ++i) hip_host_prepare(worker, i);
    worker->phase = 0;
    for(;;) {
        const hip_host_census census = hip_host_run_phase(worker, turns);
        if(census.at_wave) hip_host_release(worker, HIP_HOST_AT_WAVE);
        else if(census.at_barrier == worker->count) hip_host_release(worker, HIP_HOST_AT_BARRIER);
        else return census.at_barrier == 0;
    }
}
