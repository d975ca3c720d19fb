#include "records/intern.h"

#include <stdlib.h>

#include "records/definitions.h"

/* Two hashes stand for the bytes: a program may give every batch a name, and copies of all would be memory of the job
 * that grows. */
typedef struct {
    uint64_t hash, check;
    uint32_t id; /* 0: free */
    uint32_t bytes;
} intern_entry;

typedef struct {
    intern_entry *entries;
    uint32_t capacity; /* a power of two */
    uint32_t used;
} intern_table;

static intern_table names, stacks;
static ps_lock interning = ATOMIC_FLAG_INIT;

static intern_entry digest(const unsigned char *bytes, uint32_t count)
{
    uint64_t hash = 0xcbf29ce484222325u, check = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
        check = (check + bytes[i]) * 0xd6e8feb86659fd93u;
        check ^= check >> 32;
    }
    return (intern_entry){.hash = hash ^ (hash >> 29), .check = check, .bytes = count};
}

/* The entry of the same bytes, or the free one where it belongs. */
static intern_entry *find_entry(const intern_table *table, const intern_entry *wanted)
{
    uint32_t mask = table->capacity - 1;
    uint32_t at = (uint32_t)wanted->hash & mask;
    for (;; at = (at + 1) & mask) {
        intern_entry *entry = &table->entries[at];
        if (entry->id == 0)
            return entry;
        if (entry->hash == wanted->hash && entry->check == wanted->check && entry->bytes == wanted->bytes)
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
            *find_entry(&larger, old) = *old;
    }
    free(table->entries);
    *table = larger;
    return true;
}

static uint32_t intern_locked(intern_table *table, uint16_t type, const void *bytes, uint32_t count)
{
    if (!make_room(table))
        return 0;
    intern_entry wanted = digest(bytes, count);
    intern_entry *entry = find_entry(table, &wanted);
    if (entry->id)
        return entry->id;
    if (!ps_define(type, table->used + 1, bytes, count, NULL, 0))
        return 0;
    wanted.id = ++table->used;
    *entry = wanted;
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

void ps_intern_forget(void)
{
    /* Not freed: another thread may have been replacing them when the process was forked. */
    names = stacks = (intern_table){0};
    atomic_flag_clear(&interning);
}
