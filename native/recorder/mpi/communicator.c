#include "mpi/communicator.h"

#include <stdlib.h>
#include <string.h>

#include "mpi/question.h"
#include "records/definitions.h"

#define TABLE_BUCKETS 1024u
#define ORIGIN_WORLD 0x776f726c64u /* distinct beginnings of the hashes below */
#define ORIGIN_SELF 0x73656c66u
#define ORIGIN_CALL 0x63616c6cu
#define ORIGIN_GROUP 0x67726f7570u
#define ORIGIN_ELSEWHERE 0x656c7365u

/* Nodes stay forever and are used again for the same handle, so that readers need no lock. */
typedef struct handle_node {
    struct handle_node *next;
    ps_word handle;
    _Atomic(ps_comm *) comm;
} handle_node;

/* How often a group of members made a communicator in a way that has no ordinal of the parent's. */
typedef struct repeat_node {
    struct repeat_node *next;
    uint64_t key;
    uint32_t count;
} repeat_node;

/* Member lists are shared: a program that duplicates communicators in a loop holds one list. */
typedef struct member_list {
    struct member_list *next;
    uint64_t hash;
    uint32_t count;
    int32_t ranks[];
} member_list;

static _Atomic(handle_node *) handles[TABLE_BUCKETS];
static repeat_node *repeats[TABLE_BUCKETS];
static member_list *lists;
static uint32_t indices;
static ps_lock registering = ATOMIC_FLAG_INIT;
static ps_lock meeting = ATOMIC_FLAG_INIT; /* two threads may meet an unknown handle at once */
static ps_word world_group;

static int attribute; /* the keyval of the value that every known communicator carries */

static struct {
    ps_function comm_rank, comm_size, comm_group, group_size, translate, group_free, test_inter, create_keyval, set_attr;
} library = {
    .comm_rank = PS_FUNCTION(PMPI_Comm_rank),
    .comm_size = PS_FUNCTION(PMPI_Comm_size),
    .comm_group = PS_FUNCTION(PMPI_Comm_group),
    .group_size = PS_FUNCTION(PMPI_Group_size),
    .translate = PS_FUNCTION(PMPI_Group_translate_ranks),
    .group_free = PS_FUNCTION(PMPI_Group_free),
    .test_inter = PS_FUNCTION(PMPI_Comm_test_inter),
    .create_keyval = PS_FUNCTION(PMPI_Comm_create_keyval),
    .set_attr = PS_FUNCTION(PMPI_Comm_set_attr),
};

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93u;
    return hash ^ (hash >> 32);
}

static uint32_t bucket_of(uint64_t key)
{
    return (uint32_t)(hash_word(0, key) % TABLE_BUCKETS);
}

static handle_node *find_node(ps_word handle)
{
    handle_node *node = atomic_load_explicit(&handles[bucket_of(handle)], memory_order_acquire);
    while (node && node->handle != handle)
        node = node->next;
    return node;
}

/* Called with the lock held. */
static void bind(ps_word handle, ps_comm *comm)
{
    handle_node *node = find_node(handle);
    if (node) {
        atomic_store_explicit(&node->comm, comm, memory_order_release);
        return;
    }
    node = malloc(sizeof *node);
    if (!node)
        return;
    _Atomic(handle_node *) *bucket = &handles[bucket_of(handle)];
    node->handle = handle;
    atomic_init(&node->comm, comm);
    node->next = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, node, memory_order_release);
}

/* The library deletes the attributes of a communicator before it gives the handle to another one, whoever ends the
 * communicator: the program, its callback inside another MPI call, Fortran, a tool through PMPI. */
static int forget(ps_word word, ps_word keyval, ps_word value, ps_word unused)
{
    (void)keyval;
    (void)unused;
    handle_node *node = find_node(ps_handle(word));
    ps_comm *ended = (ps_comm *)value;
    if (node)
        atomic_compare_exchange_strong(&node->comm, &ended, NULL);
    return 0;
}

