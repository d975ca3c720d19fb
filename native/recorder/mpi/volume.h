/* Bytes that a rank contributes to a collective and obtains from it.
 *
 * Only arguments that the standard calls significant on this rank are looked at: others may be null or dangling.
 * Between two groups (inter-communicators) bytes stay 0. */
#ifndef PERFSCOPE_VOLUME_H
#define PERFSCOPE_VOLUME_H

#include "mpi/call.h"

/* One side of a collective's data: counts is a count or an array of them, as the function has it. */
typedef struct {
    ps_word buffer, counts, type;
} ps_side;

/* A call that takes the next ordinal of its communicator. */
ps_call ps_collective_call(uint16_t op, ps_word comm);

void ps_volume_bcast(ps_call *call, const ps_function *real, ps_word count, ps_word type, ps_word root);
void ps_volume_reduce(ps_call *call, const ps_function *real, ps_word count, ps_word type, ps_word root);
/* Allreduce and scan: as much in as out. */
void ps_volume_same(ps_call *call, const ps_function *real, ps_word count, ps_word type);
void ps_volume_exscan(ps_call *call, const ps_function *real, ps_word count, ps_word type);
void ps_volume_reduce_scatter_block(ps_call *call, const ps_function *real, ps_word count, ps_word type);
void ps_volume_reduce_scatter(ps_call *call, const ps_function *real, ps_word counts, ps_word type);
void ps_volume_gather(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root);
void ps_volume_gatherv(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root);
void ps_volume_scatter(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root);
void ps_volume_scatterv(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root);
void ps_volume_allgather(ps_call *call, const ps_function *real, ps_side out, ps_side in);
void ps_volume_allgatherv(ps_call *call, const ps_function *real, ps_side out, ps_side in);
void ps_volume_alltoall(ps_call *call, const ps_function *real, ps_side out, ps_side in);
void ps_volume_alltoallv(ps_call *call, const ps_function *real, ps_side out, ps_side in);
/* type is an array of types. */
void ps_volume_alltoallw(ps_call *call, const ps_function *real, ps_side out, ps_side in);

#endif
