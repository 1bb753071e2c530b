// base: what every room stands on. Assertions, failing with a reason, arenas.
#ifndef TNI_BASE_H
#define TNI_BASE_H

#include "tenon/base.h"

#include <stdarg.h>
#include <string.h>

/// Misuse, or a bug of ours: stop here. Never reached by data, however bad.
#ifdef NDEBUG
#define TN_ASSERT(condition) ((void)0)
#else
#define TN_ASSERT(condition) \
    ((condition) ? (void)0 : tni_assert_failed(#condition, __FILE__, __LINE__))
#endif
_Noreturn void tni_assert_failed(const char* condition, const char* file, int line);

#if defined(__GNUC__)
#define TNI_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TNI_INLINE       static inline __attribute__((always_inline))
#else
#define TNI_PRINTF(f, a)
#define TNI_INLINE static inline
#endif

/// Fills *why (may be NULL) and returns result, so that `return tni_fail(...)` says it all.
tn_result tni_fail(tn_why* why, tn_result result, const char* format, ...) TNI_PRINTF(3, 4);

/// Returns the result of a call that failed. Where something must be released first, the form is
/// `if (result == TN_OK) result = call;` instead.
#define TRY(call)                                   \
    do {                                            \
        const tn_result try_result = (call);        \
        if (try_result != TN_OK) return try_result; \
    } while (0)

/// malloc, free and silence stand in where the caller gives no host.
tn_host tni_host_or_default(const tn_host* host);

/// Zeroed memory from the host, or NULL. Give back with the same size.
void* tni_host_take(const tn_host* host, size_t bytes);
void  tni_host_give(const tn_host* host, void* block, size_t bytes);

/// The same of a text that was read: TN_ERR_PARSE, with the line and column of what is wrong in it.
tn_result tni_fail_parse(tn_why* why, int line, int column, const char* format, va_list arguments);

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
#define TNI_TAKE(arena, type, count) \
    ((type*)tni_arena_take((arena), sizeof(type) * (size_t)(count)))

/// Settings that are NaN stand for what is usual.
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
