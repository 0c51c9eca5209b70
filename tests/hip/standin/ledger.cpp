/* The account of what was made and given back, and the faults that the environment asks for. */
#include "standin.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

struct account {
    const char* name;
    int made, live;
};
static account accounts[STANDIN_KINDS] = {
    {"allocations", 0, 0}, {"modules", 0, 0}, {"events", 0, 0}, {"programs", 0, 0}, {"launches", 0, 0}};

void standin_count(standin_kind kind, int made, int live) {
    pthread_mutex_lock(&guard);
    accounts[kind].made += made;
    accounts[kind].live += live;
    pthread_mutex_unlock(&guard);
}

__attribute__((destructor)) static void close_the_books() {
    const char* path = getenv("STANDIN_HIP_LEDGER");
    FILE* file = path ? fopen(path, "w") : nullptr;
    if(!file) return;
    for(int kind = 0; kind < STANDIN_KINDS; ++kind)
        fprintf(file, "%s\"%s\": {\"made\": %d, \"live\": %d}", kind ? ", " : "{", accounts[kind].name, accounts[kind].made,
                accounts[kind].live);
    fprintf(file, "}\n");
    fclose(file);
}

int standin_fault(const char* function) {
    const char* wish = standin_setting("STANDIN_HIP_FAULTS", "");
    const size_t length = strlen(function);
    for(; *wish; wish += strcspn(wish, ","), wish += *wish == ',') {
        if(!strncmp(wish, "*=", 2)) return atoi(wish + 2);
        if(!strncmp(wish, function, length) && wish[length] == '=') return atoi(wish + length + 1);
    }
    return 0;
}
