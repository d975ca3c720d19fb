#include "datatype.h"

#define CACHE_ENTRIES 64u
#define SIZE_BITS 16 /* of a cache entry; the handle takes the rest */
#define STANDARD_PREDEFINED_END 4096u

static ps_function type_size_x = PS_FUNCTION(PMPI_Type_size_x);
static ps_function type_size = PS_FUNCTION(PMPI_Type_size);
static ps_function get_count_c = PS_FUNCTION(PMPI_Get_count_c);
static ps_function get_count = PS_FUNCTION(PMPI_Get_count);
static _Atomic uint64_t cache[CACHE_ENTRIES];

void ps_datatypes_start(void)
{
    ps_resolve(&type_size_x);
    ps_resolve(&type_size);
    ps_resolve(&get_count_c);
    ps_resolve(&get_count);
}

/* Only these keep their size for ever: a freed type's handle is given to another type. */
static bool is_predefined(ps_word type)
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

static uint64_t ask_size(ps_word type)
{
    int64_t size = 0;
    int narrow = 0;
    if (type == ps_abi.datatype_null)
        return 0;
    if (PS_ADDRESS(&type_size_x))
        PS_CALL(&type_size_x, ps_call_2, type, (ps_word)&size);
    else if (PS_ADDRESS(&type_size) && PS_CALL(&type_size, ps_call_2, type, (ps_word)&narrow) == 0)
        size = narrow;
    return size > 0 ? (uint64_t)size : 0;
}

uint64_t ps_type_bytes(ps_word word)
{
    ps_word type = ps_handle(word);
    _Atomic uint64_t *entry = &cache[(type * 0x9e3779b97f4a7c15u >> 32) % CACHE_ENTRIES];
    uint64_t cached = atomic_load_explicit(entry, memory_order_relaxed);
    if (cached >> SIZE_BITS == type && type)
        return cached & ((1u << SIZE_BITS) - 1);
    uint64_t size = ask_size(type);
    if (size < 1u << SIZE_BITS && type < 1ull << (64 - SIZE_BITS) && is_predefined(type))
        atomic_store_explicit(entry, type << SIZE_BITS | size, memory_order_relaxed);
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
