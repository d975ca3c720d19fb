/* The neighbors that this rank has by the topology of a communicator, and what it exchanges with them. */
#ifndef PERFSCOPE_NEIGHBORS_H
#define PERFSCOPE_NEIGHBORS_H

#include "mpi/volume.h"

typedef struct {
    int in, out; /* ranks that this one receives from and sends to; 0 without a topology */
} ps_degrees;

ps_degrees ps_neighbors(ps_word comm);
/* As ps_narrow_both_sides, for a neighbor each. */
bool ps_narrow_neighbors(const ps_function *function, ps_word comm, ps_word **arrays, void **owned);
/* Only the counts, first those of the sending side: the displacements are addresses in both forms. */
bool ps_narrow_neighbor_counts(const ps_function *function, ps_word comm, ps_word **arrays, void **owned);
void ps_volume_neighbor_allgather(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbor_allgatherv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbor_alltoall(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbor_alltoallv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
/* type is an array of types. */
void ps_volume_neighbor_alltoallw(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);

#endif
