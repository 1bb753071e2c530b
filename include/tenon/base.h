// tenon/base.h: version, results, reasons, and the host: memory, log, threads. All other headers
// include it.
#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The version of these headers. Before 1.0 a new minor version may break the API, a patch does
/// not.
#define TN_VERSION_MAJOR 0
#define TN_VERSION_MINOR 1
#define TN_VERSION_PATCH 0
/// The three of them as text.
#define TN_VERSION "0.1.0"
/// As one number that can be compared: 1.2.3 is 10203.
#define TN_VERSION_NUMBER (10000 * TN_VERSION_MAJOR + 100 * TN_VERSION_MINOR + TN_VERSION_PATCH)

// Where names come from. TN_SHARED: the library is a shared one; TN_BUILDING: it is being compiled.
// The CMake package and pkg-config define TN_SHARED where it is needed.
#if defined(_WIN32) && defined(TN_SHARED) && defined(TN_BUILDING)
#define TN_API __declspec(dllexport)
#elif defined(_WIN32) && defined(TN_SHARED)
#define TN_API __declspec(dllimport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define TN_API __attribute__((visibility("default")))
#else
#define TN_API
#endif
#if defined(__cplusplus)
#define TN_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define TN_NODISCARD __attribute__((warn_unused_result))
#else
#define TN_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library that runs: TN_VERSION and TN_VERSION_NUMBER when it was compiled.
TN_API const char* tn_version(void);
TN_API int         tn_version_number(void);

/// What happens when an assertion of the library fails: the caller broke a rule of this API, or the
/// library has a bug. Only libraries that were built without NDEBUG check. file and expression are
/// static text.
typedef void tn_assert_handler(const char* expression, const char* file, int line);
/// Calls the handler from now on, in the whole process; NULL: the default one again, which prints
/// file, line and expression to stderr and aborts. Returns the one before. Set it before other
/// threads use the library. A handler may throw or longjmp out of the call; objects that the call
/// was changing may then only be freed. Where it returns, the call goes on as in a build with
/// NDEBUG.
TN_API tn_assert_handler* tn_set_assert_handler(tn_assert_handler* handler);

// name, text: the enum, the strings and the bindings are all made from this one list.
#define TN_RESULT_LIST(X)                                                \
    X(TN_OK, "ok")                                                       \
    X(TN_ERR_MEMORY, "out of memory")                                    \
    X(TN_ERR_PARSE, "input does not follow its format")                  \
    X(TN_ERR_MODEL, "scene describes an impossible mechanism")           \
    X(TN_ERR_SINGULAR, "constraint rows are dependent or contradictory") \
    X(TN_ERR_DIVERGED, "no step size within bounds meets the tolerance") \
    X(TN_ERR_UNSUPPORTED, "this version cannot do that yet")             \
    X(TN_ERR_FILE, "file cannot be read or written")

typedef enum tn_result {
#define TN_RESULT_ENUM(name, text) name,
    TN_RESULT_LIST(TN_RESULT_ENUM)
#undef TN_RESULT_ENUM
} tn_result;

/// The text of a result, in a few words; static.
TN_API const char* tn_result_text(tn_result result);

/// Why a call failed, in words. Optional: every function that takes one accepts NULL.
typedef struct tn_why {
    tn_result result;
    int       line;      ///< line in the input file, 0 when there is none
    int       column;    ///< column in that line, from 1, in bytes
    char      text[240]; ///< names the thing at fault
} tn_why;

/// One of several tasks, by its index.
typedef void tn_task(void* data, int index);

/// Where memory comes from, where messages go, and which threads help. Copied into every object
/// made with it; what user and workers point to must outlive these. Every function that takes a
/// host accepts NULL: tn_default_host(). Start from that one and change what you need.
typedef struct tn_host {
    void* (*allocate)(void* user, size_t bytes); ///< aligned for any type; NULL: out of memory
    void (*release)(void* user, void* block, size_t bytes);
    void (*log)(void* user, const char* line); ///< NULL: no log
    void* user;                                ///< passed to the three above
    /// Calls task(data, i) for every i < count, on any threads and in any order, and returns when
    /// all are done. NULL: one after the other, on the calling thread. Results do not depend on it.
    void (*each)(void* workers, int count, tn_task* task, void* data);
    void* workers; ///< passed to each
} tn_host;

/// malloc and free, no log, no worker threads.
TN_API tn_host tn_default_host(void);

/// A pool of worker threads for tn_host.each: host.each = tn_pool_each, host.workers = pool. A call
/// that finds the pool busy, from within a task or from another thread, is done by its caller
/// alone.
typedef struct tn_pool tn_pool;
/// threads: how many work, the calling one included; at least 1. NULL: they cannot be created. In
/// builds without threads (WebAssembly, -DTENON_THREADS=OFF) only the calling thread works.
TN_API tn_pool* tn_pool_create(int threads);
TN_API void     tn_pool_free(tn_pool* pool);          ///< NULL is allowed; nothing may be running
TN_API int      tn_pool_threads(const tn_pool* pool); ///< the calling one included; NULL: 1
/// What tn_host.each does. pool NULL: on the calling thread.
TN_API void tn_pool_each(void* pool, int count, tn_task* task, void* data);
/// Processors that this process may run on; 1 where there are no threads.
TN_API int tn_processor_count(void);

/// The word of the list that a misspelt one most likely stands for, for "did you mean"; NULL: none
/// is near.
TN_API const char* tn_nearest_word(const char* word, const char* const* words, int count);

#ifdef __cplusplus
}
#endif
#endif
