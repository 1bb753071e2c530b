// heap: a binary heap of nodes with changeable keys, the smallest (key, number) first.
#ifndef TNI_HEAP_H
#define TNI_HEAP_H

#include "base/base.h"

typedef struct tni_node_queue {
    int*     item;
    int*     where; ///< by node: index in item, -1: absent. Heaps without common nodes may share it
    int64_t* key;   ///< by node
    int      count;
} tni_node_queue;

static inline bool tni_heap_before(const tni_node_queue* h, int v, int w)
{
    return h->key[v] < h->key[w] || (h->key[v] == h->key[w] && v < w);
}

static inline void tni_heap_up(tni_node_queue* h, int i)
{
    const int v = h->item[i];
    for (int p; i > 0 && tni_heap_before(h, v, h->item[p = (i - 1) / 2]); i = p) {
        h->item[i]           = h->item[p];
        h->where[h->item[i]] = i;
    }
    h->item[i]  = v;
    h->where[v] = i;
}

static inline void tni_heap_down(tni_node_queue* h, int i)
{
    const int v = h->item[i];
    for (int c; (c = 2 * i + 1) < h->count; i = c) {
        if (c + 1 < h->count && tni_heap_before(h, h->item[c + 1], h->item[c])) ++c;
        if (!tni_heap_before(h, h->item[c], v)) break;
        h->item[i]           = h->item[c];
        h->where[h->item[i]] = i;
    }
    h->item[i]  = v;
    h->where[v] = i;
}

static inline void tni_heap_add(tni_node_queue* h, int v)
{
    if (h->where[v] >= 0) return;
    h->item[h->count] = v;
    tni_heap_up(h, h->count++);
}

static inline void tni_heap_remove(tni_node_queue* h, int v)
{
    const int i = h->where[v];
    if (i < 0) return;
    h->where[v]    = -1;
    const int last = h->item[--h->count];
    if (last == v) return;
    h->item[i]     = last;
    h->where[last] = i;
    tni_heap_up(h, i);
    tni_heap_down(h, h->where[last]);
}

static inline void tni_heap_set(tni_node_queue* h, int v, int64_t key)
{
    h->key[v] = key;
    if (h->where[v] < 0) return;
    tni_heap_up(h, h->where[v]);
    tni_heap_down(h, h->where[v]);
}

#endif
