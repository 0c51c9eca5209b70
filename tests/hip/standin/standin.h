/* A stand-in for libamdhip64.so and libhiprtc.so: as much of HIP's C interface as a launcher of module kernels calls, run
 * on the CPU. It proves what hip-python and our driver do with the interface; of an AMD GPU it proves nothing, and its
 * device says so by its name. No C++ library is used, so that any compiler links it.
 *
 * Environment, read at every call, so that a process may change it:
 *   STANDIN_HIP_DEVICES   how many devices there are (1)
 *   STANDIN_HIP_ARCH      what gcnArchName says ("gfx90a:sramecc+:xnack-")
 *   STANDIN_HIP_UUID      16 characters of the device's UUID; empty for none
 *   STANDIN_HIP_FAULTS    "function=status,...": the function answers with the status; "*" is every function of a device
 *   STANDIN_HIP_EVENT_MS  what hipEventElapsedTime tells
 *   STANDIN_HIP_COMPILER  the Python program and the script that compile, separated by ':'
 *   STANDIN_HIP_LEDGER    a file: at exit, a JSON object of what was made and what of it is still there */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum hipError_t {
    hipSuccess = 0,
    hipErrorInvalidValue = 1,
    hipErrorOutOfMemory = 2,
    hipErrorNoDevice = 100,
    hipErrorInvalidDevice = 101,
    hipErrorInvalidImage = 200,
    hipErrorNoBinaryForGpu = 209,
    hipErrorInvalidHandle = 400,
    hipErrorNotFound = 500,
    hipErrorLaunchFailure = 719,
};

enum hiprtcResult {
    HIPRTC_SUCCESS = 0,
    HIPRTC_ERROR_OUT_OF_MEMORY = 1,
    HIPRTC_ERROR_INVALID_INPUT = 3,
    HIPRTC_ERROR_COMPILATION = 6,
};

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

/* What is made and must be given back. */
enum standin_kind { STANDIN_ALLOCATIONS, STANDIN_MODULES, STANDIN_EVENTS, STANDIN_PROGRAMS, STANDIN_LAUNCHES, STANDIN_KINDS };
void standin_count(standin_kind kind, int made, int live);

/* The status that the function must answer with, 0 if it may go on. Every entry asks first; what gives something back
 * does so nevertheless, for on a lost device nothing is left. */
int standin_fault(const char* function);

/* The name and the text of a code object, which a module is made from. */
#define STANDIN_MAGIC "HIPSTAND"
struct standin_code_header {
    char magic[8];
    char arch[64];
    unsigned long long size; /* of everything, this header included */
    unsigned long long kernels;
};
struct standin_code_kernel {
    char name[128];
    unsigned long long offset, size;
};

static inline const char* standin_setting(const char* name, const char* otherwise) {
    const char* value = getenv(name);
    return value ? value : otherwise;
}
static inline const char* standin_arch() { return standin_setting("STANDIN_HIP_ARCH", "gfx90a:sramecc+:xnack-"); }
