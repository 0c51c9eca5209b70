/* What the shared object exports: the kernel's signature as data, and the loop over blocks. Included behind the kernel's
 * text, which is why the kernel can be inlined into the loop over work-items. HIP_HOST_KERNEL is the kernel's name. */
#pragma once

#include "hip_host.h"

#define HIP_HOST_EXPORT extern "C" __attribute__((visibility("default")))

template <size_t... HipHostIndex> struct hip_host_indices {};
#if defined(__clang__)
template <class HipHostType, HipHostType... HipHostIndex> struct hip_host_sequence { typedef hip_host_indices<HipHostIndex...> type; };
template <size_t HipHostCount> using hip_host_up_to = typename __make_integer_seq<hip_host_sequence, size_t, HipHostCount>::type;
#else
template <size_t HipHostCount> using hip_host_up_to = hip_host_indices<__integer_pack(HipHostCount)...>;
#endif

/* p pointer, f and d floats, i and l integers of 4 and 8 bytes, o whatever else. */
template <class HipHostType> struct hip_host_kind { static constexpr char value = 'o'; };
template <class HipHostType> struct hip_host_kind<HipHostType*> { static constexpr char value = 'p'; };
#define HIP_HOST_KIND(HipHostType, KIND) template <> struct hip_host_kind<HipHostType> { static constexpr char value = KIND; };
HIP_HOST_KIND(float, 'f')
HIP_HOST_KIND(double, 'd')
HIP_HOST_KIND(int, 'i')
HIP_HOST_KIND(unsigned, 'i')
HIP_HOST_KIND(long, 'l')
HIP_HOST_KIND(unsigned long, 'l')
HIP_HOST_KIND(long long, 'l')
HIP_HOST_KIND(unsigned long long, 'l')
#undef HIP_HOST_KIND

template <class HipHostFunction> struct hip_host_signature;
template <class... HipHostArgument> struct hip_host_signature<void(HipHostArgument...)> {
    static constexpr unsigned count = sizeof...(HipHostArgument);
    static constexpr char kinds[] = {hip_host_kind<HipHostArgument>::value..., 0};
    static constexpr unsigned sizes[] = {(unsigned)sizeof(HipHostArgument)..., 0};
    template <size_t... HipHostIndex> static inline void call(void** params, hip_host_indices<HipHostIndex...>) {
        HIP_HOST_KERNEL(*static_cast<HipHostArgument*>(params[HipHostIndex])...);
    }
};
typedef hip_host_signature<decltype(HIP_HOST_KERNEL)> hip_host_this;
static void hip_host_body(void** params) { hip_host_this::call(params, hip_host_up_to<hip_host_this::count>()); }

HIP_HOST_EXPORT const unsigned hip_host_argument_count = hip_host_this::count;
HIP_HOST_EXPORT const char* const hip_host_argument_kinds = hip_host_this::kinds;
HIP_HOST_EXPORT const unsigned* const hip_host_argument_sizes = hip_host_this::sizes;

static unsigned hip_host_common_divisor(unsigned a, unsigned b) { return b ? hip_host_common_divisor(b, a % b) : a; }
/* About the golden section of the count, and coprime to it, so that every work-item has its turn. */
static hip_host_turns hip_host_turns_of(const hip_host_job* job, unsigned count) {
    unsigned stride = (unsigned)(count * 0.618) | 1u;
    while(hip_host_common_divisor(stride, count) != 1) ++stride;
    return {job->order, job->watched, count, stride};
}

#if HIP_HOST_FIBERS
/* Bytes of scratch that hip_host_run needs for a block of that many work-items. */
HIP_HOST_EXPORT size_t hip_host_work_bytes(unsigned count) { return count * (sizeof(hip_host_fiber) + hip_host_stack_bytes); }
#else
HIP_HOST_EXPORT size_t hip_host_work_bytes(unsigned) { return 0; }
struct hip_host_worker {
    void (*body)(void**);
    void** params;
};
static bool hip_host_run_block(hip_host_worker* worker, hip_host_turns turns) {
    const uint3 size = hip_host_now.block_dim;
    uint3& at = hip_host_now.thread;
    if(turns.order == 0 && !turns.watched) {
        for(at.z = 0; at.z < size.z; ++at.z)
            for(at.y = 0; at.y < size.y; ++at.y)
                for(at.x = 0; at.x < size.x; ++at.x) hip_host_body(worker->params);
        return true;
    }
    for(unsigned step = 0; step < turns.count; ++step) {
        const unsigned index = turns.at(step, 0);
        at = {index % size.x, index / size.x % size.y, index / (size.x * size.y)};
        asm volatile("" ::: "memory"); /* a fault finds in hip_host_now whose it was */
        hip_host_body(worker->params);
    }
    return true;
}
#endif

