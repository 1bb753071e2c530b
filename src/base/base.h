// base: for all modules: assertions, failure with a reason, memory arenas.
#ifndef TNI_BASE_H
#define TNI_BASE_H

#include "tenon/base.h"

#include <stdarg.h>
#include <string.h>

/// Stops on misuse of the library or a bug in it. Bad input data never triggers it.
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

/// Fills *why (may be NULL) and returns result: `return tni_fail(...)`.
tn_result tni_fail(tn_why* why, tn_result result, const char* format, ...) TNI_PRINTF(3, 4);

/// Returns from the function if the call failed, with its result. If something must be released
/// first, use `if (result == TN_OK) result = call;` instead.
#define TRY(call)                                   \
    do {                                            \
        const tn_result try_result = (call);        \
        if (try_result != TN_OK) return try_result; \
    } while (0)

/// A copy of *host, or of the default host (malloc, free, no threads) if host is NULL.
tn_host tni_host_or_default(const tn_host* host);

/// Zeroed memory from the host; NULL on failure. Release with the same size.
void* tni_host_take(const tn_host* host, size_t bytes);
void  tni_host_give(const tn_host* host, void* block, size_t bytes);

/// Like tni_fail for parsed text: TN_ERR_PARSE with the line and column of the error.
tn_result tni_fail_parse(tn_why* why, int line, int column, const char* format, va_list arguments);

// An arena: many allocations, released together. A failed allocation is remembered, so that a
// builder may make all of its allocations and check `failed` once.
typedef struct tni_arena {
    tn_host                 host;
    struct tni_arena_chunk* chunks;
    size_t                  bytes;       ///< taken from the host so far
    size_t                  large_count; ///< large blocks so far, each in a chunk of its own
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

/// The default `usual` if a setting is NaN (not given).
TNI_INLINE double tni_given_or(double given, double usual)
{
    return given == given ? given : usual;
}

TNI_INLINE bool tni_all_finite(const double* x, int count)
{
    double nothing = 0;
    for (int i = 0; i < count; ++i) nothing += x[i] - x[i]; // 0, or NaN
    return nothing == 0;
}

#endif
