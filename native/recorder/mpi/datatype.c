#include "mpi/datatype.h"

#include <stdlib.h>

#include "mpi/question.h"

#define TABLE_BUCKETS 1024u
#define STANDARD_PREDEFINED_END 4096u

static ps_function type_size_x = PS_FUNCTION(PMPI_Type_size_x);
static ps_function type_size = PS_FUNCTION(PMPI_Type_size);
static ps_function get_count_c = PS_FUNCTION(PMPI_Get_count_c);
static ps_function get_count = PS_FUNCTION(PMPI_Get_count);
static ps_function create_keyval = PS_FUNCTION(PMPI_Type_create_keyval);
static ps_function set_attr = PS_FUNCTION(PMPI_Type_set_attr);

/* Types that were met, by handle. Nodes stay forever and are used again for the same handle, so that readers
 * need no lock. */
typedef struct type_node {
    struct type_node *next;
    ps_word type;
    uint64_t size;        /* of a predefined one */
    atomic_bool is_known; /* there is such a type, and its end will be noticed */
} type_node;

static _Atomic(type_node *) met[TABLE_BUCKETS];
static ps_lock meeting = ATOMIC_FLAG_INIT;
static int attribute; /* the keyval of what every type that can end carries, by which its end is noticed */
static bool is_end_noticed;

static type_node *find_node(ps_word type)
{
    type_node *node = atomic_load_explicit(&met[(type * 0x9e3779b97f4a7c15u >> 32) % TABLE_BUCKETS],
                                           memory_order_acquire);
    while (node && node->type != type)
        node = node->next;
    return node;
}

static int forget(ps_word type, ps_word keyval, ps_word node, ps_word unused)
{
    (void)type;
    (void)keyval;
    (void)unused;
    atomic_store(&((type_node *)node)->is_known, false);
    return 0;
}

/* A duplicate is a type of its own. */
static int copy_nothing(ps_word type, ps_word keyval, ps_word extra, ps_word value, ps_word copied, ps_word flag)
{
    (void)type;
    (void)keyval;
    (void)extra;
    (void)value;
    (void)copied;
    *(int *)flag = 0;
    return 0;
}

void ps_datatypes_start(void)
{
    is_end_noticed = ps_resolve(&create_keyval) && ps_resolve(&set_attr) &&
                     PS_CALL(&create_keyval, ps_call_4, (ps_word)(uintptr_t)copy_nothing,
                             (ps_word)(uintptr_t)forget, (ps_word)&attribute, 0) == 0;
    ps_resolve(&type_size_x);
    ps_resolve(&type_size);
    ps_resolve(&get_count_c);
    ps_resolve(&get_count);
}

bool ps_is_predefined(ps_word type)
{
    switch (ps_abi.abi) {
    case PS_ABI_MPICH:
        return type >> 30 == 1;
    case PS_ABI_OPENMPI:
        return ps_is_static_address(type);
    default:
        return type < STANDARD_PREDEFINED_END;
    }
}

/* Whether there is such a type, and how large it is. */
static bool ask_size(ps_word type, uint64_t *bytes)
{
    int64_t size = 0;
    int narrow = 0;
    bool is_known = false;
    if (PS_ADDRESS(&type_size_x))
        is_known = PS_CALL(&type_size_x, ps_call_2, type, (ps_word)&size) == 0;
    else if (PS_ADDRESS(&type_size)) {
        is_known = PS_CALL(&type_size, ps_call_2, type, (ps_word)&narrow) == 0;
        size = narrow;
    }
    *bytes = is_known && size > 0 ? (uint64_t)size : 0;
    return is_known;
}

static type_node *add_node(ps_word type)
{
    type_node *node = calloc(1, sizeof *node);
    if (!node)
        return NULL;
    _Atomic(type_node *) *bucket = &met[(type * 0x9e3779b97f4a7c15u >> 32) % TABLE_BUCKETS];
    node->type = type;
    node->next = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, node, memory_order_release);
    return node;
}

/* Remembers that there is a type until its end, which its attribute tells. */
static void remember(ps_word type, uint64_t size)
{
    type_node *node = find_node(type);
    if (!node)
        node = add_node(type);
    if (!node)
        return;
    node->size = size;
    if (ps_is_predefined(type) ||
        (is_end_noticed && PS_CALL(&set_attr, ps_call_3, type, (ps_word)(unsigned)attribute, (ps_word)node) == 0))
        atomic_store_explicit(&node->is_known, true, memory_order_release);
}

/* A handle that is met for the first time may be none. */
static uint64_t meet(ps_word type)
{
    uint64_t size = 0;
    ps_question question;
    ps_acquire(&meeting);
    ps_question_begin(&question);
    bool is_type = ask_size(type, &size);
    is_type = ps_question_end(&question) && is_type;
    if (is_type)
        remember(type, size);
    ps_release(&meeting);
    return is_type ? size : 0;
}

uint64_t ps_type_bytes(ps_word word)
{
    ps_word type = ps_handle(word);
    if (type == ps_abi.datatype_null)
        return 0;
    if (ps_abi.abi == PS_ABI_MPICH && ps_is_predefined(type))
        return type >> 8 & 0xff; /* the handle says it: a question would leave MPI_COMM_WORLD with a handler */
    uint64_t size = 0;
    const type_node *node = find_node(type);
    if (!node || !atomic_load_explicit(&node->is_known, memory_order_acquire))
        return meet(type);
    if (ps_is_predefined(type))
        return node->size;
    ask_size(type, &size); /* each time: what a program made of a handle that it had freed is not to be relied on */
    return size;
}

uint64_t ps_count_at(const ps_function *function, ps_word counts, uint32_t index)
{
    return ps_count(function, function->is_wide ? ((const uint64_t *)counts)[index]
                                                : (ps_word)((const int *)counts)[index]);
}

uint64_t ps_sum_bytes(const ps_function *function, ps_word counts, uint32_t size, ps_word type)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < size; i++)
        count += ps_count_at(function, counts, i);
    return ps_bytes(count, type);
}

uint64_t ps_status_bytes(ps_word status)
{
    const uint32_t *words = (const uint32_t *)status;
    int64_t count = 0;
    int narrow = 0;
    if (ps_abi.abi == PS_ABI_MPICH)
        return words[0] | (uint64_t)(words[1] >> 1) << 32;
    if (ps_abi.abi == PS_ABI_OPENMPI)
        return *(const uint64_t *)(status + 16);
    if (PS_ADDRESS(&get_count_c))
        PS_CALL(&get_count_c, ps_call_3, status, ps_abi.byte, (ps_word)&count);
    else if (PS_ADDRESS(&get_count) && PS_CALL(&get_count, ps_call_3, status, ps_abi.byte, (ps_word)&narrow) == 0)
        count = narrow;
    return count > 0 ? (uint64_t)count : 0;
}
