// A host that counts what it lends, and refuses the n-th allocation.
//
//     failing_host f    = failing_host_make();
//     f.fail_at         = 3;                    // 1 refuses the first one, 0 none
//     const tn_host host = failing_host_of(&f); // f must stay where it is
//     ...
//     CHECK_INT(f.live_blocks, 0);
//
// failing_host_rewind() starts the count again, for `for (n = 1; ; ++n)` loops that end when
// nothing was refused. A release with another size than the allocation's is counted in size_errors.
#ifndef FAILING_HOST_H
#define FAILING_HOST_H

#include "tenon/base.h"

#include <stdlib.h>

typedef struct failing_host {
    int    fail_at;     ///< refuse this allocation, from 1; 0: none
    bool   fail_after;  ///< and all that follow
    int    count;       ///< allocations asked for so far
    int    refused;     ///< of them, refused
    int    live_blocks; ///< lent and not given back
    size_t live_bytes;
    size_t peak_bytes; ///< largest live_bytes so far
    int    size_errors;
} failing_host;

enum { FAILING_HOST_HEADER = 64 };

static inline failing_host failing_host_make(void)
{
    return (failing_host){.fail_at = 0};
}

static inline void failing_host_rewind(failing_host* f, int fail_at)
{
    f->fail_at = fail_at;
    f->count   = 0;
    f->refused = 0;
}

static inline void* failing_host_allocate(void* user, size_t bytes)
{
    failing_host* f = user;
    ++f->count;
    if (f->fail_at > 0 && (f->count == f->fail_at || (f->fail_after && f->count > f->fail_at))) {
        ++f->refused;
        return NULL;
    }
    char* block = malloc(FAILING_HOST_HEADER + bytes);
    if (block == NULL) return NULL;
    *(size_t*)(void*)block = bytes;
    ++f->live_blocks;
    f->live_bytes += bytes;
    if (f->live_bytes > f->peak_bytes) f->peak_bytes = f->live_bytes;
    return block + FAILING_HOST_HEADER;
}

static inline void failing_host_release(void* user, void* block, size_t bytes)
{
    failing_host* f     = user;
    char*         start = (char*)block - FAILING_HOST_HEADER;
    if (*(size_t*)(void*)start != bytes) ++f->size_errors;
    --f->live_blocks;
    f->live_bytes -= *(size_t*)(void*)start;
    free(start);
}

static inline tn_host failing_host_of(failing_host* f)
{
    return (tn_host){.allocate = failing_host_allocate, .release = failing_host_release, .user = f};
}

#endif
