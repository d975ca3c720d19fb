/* Sizes in bytes: of datatypes, of counts of them, and of what a status says was received. */
#ifndef PERFSCOPE_DATATYPE_H
#define PERFSCOPE_DATATYPE_H

#include "mpi/mpi_abi.h"

void ps_datatypes_start(void);
uint64_t ps_type_bytes(ps_word type);
/* Whether a type is one of MPI's own. Only these keep their size forever, as a freed type's handle is given to another
 * type, and of these alone it is known that values lie beside each other. */
bool ps_is_predefined(ps_word type);

/* A datatype that belongs to no data may be null and must not be asked for. */
static inline uint64_t ps_bytes(uint64_t count, ps_word type)
{
    return count ? count * ps_type_bytes(type) : 0;
}

/* Bytes of counts[0..size) elements of one type. */
uint64_t ps_sum_bytes(const ps_function *function, ps_word counts, uint32_t size, ps_word type);
uint64_t ps_count_at(const ps_function *function, ps_word counts, uint32_t index);
/* Bytes that a status says were received. */
uint64_t ps_status_bytes(ps_word status);

static inline int ps_status_source(ps_word status)
{
    return ((const int *)status)[ps_abi.status_source];
}

static inline int ps_status_tag(ps_word status)
{
    return ((const int *)status)[ps_abi.status_source + 1];
}

#endif
