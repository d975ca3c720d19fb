#include "mpi/handle_map.h"

#include <stdlib.h>

#define SHARDS 64u
#define BUCKETS 256u /* in each shard */
#define BLOCK_NODES 128u
#define MAX_BLOCKS 256u /* of one shard: two million live entries in all */

typedef struct map_node {
    struct map_node *next;
    ps_word handle;
    ps_pending value;
} map_node;

typedef struct {
    map_node *oldest, *newest;
} map_bucket;

typedef struct {
    ps_lock lock;
    uint32_t blocks;
    map_node *unused;
    map_bucket buckets[BUCKETS];
} map_shard;

struct ps_handle_map {
    map_shard shards[SHARDS];
};

ps_handle_map ps_requests, ps_messages, ps_persistent, ps_windows, ps_files;

static uint64_t mix(ps_word handle)
{
    uint64_t mixed = handle * 0x9e3779b97f4a7c15u;
    return mixed ^ (mixed >> 32);
}

static map_shard *shard_of(ps_handle_map *map, uint64_t mixed)
{
    return &map->shards[(mixed >> 8) % SHARDS];
}

static map_node *new_node(map_shard *shard)
{
    if (!shard->unused && shard->blocks < MAX_BLOCKS) {
        map_node *block = malloc(BLOCK_NODES * sizeof *block);
        shard->blocks += block != NULL;
        for (uint32_t i = 0; block && i < BLOCK_NODES; i++) {
            block[i].next = shard->unused;
            shard->unused = &block[i];
        }
    }
    map_node *node = shard->unused;
    if (node)
        shard->unused = node->next;
    return node;
}

bool ps_map_put(ps_handle_map *map, ps_word handle, const ps_pending *value)
{
    uint64_t mixed = mix(handle);
    map_shard *shard = shard_of(map, mixed);
    ps_acquire(&shard->lock);
    map_node *node = new_node(shard);
    if (node) {
        map_bucket *bucket = &shard->buckets[mixed % BUCKETS];
        *node = (map_node){.handle = handle, .value = *value};
        node->value.tid = ps_tid();
        *(bucket->oldest ? &bucket->newest->next : &bucket->oldest) = node;
        bucket->newest = node;
    }
    ps_release(&shard->lock);
    return node != NULL;
}

/* The node to take for a handle, and the one before it; NULL when there is none. */
static map_node *find_node(const map_bucket *bucket, ps_word handle, map_node **before)
{
    uint32_t tid = ps_tid();
    map_node *found = NULL, *previous = NULL;
    for (map_node *node = bucket->oldest; node; previous = node, node = node->next) {
        bool is_own = node->value.tid == tid;
        if (node->handle != handle || (found && !is_own))
            continue;
        found = node;
        *before = previous;
        if (is_own)
            break;
    }
    return found;
}

bool ps_map_take(ps_handle_map *map, ps_word handle, ps_pending *value)
{
    uint64_t mixed = mix(handle);
    map_shard *shard = shard_of(map, mixed);
    map_bucket *bucket = &shard->buckets[mixed % BUCKETS];
    map_node *before = NULL;
    ps_acquire(&shard->lock);
    map_node *node = find_node(bucket, handle, &before);
    if (node) {
        *value = node->value;
        *(before ? &before->next : &bucket->oldest) = node->next;
        if (bucket->newest == node)
            bucket->newest = before;
        node->next = shard->unused;
        shard->unused = node;
    }
    ps_release(&shard->lock);
    return node != NULL;
}

void ps_map_drop(ps_handle_map *map, ps_word handle)
{
    ps_pending dropped;
    while (ps_map_take(map, handle, &dropped))
        continue;
}

bool ps_map_replace(ps_handle_map *map, ps_word handle, const ps_pending *value)
{
    ps_map_drop(map, handle);
    return ps_map_put(map, handle, value);
}

bool ps_map_find(ps_handle_map *map, ps_word handle, ps_pending *value)
{
    uint64_t mixed = mix(handle);
    map_shard *shard = shard_of(map, mixed);
    map_node *before;
    ps_acquire(&shard->lock);
    map_node *node = find_node(&shard->buckets[mixed % BUCKETS], handle, &before);
    if (node)
        *value = node->value;
    ps_release(&shard->lock);
    return node != NULL;
}

void ps_map_mark_cancelled(ps_handle_map *map, ps_word handle)
{
    uint64_t mixed = mix(handle);
    map_shard *shard = shard_of(map, mixed);
    map_node *before;
    ps_acquire(&shard->lock);
    map_node *node = find_node(&shard->buckets[mixed % BUCKETS], handle, &before);
    if (node)
        node->value.is_cancelled = true;
    ps_release(&shard->lock);
}
