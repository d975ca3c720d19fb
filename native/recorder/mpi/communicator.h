/* Communicators: their index in the recording, their members as world ranks, their identity.
 *
 * The identity needs no messages: it is derived from what every member knows alike. */
#ifndef PERFSCOPE_COMMUNICATOR_H
#define PERFSCOPE_COMMUNICATOR_H

#include "mpi/mpi_abi.h"
#include "records/run_windows.h"

typedef struct {
    uint64_t identity;
    uint32_t index; /* PS_NO_INDEX when it could not be defined */
    uint32_t size;
    int32_t my_rank;
    bool is_inter, is_world;
    const int32_t *members; /* world ranks in rank order, -1 outside the world */
    _Atomic uint32_t collectives; /* calls so far: the next ordinal */
    _Atomic uint32_t creations;
} ps_comm;

/* Learns the world and this process's own communicator. False when the library answers nothing. */
bool ps_comm_start(int32_t *rank, int32_t *size);
/* The communicator of a handle; NULL for a null handle, and for one that is none: it may come from anywhere. */
ps_comm *ps_comm_of(ps_word handle);
/* One that the library has just made, without a parent that all its members have in common. */
void ps_comm_created_alone(ps_word handle);
/* A communicator that `parent` was made into by a call that all its members made. */
void ps_comm_created(ps_word handle, ps_comm *parent, uint32_t ordinal);
/* One made by MPI_Comm_create_group, which only its members call. */
void ps_comm_created_by_group(ps_word handle, ps_comm *parent, int tag);

/* World rank of a rank of the communicator, or PS_PEER_*. */
static inline int32_t ps_peer(const ps_comm *comm, int rank)
{
    if (rank >= 0 && comm && !comm->is_inter && (uint32_t)rank < comm->size)
        return comm->members[rank] >= 0 ? comm->members[rank] : PS_PEER_UNKNOWN;
    return rank == ps_abi.proc_null ? PS_PEER_PROC_NULL : PS_PEER_UNKNOWN;
}

static inline uint32_t ps_comm_index(const ps_comm *comm)
{
    return comm ? comm->index : PS_NO_INDEX;
}

static inline uint32_t ps_next_collective(ps_comm *comm)
{
    if (!comm)
        return PS_NO_INDEX;
    uint32_t ordinal = atomic_fetch_add_explicit(&comm->collectives, 1, memory_order_relaxed);
    if (PS_UNLIKELY(ordinal % PS_WINDOW_COLLECTIVES == 0) && comm->is_world)
        ps_run_window_end(PS_WINDOW_COLLECTIVE, ordinal / PS_WINDOW_COLLECTIVES, ps_monotonic());
    return ordinal;
}

static inline uint32_t ps_next_creation(ps_comm *comm)
{
    return comm ? atomic_fetch_add_explicit(&comm->creations, 1, memory_order_relaxed) : 0;
}

#endif
