/* hiprtc of the stand-in: hands text, headers and options to a script that compiles them for the CPU. */
#include "standin.h"

#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASK_FOR_FAULT                                                                                                  \
    if(const int fault = standin_fault(__func__)) return (hiprtcResult)fault

extern "C" char** environ;

struct blob {
    char* data;
    size_t bytes;
};
struct program {
    char folder[32];
    blob log, code;
};

static void path_in(const program* which, const char* leaf, char (&path)[512]) {
    snprintf(path, sizeof path, "%s/%s", which->folder, leaf);
}

static bool keep(const program* which, const char* leaf, const char* text, const char* mode) {
    char path[512];
    path_in(which, leaf, path);
    FILE* file = fopen(path, mode);
    if(!file) return false;
    fputs(text, file);
    return fclose(file) == 0;
}

static blob contents(const program* which, const char* leaf) {
    char path[512];
    path_in(which, leaf, path);
    blob all = {nullptr, 0};
    struct stat about;
    FILE* file = fopen(path, "rb");
    if(!file) return all;
    if(!fstat(fileno(file), &about) && about.st_size) {
        all.data = (char*)malloc((size_t)about.st_size);
        all.bytes = fread(all.data, 1, (size_t)about.st_size, file);
    }
    fclose(file);
    return all;
}

STANDIN_EXPORT hiprtcResult hiprtcVersion(int* major, int* minor) {
    ASK_FOR_FAULT;
    *major = 7;
    *minor = 2;
    return HIPRTC_SUCCESS;
}

STANDIN_EXPORT const char* hiprtcGetErrorString(hiprtcResult status) {
    switch(status) {
    case HIPRTC_SUCCESS: return "HIPRTC_SUCCESS";
    case HIPRTC_ERROR_OUT_OF_MEMORY: return "HIPRTC_ERROR_OUT_OF_MEMORY";
    case HIPRTC_ERROR_INVALID_INPUT: return "HIPRTC_ERROR_INVALID_INPUT";
    case HIPRTC_ERROR_COMPILATION: return "HIPRTC_ERROR_COMPILATION";
    }
    return "Invalid HIPRTC error code";
}

STANDIN_EXPORT hiprtcResult hiprtcCreateProgram(program** out, const char* text, const char* name, int headers,
                                                const char** header_texts, const char** header_names) {
    ASK_FOR_FAULT;
    if(!text || headers < 0 || (headers && (!header_texts || !header_names))) return HIPRTC_ERROR_INVALID_INPUT;
    program* made = (program*)calloc(1, sizeof(program));
    strcpy(made->folder, "/tmp/standin-hiprtc-XXXXXX");
    if(!mkdtemp(made->folder)) return HIPRTC_ERROR_OUT_OF_MEMORY;
    char path[512];
    path_in(made, "headers", path);
    mkdir(path, 0700);
    bool is_kept = keep(made, "name", name ? name : "CompileSource", "w") && keep(made, "text", text, "w");
    for(int i = 0; i < headers; ++i) {
        snprintf(path, sizeof path, "headers/%s", header_names[i]);
        is_kept = is_kept && keep(made, path, header_texts[i], "w");
    }
    *out = made;
    standin_count(STANDIN_PROGRAMS, 1, 1);
    return is_kept ? HIPRTC_SUCCESS : HIPRTC_ERROR_INVALID_INPUT;
}

static int exit_status_of_script(const program* which) {
    char python[512] = "", log[512];
    const char* command = standin_setting("STANDIN_HIP_COMPILER", "");
    const char* script = strchr(command, ':');
    if(!script) return -1;
    strncpy(python, command, (size_t)(script - command));
    path_in(which, "log", log);
    posix_spawn_file_actions_t streams;
    posix_spawn_file_actions_init(&streams);
    posix_spawn_file_actions_addopen(&streams, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&streams, 1, 2);
    char* const words[] = {python, (char*)(script + 1), (char*)which->folder, nullptr};
    pid_t child;
    int status = -1;
    if(!posix_spawn(&child, python, &streams, nullptr, words, environ)) waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&streams);
    return status;
}

STANDIN_EXPORT hiprtcResult hiprtcCompileProgram(program* which, int options, const char** option) {
    ASK_FOR_FAULT;
    for(int i = 0; i < options; ++i)
        if(!keep(which, "options", option[i], "a") || !keep(which, "options", "\n", "a")) return HIPRTC_ERROR_INVALID_INPUT;
    const int status = exit_status_of_script(which);
    which->log = contents(which, "log");
    which->code = contents(which, "code");
    return status == 0 && which->code.bytes ? HIPRTC_SUCCESS : HIPRTC_ERROR_COMPILATION;
}

STANDIN_EXPORT hiprtcResult hiprtcGetProgramLogSize(program* which, size_t* bytes) {
    ASK_FOR_FAULT;
    *bytes = which->log.bytes ? which->log.bytes + 1 : 0;
    return HIPRTC_SUCCESS;
}

STANDIN_EXPORT hiprtcResult hiprtcGetProgramLog(program* which, char* log) {
    ASK_FOR_FAULT;
    memcpy(log, which->log.data, which->log.bytes);
    log[which->log.bytes] = 0;
    return HIPRTC_SUCCESS;
}

STANDIN_EXPORT hiprtcResult hiprtcGetCodeSize(program* which, size_t* bytes) {
    ASK_FOR_FAULT;
    *bytes = which->code.bytes;
    return HIPRTC_SUCCESS;
}

STANDIN_EXPORT hiprtcResult hiprtcGetCode(program* which, char* code) {
    ASK_FOR_FAULT;
    memcpy(code, which->code.data, which->code.bytes);
    return HIPRTC_SUCCESS;
}

static int remove_one(const char* path, const struct stat*, int, FTW*) { return remove(path); }

STANDIN_EXPORT hiprtcResult hiprtcDestroyProgram(program** which) {
    nftw((*which)->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    free((*which)->log.data);
    free((*which)->code.data);
    free(*which);
    *which = nullptr;
    standin_count(STANDIN_PROGRAMS, 0, -1);
    return (hiprtcResult)standin_fault(__func__);
}
