/* Collectives between the neighbors of a topology, blocking and nonblocking. */
#include "mpi/array_forms.h"
#include "mpi/collective_forms.h"
#include "mpi/neighbors.h"

#define OUT(COUNTS, TYPE) ((ps_side){send, COUNTS, TYPE})
#define IN(COUNTS, TYPE) ((ps_side){receive, COUNTS, TYPE})

#define SCALAR(NAME, I_NAME, VOLUME)                                                                              \
    PS_COLLECTIVES(NAME, I_NAME, ps_call_7, ps_call_8,                                                            \
                   (PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count,                 \
                    PS_W receive_type, PS_W comm),                                                                \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm),                     \
                   ps_fits(real, send_count) && ps_fits(real, receive_count),                                     \
                   VOLUME(&call, real, comm, OUT(send_count, send_type), IN(receive_count, receive_type)))

SCALAR(Neighbor_allgather, Ineighbor_allgather, ps_volume_neighbor_allgather)
SCALAR(Neighbor_alltoall, Ineighbor_alltoall, ps_volume_neighbor_alltoall)

static bool narrow_gathered(const ps_function *real, ps_word comm, ps_word *counts, ps_word *displacements,
                            void **owned)
{
    ps_word *arrays[] = {counts, displacements};
    int in = ps_neighbors(comm).in;
    return ps_narrow_sized(real, arrays, (int[]){in, in}, 2, owned);
}

PS_ARRAY_COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, ps_call_8, ps_call_9,
                    (PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements,
                     PS_W type, PS_W comm),
                    (send, send_count, send_type, receive, counts, displacements, type, comm),
                    ps_volume_neighbor_allgatherv(&call, real, comm, OUT(send_count, send_type), IN(counts, type)),
                    ps_fits(real, send_count) && narrow_gathered(real, comm, &counts, &displacements, &owned))

#define ALLTOALL(NAME, I_NAME, VOLUME, NARROW, ...)                                                               \
    PS_ARRAY_COLLECTIVE(NAME, I_NAME, ps_call_9, ps_call_10,                                                      \
                        (PS_W send, PS_W send_counts, PS_W send_displacements, PS_W send_type, PS_W receive,      \
                         PS_W receive_counts, PS_W receive_displacements, PS_W receive_type, PS_W comm),          \
                        (send, send_counts, send_displacements, send_type, receive, receive_counts,               \
                         receive_displacements, receive_type, comm),                                              \
                        VOLUME(&call, real, comm, OUT(send_counts, send_type), IN(receive_counts, receive_type)), \
                        NARROW(real, comm, ((ps_word *[]){__VA_ARGS__}), &owned))

ALLTOALL(Neighbor_alltoallv, Ineighbor_alltoallv, ps_volume_neighbor_alltoallv, ps_narrow_neighbors, &send_counts,
         &send_displacements, &receive_counts, &receive_displacements)
ALLTOALL(Neighbor_alltoallw, Ineighbor_alltoallw, ps_volume_neighbor_alltoallw, ps_narrow_neighbor_counts,
         &send_counts, &receive_counts)