/* A duplicate is a communicator of its own. */
static int copy_nothing(ps_word comm, ps_word keyval, ps_word extra, ps_word value, ps_word copied, ps_word flag)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copied;
    *(int *)flag = 0;
    return 0;
}

static bool create_attribute(void)
{
    return PS_CALL(&library.create_keyval, ps_call_4, (ps_word)(uintptr_t)copy_nothing, (ps_word)(uintptr_t)forget,
                   (ps_word)&attribute, 0) == 0;
}

static bool carry(ps_word handle, const ps_comm *comm)
{
    return PS_CALL(&library.set_attr, ps_call_3, handle, (ps_word)(unsigned)attribute, (ps_word)comm) == 0;
}

static uint32_t next_repeat(uint64_t key)
{
    repeat_node **bucket = &repeats[bucket_of(key)];
    for (repeat_node *node = *bucket; node; node = node->next)
        if (node->key == key)
            return ++node->count;
    repeat_node *node = malloc(sizeof *node);
    if (node) {
        *node = (repeat_node){.next = *bucket, .key = key};
        *bucket = node;
    }
    return 0;
}

static void translate_to_world(ps_word group, int32_t *ranks, int count)
{
    int *own = malloc((size_t)count * sizeof *own);
    for (int i = 0; own && i < count; i++)
        own[i] = i;
    bool is_done = own && PS_CALL(&library.translate, ps_call_5, group, (ps_word)count, (ps_word)own, world_group,
                                  (ps_word)ranks) == 0;
    for (int i = 0; i < count; i++)
        if (!is_done || ranks[i] < 0)
            ranks[i] = -1;
    free(own);
}

