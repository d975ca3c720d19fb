/* The neighbours that this rank has by the topology of a communicator, and what it exchanges with them. */
#ifndef PERFSCOPE_NEIGHBOURS_H
#define PERFSCOPE_NEIGHBOURS_H

#include "volume.h"

typedef struct {
    int in, out; /* ranks that this one receives from and sends to; 0 without a topology */
} ps_degrees;

ps_degrees ps_neighbours(ps_word comm);
/* As ps_narrow_both_sides, for a neighbour each. */
bool ps_narrow_neighbours(const ps_function *function, ps_word comm, ps_word **arrays, void **owned);
/* Only the counts, first those of the sending side: the displacements are addresses in both forms. */
bool ps_narrow_neighbour_counts(const ps_function *function, ps_word comm, ps_word **arrays, void **owned);
void ps_volume_neighbour_allgather(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbour_allgatherv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbour_alltoall(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
void ps_volume_neighbour_alltoallv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);
/* type is an array of types. */
void ps_volume_neighbour_alltoallw(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in);

#endif
