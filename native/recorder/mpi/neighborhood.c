/* Collectives between the neighbors of a topology, blocking and nonblocking. */
#include "mpi/array_forms.h"
#include "mpi/collective_forms.h"
#include "mpi/neighbors.h"

#define OUT(COUNTS, TYPE) ((ps_side){send, COUNTS, TYPE})
#define IN(COUNTS, TYPE) ((ps_side){receive, COUNTS, TYPE})

#define TWO_SIDES                                                                                                 \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count, PS_W receive_type
#define TWO_SIDES_ARGUMENTS send, send_count, send_type, receive, receive_count, receive_type
#define BOTH_FIT ps_fits(real, send_count) && ps_fits(real, receive_count)
#define AFTER_CALL (result == 0 ? ps_request_created(&call, request, NULL) : (void)0)

#define SCALAR(NAME, VOLUME)                                                                                      \
    PS_COLLECTIVE(Neighbor_##NAME, ps_call_7, (TWO_SIDES, PS_W comm), (TWO_SIDES_ARGUMENTS, comm), comm,          \
                  BOTH_FIT,                                                                                       \
                  VOLUME(&call, real, comm, OUT(send_count, send_type), IN(receive_count, receive_type)),         \
                  (void)0)                                                                                        \
    PS_COLLECTIVE(Ineighbor_##NAME, ps_call_8, (TWO_SIDES, PS_W comm, PS_W request),                              \
                  (TWO_SIDES_ARGUMENTS, comm, request), comm, BOTH_FIT,                                           \
                  VOLUME(&call, real, comm, OUT(send_count, send_type), IN(receive_count, receive_type)),         \
                  AFTER_CALL)

SCALAR(allgather, ps_volume_neighbor_allgather)
SCALAR(alltoall, ps_volume_neighbor_alltoall)

#define ALLGATHERV                                                                                                \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type, PS_W comm
#define ALLGATHERV_ARGUMENTS send, send_count, send_type, receive, counts, displacements, type, comm
#define ALLGATHERV_VOLUME                                                                                         \
    ps_volume_neighbor_allgatherv(&call, real, comm, OUT(send_count, send_type), IN(counts, type))

static bool narrow_gathered(const ps_function *real, ps_word comm, ps_word *counts, ps_word *displacements,
                            void **owned)
{
    ps_word *arrays[] = {counts, displacements};
    int in = ps_neighbors(comm).in;
    return ps_narrow_sized(real, arrays, (int[]){in, in}, 2, owned);
}

static int do_Neighbor_allgatherv(ps_function *real, ALLGATHERV)
{
    PS_ARRAY_BODY(Neighbor_allgatherv, ps_call_8, comm, ALLGATHERV_VOLUME,
                  ps_fits(real, send_count) && narrow_gathered(real, comm, &counts, &displacements, &owned),
                  ALLGATHERV_ARGUMENTS)
}
PS_BOTH_FORMS(Neighbor_allgatherv, ALLGATHERV, ALLGATHERV_ARGUMENTS)

#define I_ALLGATHERV ALLGATHERV, PS_W request
#define I_ALLGATHERV_ARGUMENTS ALLGATHERV_ARGUMENTS, request

static int do_Ineighbor_allgatherv(ps_function *real, I_ALLGATHERV)
{
    PS_I_ARRAY_BODY(Ineighbor_allgatherv, ps_call_9, comm, ALLGATHERV_VOLUME,
                    ps_fits(real, send_count) && narrow_gathered(real, comm, &counts, &displacements, &owned),
                    I_ALLGATHERV_ARGUMENTS)
}
PS_BOTH_FORMS(Ineighbor_allgatherv, I_ALLGATHERV, I_ALLGATHERV_ARGUMENTS)

#define ALLTOALLV                                                                                                 \
    PS_W send, PS_W send_counts, PS_W send_displacements, PS_W send_type, PS_W receive, PS_W receive_counts,      \
        PS_W receive_displacements, PS_W receive_type, PS_W comm
#define ALLTOALLV_ARGUMENTS                                                                                       \
    send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements,             \
        receive_type, comm
#define I_ALLTOALLV ALLTOALLV, PS_W request
#define I_ALLTOALLV_ARGUMENTS ALLTOALLV_ARGUMENTS, request

static int do_Neighbor_alltoallv(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    PS_ARRAY_BODY(Neighbor_alltoallv, ps_call_9, comm,
                  ps_volume_neighbor_alltoallv(&call, real, comm, OUT(send_counts, send_type),
                                                IN(receive_counts, receive_type)),
                  ps_narrow_neighbors(real, comm, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Neighbor_alltoallv, ALLTOALLV, ALLTOALLV_ARGUMENTS)

static int do_Ineighbor_alltoallv(ps_function *real, I_ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    PS_I_ARRAY_BODY(Ineighbor_alltoallv, ps_call_10, comm,
                    ps_volume_neighbor_alltoallv(&call, real, comm, OUT(send_counts, send_type),
                                                  IN(receive_counts, receive_type)),
                    ps_narrow_neighbors(real, comm, arrays, &owned), I_ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Ineighbor_alltoallv, I_ALLTOALLV, I_ALLTOALLV_ARGUMENTS)

static int do_Neighbor_alltoallw(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &receive_counts};
    PS_ARRAY_BODY(Neighbor_alltoallw, ps_call_9, comm,
                  ps_volume_neighbor_alltoallw(&call, real, comm, OUT(send_counts, send_type),
                                                IN(receive_counts, receive_type)),
                  ps_narrow_neighbor_counts(real, comm, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Neighbor_alltoallw, ALLTOALLV, ALLTOALLV_ARGUMENTS)

static int do_Ineighbor_alltoallw(ps_function *real, I_ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &receive_counts};
    PS_I_ARRAY_BODY(Ineighbor_alltoallw, ps_call_10, comm,
                    ps_volume_neighbor_alltoallw(&call, real, comm, OUT(send_counts, send_type),
                                                  IN(receive_counts, receive_type)),
                    ps_narrow_neighbor_counts(real, comm, arrays, &owned), I_ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Ineighbor_alltoallw, I_ALLTOALLV, I_ALLTOALLV_ARGUMENTS)
