// name_table: from a name to an id, in constant time on average.
#ifndef TNI_NAME_TABLE_H
#define TNI_NAME_TABLE_H

#include "base/base.h"

typedef struct tni_name_slot {
    const char* name; ///< owned by the caller; NULL: an unused slot
    uint32_t    hash;
    uint32_t    id;
} tni_name_slot;

typedef struct tni_name_table {
    tni_name_slot* slots;
    uint32_t       capacity; ///< a power of two, at most half full
    uint32_t       count;
} tni_name_table;

/// 0: no such name.
uint32_t tni_name_table_find(const tni_name_table* names, const char* name);
/// Makes room for one more name; false: out of memory.
bool tni_name_table_reserve(tni_name_table* names, const tn_host* host);
/// The name must be new and outlive the table, and room must be reserved. id > 0.
void tni_name_table_put(tni_name_table* names, const char* name, uint32_t id);
void tni_name_table_free(tni_name_table* names, const tn_host* host);

#endif
