#include "intern.h"

#include <stdlib.h>
#include <string.h>

#include "definitions.h"

typedef struct {
    uint64_t hash;
    uint32_t id; /* 0: free */
    uint32_t bytes;
    void *copy;
} intern_entry;

typedef struct {
    intern_entry *entries;
    uint32_t capacity; /* a power of two */
    uint32_t used;
} intern_table;

static intern_table names, stacks;
static ps_lock interning = ATOMIC_FLAG_INIT;

static uint64_t hash_bytes(const unsigned char *bytes, uint32_t count)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    return hash ^ (hash >> 29);
}

/* The entry that holds the bytes, or the free one where they belong. */
static intern_entry *find_entry(const intern_table *table, uint64_t hash, const void *bytes, uint32_t count)
{
    uint32_t mask = table->capacity - 1;
    uint32_t at = (uint32_t)hash & mask;
    for (;; at = (at + 1) & mask) {
        intern_entry *entry = &table->entries[at];
        if (entry->id == 0)
            return entry;
        if (entry->hash == hash && entry->bytes == count && memcmp(entry->copy, bytes, count) == 0)
            return entry;
    }
}

static bool make_room(intern_table *table)
{
    if ((table->used + 1) * 2 <= table->capacity)
        return true;
    intern_table larger = {.capacity = table->capacity ? table->capacity * 2 : 256, .used = table->used};
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (uint32_t i = 0; i < table->capacity; i++) {
        const intern_entry *old = &table->entries[i];
        if (old->id)
            *find_entry(&larger, old->hash, old->copy, old->bytes) = *old;
    }
    free(table->entries);
    *table = larger;
    return true;
}

static uint32_t intern_locked(intern_table *table, uint16_t type, const void *bytes, uint32_t count)
{
    if (!make_room(table))
        return 0;
    uint64_t hash = hash_bytes(bytes, count);
    intern_entry *entry = find_entry(table, hash, bytes, count);
    if (entry->id)
        return entry->id;
    void *copy = malloc(count ? count : 1);
    if (!copy)
        return 0;
    if (count)
        memcpy(copy, bytes, count);
    if (!ps_define(type, table->used + 1, bytes, count, NULL, 0)) {
        free(copy);
        return 0;
    }
    *entry = (intern_entry){.hash = hash, .id = ++table->used, .bytes = count, .copy = copy};
    return entry->id;
}

uint32_t ps_intern(uint16_t definition_type, const void *bytes, uint32_t count)
{
    intern_table *table = definition_type == PS_DEF_STACK ? &stacks : &names;
    ps_acquire(&interning);
    uint32_t id = intern_locked(table, definition_type, bytes, count);
    ps_release(&interning);
    return id;
}
