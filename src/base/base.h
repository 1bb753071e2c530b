// base: what every room stands on. Assertions, failing with a reason, arenas.
#ifndef TNI_BASE_H
#define TNI_BASE_H

#include "tenon/base.h"

#include <string.h>

/// Misuse, or a bug of ours: stop here. Never reached by data, however bad.
#ifdef NDEBUG
#define TN_ASSERT(condition) ((void)0)
#else
#define TN_ASSERT(condition) \
    ((condition) ? (void)0 : tni_assert_failed(#condition, __FILE__, __LINE__))
#endif
void tni_assert_failed(const char* expression, const char* file, int line);

#if defined(__GNUC__)
#define TNI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TNI_INLINE       static inline __attribute__((always_inline))
#else
#define TNI_PRINTF(f, a)
#define TNI_INLINE static inline
#endif

/// Fills *why (may be NULL) and returns result, so that `return tni_fail(...)` says it all.
tn_result tni_fail(tn_why* why, tn_result result, const char* format, ...) TNI_PRINTF(3, 4);

/// malloc, free and silence stand in where the caller gives no host.
tn_host tni_host_or_default(const tn_host* host);

/// Zeroed memory from the host, or NULL. Give back with the same size.
void* tni_host_take(const tn_host* host, size_t bytes);
void  tni_host_give(const tn_host* host, void* block, size_t bytes);

// An arena: many pieces taken, all given back at once. A failed take is remembered, so that a
// builder may take all it needs and look at `failed` once.
typedef struct tni_arena {
    tn_host                 host;
    struct tni_arena_chunk* chunks;
    size_t                  bytes;       ///< taken from the host so far
    size_t                  large_count; ///< pieces that got a chunk of their own
    bool                    failed;
} tni_arena;

tni_arena tni_arena_make(const tn_host* host);
/// Zeroed, aligned to 64 bytes; NULL after a failure. Zero bytes give a valid pointer.
void* tni_arena_take(tni_arena* arena, size_t bytes);
void  tni_arena_free(tni_arena* arena);
/// Whether a piece was taken from it. Cost: O(chunks).
bool tni_arena_holds(const tni_arena* arena, const void* piece);
#define TNI_TAKE(arena, type, count) \
    ((type*)tni_arena_take((arena), sizeof(type) * (size_t)(count)))

#endif