static void hip_host_fail(hip_host_job* job, int failure) {
    int none = 0;
    if(!__atomic_compare_exchange_n(&job->failure, &none, failure, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    job->failed_block[0] = hip_host_now.block.x;
    job->failed_block[1] = hip_host_now.block.y;
    job->failed_block[2] = hip_host_now.block.z;
}

/* Dynamic shared memory: 0xFF before the block, so that what nobody wrote reads as NaN, and behind its end still after
 * the block, or else the block wrote there. */
#if HIP_HOST_DYNAMIC_SHARED_BYTES
extern "C" __shared__ unsigned char hip_host_dynamic_shared[];
static void hip_host_poison_shared() {
    for(unsigned i = 0; i < HIP_HOST_DYNAMIC_SHARED_BYTES; ++i) hip_host_dynamic_shared[i] = 0xff;
}
static bool hip_host_shared_is_intact(unsigned bytes) {
    unsigned char all = 0xff;
    for(unsigned i = bytes; i < HIP_HOST_DYNAMIC_SHARED_BYTES; ++i) all &= hip_host_dynamic_shared[i];
    return all == 0xff;
}
#else
static void hip_host_poison_shared() {}
static bool hip_host_shared_is_intact(unsigned) { return true; }
#endif
HIP_HOST_EXPORT const unsigned hip_host_own_tls_bytes = sizeof(hip_host_item) + HIP_HOST_DYNAMIC_SHARED_BYTES;

/* What a fault was, noted by the handler of a guarded launch. The same structure is declared in host_guard.py. */
struct hip_host_fault {
    unsigned long long address;
    int trap, is_write;
    uint3 block, thread;
};
HIP_HOST_EXPORT hip_host_fault* hip_host_report = nullptr;
/* HipHostArgument signal handler with three arguments. Offsets are those of siginfo_t and ucontext_t on x86-64 Linux. */
HIP_HOST_EXPORT void hip_host_on_fault(int, const char* information, const char* context) {
    const long long* registers = reinterpret_cast<const long long*>(context + 40);
    const long long error = registers[19], trap = registers[20];
    __builtin_memcpy(&hip_host_report->address, information + 16, sizeof(hip_host_report->address));
    hip_host_report->trap = (int)trap;
    hip_host_report->is_write = (error & 2) != 0;
    hip_host_report->block = hip_host_now.block;
    hip_host_report->thread = hip_host_now.thread;
}

/* Runs blocks of the job until none is left or one failed. Several OS threads may be in here with one job. */
HIP_HOST_EXPORT void hip_host_run(hip_host_job* job, void* work) {
    const unsigned* g = job->grid;
    const unsigned count = job->block[0] * job->block[1] * job->block[2];
    const hip_host_turns turns = hip_host_turns_of(job, count);
    hip_host_worker worker = {};
    worker.body = hip_host_body;
    worker.params = job->params;
#if HIP_HOST_FIBERS
    worker.fibers = static_cast<hip_host_fiber*>(work);
    worker.count = count;
#else
    (void)work;
#endif
    hip_host_now.worker = &worker;
    hip_host_now.grid_dim = {g[0], g[1], g[2]};
    hip_host_now.block_dim = {job->block[0], job->block[1], job->block[2]};
    for(;;) {
        const unsigned long long first = __atomic_fetch_add(&job->next, job->chunk, __ATOMIC_RELAXED);
        for(unsigned long long i = first; i < first + job->chunk; ++i) {
            if(i >= job->blocks || __atomic_load_n(&job->failure, __ATOMIC_RELAXED)) return;
            hip_host_now.block = {(unsigned)(i % g[0]), (unsigned)(i / g[0] % g[1]),
                                  (unsigned)(i / ((unsigned long long)g[0] * g[1]))};
            if(job->watched) hip_host_poison_shared();
            if(!hip_host_run_block(&worker, turns)) hip_host_fail(job, 1);
            else if(job->watched && !hip_host_shared_is_intact(job->shared_bytes)) hip_host_fail(job, 2);
        }
    }
}
