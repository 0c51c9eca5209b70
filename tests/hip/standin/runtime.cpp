/* Devices, memory, events, modules and launches of the stand-in. Kernels are the shared objects that the CPU device's
 * host headers make from HIP text; a launch runs to its end before it returns. */
#include "standin.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* One launch, as hip_host.h of the CPU device has it. */
struct hip_host_job {
    void** params;
    unsigned grid[3], block[3];
    unsigned long long blocks, next, chunk;
    int order;
    unsigned shared_bytes;
    int watched, failure;
    unsigned failed_block[3];
};

#define ASK_FOR_FAULT                                                                                                  \
    if(const int fault = standin_fault(__func__)) return (hipError_t)fault

static const size_t MEMORY_BYTES = (size_t)1 << 30;
static const int MOST_WORK_ITEMS = 1024, LDS_BYTES = 65536;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static int device_count() { return atoi(standin_setting("STANDIN_HIP_DEVICES", "1")); }

STANDIN_EXPORT hipError_t hipGetDeviceCount(int* count) {
    ASK_FOR_FAULT;
    *count = device_count();
    return *count ? hipSuccess : hipErrorNoDevice;
}

static thread_local int current_device;

STANDIN_EXPORT hipError_t hipSetDevice(int device) {
    ASK_FOR_FAULT;
    if(device < 0 || device >= device_count()) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipGetDevice(int* device) {
    *device = current_device;
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipRuntimeGetVersion(int* version) {
    ASK_FOR_FAULT;
    *version = 70226015;
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipDriverGetVersion(int* version) {
    ASK_FOR_FAULT;
    *version = 70226015;
    return hipSuccess;
}

#ifndef STANDIN_WITHOUT_PROPERTIES
/* The beginning of hipDeviceProp_tR0600, and its gcnArchName. */
struct properties_start {
    char name[256], uuid[16], luid[8];
    unsigned luid_mask;
    size_t memory, shared_bytes;
    int registers, wavefront;
    size_t pitch;
    int most_work_items, most_threads[3], most_blocks[3], clock;
    size_t constant_memory;
    int major, minor;
    size_t texture_alignment, texture_pitch_alignment;
    int overlap, compute_units;
};
static const size_t PROPERTIES_BYTES = 1472, ARCH_OFFSET = 1160, BUS_OFFSET = 584;

STANDIN_EXPORT hipError_t hipGetDevicePropertiesR0600(char* out, int device) {
    ASK_FOR_FAULT;
    if(device < 0 || device >= device_count()) return hipErrorInvalidDevice;
    memset(out, 0, PROPERTIES_BYTES);
    properties_start* p = (properties_start*)out;
    strcpy(p->name, "stand-in (CPU)");
    strncpy(p->uuid, standin_setting("STANDIN_HIP_UUID", "5ca1ab1e0ddba11s"), sizeof p->uuid);
    p->memory = MEMORY_BYTES;
    p->shared_bytes = LDS_BYTES;
    p->wavefront = 64;
    p->most_work_items = MOST_WORK_ITEMS;
    p->most_blocks[0] = 2147483647;
    p->most_blocks[1] = p->most_blocks[2] = 65536;
    p->compute_units = 1;
    strcpy(out + ARCH_OFFSET, standin_arch());
    const int bus[3] = {0x83, device, 0}; /* bus, device, domain */
    memcpy(out + BUS_OFFSET, bus, sizeof bus);
    return hipSuccess;
}
#endif

STANDIN_EXPORT const char* hipGetErrorName(hipError_t status) {
    switch(status) {
    case hipSuccess: return "hipSuccess";
    case hipErrorInvalidValue: return "hipErrorInvalidValue";
    case hipErrorOutOfMemory: return "hipErrorOutOfMemory";
    case hipErrorNoDevice: return "hipErrorNoDevice";
    case hipErrorInvalidDevice: return "hipErrorInvalidDevice";
    case hipErrorInvalidImage: return "hipErrorInvalidImage";
    case hipErrorNoBinaryForGpu: return "hipErrorNoBinaryForGpu";
    case hipErrorInvalidHandle: return "hipErrorInvalidHandle";
    case hipErrorNotFound: return "hipErrorNotFound";
    case hipErrorLaunchFailure: return "hipErrorLaunchFailure";
    }
    return "hipErrorUnknown";
}

STANDIN_EXPORT const char* hipGetErrorString(hipError_t status) {
    switch(status) {
    case hipSuccess: return "the stand-in is well";
    case hipErrorOutOfMemory: return "the stand-in is out of memory";
    case hipErrorNoDevice: return "the stand-in has no device";
    case hipErrorLaunchFailure: return "the stand-in lost a launch";
    default: return "the stand-in refuses";
    }
}

/* ---- memory */

struct allocation {
    allocation* next;
    char* start;
    size_t bytes;
};
static allocation* allocations;
static size_t allocated_bytes;

STANDIN_EXPORT hipError_t hipMalloc(void** out, size_t bytes) {
    ASK_FOR_FAULT;
    pthread_mutex_lock(&guard);
    const bool fits = bytes <= MEMORY_BYTES - allocated_bytes;
    if(fits) {
        char* start = (char*)aligned_alloc(256, (bytes + 255) & ~(size_t)255);
        memset(start, 0xff, bytes);
        allocation* made = (allocation*)malloc(sizeof(allocation));
        *made = {allocations, start, bytes};
        allocations = made;
        allocated_bytes += bytes;
        *out = start;
    }
    pthread_mutex_unlock(&guard);
    if(!fits) return hipErrorOutOfMemory;
    standin_count(STANDIN_ALLOCATIONS, 1, 1);
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipFree(void* start) {
    pthread_mutex_lock(&guard);
    allocation** link = &allocations;
    while(*link && (*link)->start != start) link = &(*link)->next;
    allocation* found = *link;
    if(found) {
        *link = found->next;
        allocated_bytes -= found->bytes;
    }
    pthread_mutex_unlock(&guard);
    if(!found) return hipErrorInvalidValue;
    free(found->start);
    free(found);
    standin_count(STANDIN_ALLOCATIONS, 0, -1);
    return (hipError_t)standin_fault(__func__);
}

static bool is_device_memory(const void* start, size_t bytes) {
    pthread_mutex_lock(&guard);
    allocation* each = allocations;
    while(each && ((char*)start < each->start || (char*)start + bytes > each->start + each->bytes)) each = each->next;
    pthread_mutex_unlock(&guard);
    return each != nullptr;
}

STANDIN_EXPORT hipError_t hipMemcpy(void* target, const void* source, size_t bytes, int kind) {
    ASK_FOR_FAULT;
    const bool is_upload = kind == 1, is_download = kind == 2;
    if(!(is_upload && is_device_memory(target, bytes)) && !(is_download && is_device_memory(source, bytes)))
        return hipErrorInvalidValue;
    memcpy(target, source, bytes);
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipMemset(void* target, int value, size_t bytes) {
    ASK_FOR_FAULT;
    if(!is_device_memory(target, bytes)) return hipErrorInvalidValue;
    memset(target, value, bytes);
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipMemGetInfo(size_t* available, size_t* total) {
    ASK_FOR_FAULT;
    *available = MEMORY_BYTES - allocated_bytes;
    *total = MEMORY_BYTES;
    return hipSuccess;
}

/* ---- events */

struct event {
    double ms;
    bool is_recorded;
};

STANDIN_EXPORT hipError_t hipEventCreate(event** out) {
    ASK_FOR_FAULT;
    *out = (event*)calloc(1, sizeof(event));
    standin_count(STANDIN_EVENTS, 1, 1);
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipEventDestroy(event* which) {
    if(!which) return hipErrorInvalidHandle;
    free(which);
    standin_count(STANDIN_EVENTS, 0, -1);
    return (hipError_t)standin_fault(__func__);
}

STANDIN_EXPORT hipError_t hipEventRecord(event* which, void*) {
    ASK_FOR_FAULT;
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    which->ms = now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
    which->is_recorded = true;
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipEventSynchronize(event*) {
    ASK_FOR_FAULT;
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipEventElapsedTime(float* ms, event* first, event* last) {
    ASK_FOR_FAULT;
    if(!first->is_recorded || !last->is_recorded) return hipErrorInvalidHandle;
    const char* wish = getenv("STANDIN_HIP_EVENT_MS");
    *ms = wish ? (float)atof(wish) : (float)(last->ms - first->ms);
    return hipSuccess;
}

/* ---- modules */

struct kernel {
    kernel* next;
    void* library;
    unsigned count;
    const unsigned* sizes;
    size_t (*work_bytes)(unsigned);
    void (*run)(hip_host_job*, void*);
};
struct module {
    char* image;
    kernel* kernels;
};

STANDIN_EXPORT hipError_t hipModuleLoadData(module** out, const void* image) {
    ASK_FOR_FAULT;
    const standin_code_header* header = (const standin_code_header*)image;
    if(!memcmp(image, "\177ELF", 4)) return hipErrorNoBinaryForGpu; /* a real GPU's code object */
    if(memcmp(image, STANDIN_MAGIC, sizeof header->magic)) return hipErrorInvalidImage;
    if(strcmp(header->arch, standin_arch())) return hipErrorNoBinaryForGpu;
    *out = (module*)calloc(1, sizeof(module));
    (*out)->image = (char*)malloc(header->size);
    memcpy((*out)->image, image, header->size);
    standin_count(STANDIN_MODULES, 1, 1);
    return hipSuccess;
}

STANDIN_EXPORT hipError_t hipModuleUnload(module* which) {
    if(!which) return hipErrorInvalidHandle;
    while(kernel* each = which->kernels) {
        which->kernels = each->next;
        dlclose(each->library);
        free(each);
    }
    free(which->image);
    free(which);
    standin_count(STANDIN_MODULES, 0, -1);
    return (hipError_t)standin_fault(__func__);
}

static void* opened_library(const char* image, size_t bytes) {
    char path[] = "/tmp/standin-hip-XXXXXX"; /* a fresh name each time: the loader takes equal names for equal libraries */
    const int file = mkstemp(path);
    if(file < 0) return nullptr;
    const bool is_written = write(file, image, bytes) == (ssize_t)bytes;
    close(file);
    void* library = is_written ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
    unlink(path);
    return library;
}

static const standin_code_kernel* kernel_called(const char* name, const char* image) {
    const standin_code_header* header = (const standin_code_header*)image;
    const standin_code_kernel* table = (const standin_code_kernel*)(header + 1);
    for(unsigned long long i = 0; i < header->kernels; ++i)
        if(!strcmp(table[i].name, name)) return table + i;
    return nullptr;
}

STANDIN_EXPORT hipError_t hipModuleGetFunction(kernel** out, module* which, const char* name) {
    ASK_FOR_FAULT;
    const standin_code_kernel* entry = kernel_called(name, which->image);
    if(!entry) return hipErrorNotFound;
    void* library = opened_library(which->image + entry->offset, entry->size);
    if(!library) return hipErrorInvalidImage;
    kernel* made = (kernel*)calloc(1, sizeof(kernel));
    *made = {which->kernels,
             library,
             *(const unsigned*)dlsym(library, "hip_host_argument_count"),
             *(const unsigned* const*)dlsym(library, "hip_host_argument_sizes"),
             (size_t(*)(unsigned))dlsym(library, "hip_host_work_bytes"),
             (void (*)(hip_host_job*, void*))dlsym(library, "hip_host_run")};
    which->kernels = *out = made;
    return hipSuccess;
}

/* ---- launches */

static const size_t MOST_ARGUMENTS = 256;

/* Where each argument lies in the packed buffer; false unless the buffer is exactly what the kernel reads. */
static bool unpack(const kernel* which, void** extra, void** params) {
    char* buffer = nullptr;
    size_t bytes = 0, offset = 0;
    for(; *extra != (void*)3; extra += 2) {
        if(*extra == (void*)1) buffer = (char*)extra[1];
        else if(*extra == (void*)2) bytes = *(const size_t*)extra[1];
        else return false;
    }
    for(unsigned i = 0; i < which->count; ++i) {
        const size_t size = which->sizes[i];
        offset = (offset + size - 1) / size * size;
        params[i] = buffer + offset;
        offset += size;
    }
    return offset == bytes;
}

STANDIN_EXPORT hipError_t hipModuleLaunchKernel(kernel* which, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                                unsigned bz, unsigned shared_bytes, void*, void** params, void** extra) {
    ASK_FOR_FAULT;
    const unsigned long long work_items = (unsigned long long)bx * by * bz, blocks = (unsigned long long)gx * gy * gz;
    void* unpacked[MOST_ARGUMENTS];
    if(!blocks || !work_items || work_items > MOST_WORK_ITEMS || shared_bytes > LDS_BYTES) return hipErrorInvalidValue;
    if(params || !extra || which->count > MOST_ARGUMENTS || !unpack(which, extra, unpacked)) return hipErrorInvalidValue;
    standin_count(STANDIN_LAUNCHES, 1, 0);
    const size_t work_bytes = which->work_bytes((unsigned)work_items) + 4096;
    void* work = mmap(nullptr, work_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if(work == MAP_FAILED) return hipErrorOutOfMemory;
    hip_host_job job = {};
    job.params = unpacked;
    const unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    memcpy(job.grid, grid, sizeof grid);
    memcpy(job.block, block, sizeof block);
    job.blocks = job.chunk = blocks;
    job.shared_bytes = shared_bytes;
    which->run(&job, work);
    munmap(work, work_bytes);
    return job.failure ? hipErrorLaunchFailure : hipSuccess;
}
