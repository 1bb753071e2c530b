// hands: workspaces that the tasks of tn_host.each share, one for each thread that helps.
#ifndef TNI_HANDS_H
#define TNI_HANDS_H

#include "base/base.h"

#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>
enum { TNI_SHARES = true };
#else // one thread only
enum { TNI_SHARES = false };
typedef int atomic_int;
#define atomic_exchange(p, v) (*(p) = (v), 0)
#define atomic_store(p, v)    (*(p) = (v))
#define atomic_load(p)        (*(p))
#endif

/// How many tasks of the host run at the same time, at most: threads of a tn_pool, or processors for any other
/// host. 1: they are done one after the other.
TNI_INLINE int tni_hands_of(const tn_host* host)
{
    if (!TNI_SHARES || host->each == NULL) return 1;
    return host->each == tn_pool_each ? tn_pool_threads(host->workers) : tn_processor_count();
}

#endif
