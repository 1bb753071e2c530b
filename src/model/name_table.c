// name_table: a hash table with open addressing and linear probing from hash mod capacity. At most
// half the slots are used, so a search takes about two probes. Names are never removed.
#include "model/name_table.h"

enum { CAPACITY_MIN = 16 };

static uint32_t hash_of(const char* name) // FNV-1a, with a final mix because only low bits are used
{
    uint32_t hash = 2166136261u;
    for (const char* c = name; *c != 0; ++c) hash = (hash ^ (unsigned char)*c) * 16777619u;
    hash = (hash ^ (hash >> 16)) * 0x7feb352du;
    return hash ^ (hash >> 15);
}

static uint32_t slot_of(const tni_name_slot* slots, uint32_t capacity, const char* name,
                        uint32_t hash)
{
    uint32_t i = hash & (capacity - 1);
    while (slots[i].name != NULL && (slots[i].hash != hash || strcmp(slots[i].name, name) != 0)) {
        i = (i + 1) & (capacity - 1);
    }
    return i;
}

uint32_t tni_name_table_find(const tni_name_table* names, const char* name)
{
    if (names->capacity == 0) return 0;
    return names->slots[slot_of(names->slots, names->capacity, name, hash_of(name))].id;
}

bool tni_name_table_reserve(tni_name_table* names, const tn_host* host)
{
    if (2 * (names->count + 1) <= names->capacity) return true;
    const uint32_t capacity = names->capacity == 0 ? CAPACITY_MIN : 2 * names->capacity;
    tni_name_slot* slots    = capacity == 0 ? NULL : tni_host_take(host, capacity * sizeof *slots);
    if (slots == NULL) return false;
    for (uint32_t i = 0; i < names->capacity; ++i) {
        const tni_name_slot* old = &names->slots[i];
        if (old->name != NULL) slots[slot_of(slots, capacity, old->name, old->hash)] = *old;
    }
    tni_host_give(host, names->slots, names->capacity * sizeof *slots);
    names->slots    = slots;
    names->capacity = capacity;
    return true;
}

void tni_name_table_put(tni_name_table* names, const char* name, uint32_t id)
{
    TN_ASSERT(id > 0 && 2 * (names->count + 1) <= names->capacity);
    const uint32_t hash = hash_of(name);
    const uint32_t i    = slot_of(names->slots, names->capacity, name, hash);
    TN_ASSERT(names->slots[i].name == NULL);
    names->slots[i] = (tni_name_slot){.name = name, .hash = hash, .id = id};
    ++names->count;
}

void tni_name_table_free(tni_name_table* names, const tn_host* host)
{
    tni_host_give(host, names->slots, names->capacity * sizeof *names->slots);
    *names = (tni_name_table){0};
}