/* Equal lists are kept once. Called with the lock held; takes ownership of `list`. */
static member_list *share_list(member_list *list)
{
    list->hash = hash_word(0, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        list->hash = hash_word(list->hash, (uint32_t)list->ranks[i]);
    for (member_list *known = lists; known; known = known->next) {
        if (known->hash == list->hash && known->count == list->count &&
            memcmp(known->ranks, list->ranks, list->count * sizeof *list->ranks) == 0) {
            free(list);
            return known;
        }
    }
    list->next = lists;
    lists = list;
    return list;
}

static member_list *read_members(ps_word handle)
{
    int count = 0;
    ps_word group = 0;
    if (PS_CALL(&library.comm_group, ps_call_2, handle, (ps_word)&group) != 0)
        return NULL;
    group = ps_handle(group);
    if (!world_group)
        world_group = group;
    PS_CALL(&library.group_size, ps_call_2, group, (ps_word)&count);
    member_list *list = count > 0 ? malloc(sizeof *list + (size_t)count * sizeof *list->ranks) : NULL;
    if (list) {
        list->count = (uint32_t)count;
        translate_to_world(group, list->ranks, count);
    }
    if (group != world_group)
        PS_CALL(&library.group_free, ps_call_1, (ps_word)&group);
    return list;
}

static void define(ps_comm *comm, const member_list *members, uint32_t parent, uint32_t ordinal)
{
    ps_communicator head = {.identity = comm->identity, .parent = parent, .ordinal = ordinal, .size = members->count,
                            .my_rank = (uint32_t)comm->my_rank};
    comm->index = indices;
    if (ps_define(PS_DEF_COMMUNICATOR, comm->index, &head, sizeof head, members->ranks,
                  members->count * (uint32_t)sizeof *members->ranks))
        indices++;
    else
        comm->index = PS_NO_INDEX;
}

/* Registers a handle. `key` says where the communicator came from, alike on all members; `repeats_key` asks for a
 * further count of equal origins. */
static ps_comm *enter(ps_word handle, uint64_t key, bool is_repeatable, uint32_t parent, uint32_t ordinal)
{
    int rank = 0, is_inter = 0;
    member_list *members = read_members(handle);
    ps_comm *comm = members ? calloc(1, sizeof *comm) : NULL;
    if (!comm) {
        free(members);
        return NULL;
    }
    PS_CALL(&library.comm_rank, ps_call_2, handle, (ps_word)&rank);
    PS_CALL(&library.test_inter, ps_call_2, handle, (ps_word)&is_inter);
    ps_acquire(&registering);
    members = share_list(members);
    comm->identity = hash_word(key, members->hash);
    if (is_repeatable) {
        ordinal = next_repeat(comm->identity);
        comm->identity = hash_word(comm->identity, ordinal);
    }
    comm->size = members->count;
    comm->my_rank = rank;
    comm->is_inter = is_inter != 0;
    comm->is_world = handle == ps_abi.comm_world;
    comm->members = members->ranks;
    define(comm, members, parent, ordinal);
    bind(handle, comm);
    ps_release(&registering);
    /* Outside the lock: replacing an earlier value calls `forget`. Without it the end would go unnoticed. */
    if (!carry(handle, comm))
        forget(handle, 0, (ps_word)comm, 0);
    return comm;
}

bool ps_comm_start(int32_t *rank, int32_t *size)
{
    ps_function *needed = &library.comm_rank;
    for (size_t i = 0; i < sizeof library / sizeof *needed; i++)
        if (!ps_resolve(&needed[i]))
            return false;
    if (!create_attribute())
        return false;
    PS_CALL(&library.comm_rank, ps_call_2, ps_abi.comm_world, (ps_word)rank);
    PS_CALL(&library.comm_size, ps_call_2, ps_abi.comm_world, (ps_word)size);
    if (!enter(ps_abi.comm_world, hash_word(0, ORIGIN_WORLD), false, PS_NO_INDEX, 0))
        return false;
    uint64_t self_key = hash_word(hash_word(0, ORIGIN_SELF), (uint32_t)*rank);
    return enter(ps_abi.comm_self, self_key, false, PS_NO_INDEX, 0) != NULL;
}

static ps_comm *find_comm(ps_word handle)
{
    handle_node *node = find_node(handle);
    return node ? atomic_load_explicit(&node->comm, memory_order_acquire) : NULL;
}

static bool is_communicator(ps_word handle)
{
    int is_inter = 0;
    ps_question question;
    ps_question_begin(&question);
    bool is_known = PS_CALL(&library.test_inter, ps_call_2, handle, (ps_word)&is_inter) == 0;
    return ps_question_end(&question) && is_known;
}

/* Members and their repetition are all that is known alike of a communicator without a parent. */
static ps_comm *meet(ps_word handle, bool is_sound)
{
    ps_comm *comm = find_comm(handle);
    if (comm || handle == ps_abi.comm_null || handle == 0)
        return comm;
    ps_acquire(&meeting);
    comm = find_comm(handle);
    if (!comm && (is_sound || is_communicator(handle)))
        comm = enter(handle, hash_word(0, ORIGIN_ELSEWHERE), true, PS_NO_INDEX, 0);
    ps_release(&meeting);
    return comm;
}

ps_comm *ps_comm_of(ps_word word)
{
    return meet(ps_handle(word), false);
}

void ps_comm_created_alone(ps_word word)
{
    meet(ps_handle(word), true);
}

void ps_comm_created(ps_word word, ps_comm *parent, uint32_t ordinal)
{
    ps_word handle = ps_handle(word);
    if (!parent || handle == ps_abi.comm_null)
        return;
    enter(handle, hash_word(hash_word(hash_word(0, ORIGIN_CALL), parent->identity), ordinal), false, parent->index,
          ordinal);
}

void ps_comm_created_by_group(ps_word word, ps_comm *parent, int tag)
{
    ps_word handle = ps_handle(word);
    if (!parent || handle == ps_abi.comm_null)
        return;
    enter(handle, hash_word(hash_word(hash_word(0, ORIGIN_GROUP), parent->identity), (uint32_t)tag), true,
          parent->index, 0);
}
