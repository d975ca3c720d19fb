/* Blocking collectives whose counts are arrays. */
#include "mpi/array_forms.h"

#define OUT(COUNTS, TYPE) ((ps_side){send, COUNTS, TYPE})
#define IN(COUNTS, TYPE) ((ps_side){receive, COUNTS, TYPE})

#define GATHERV                                                                                                   \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type,         \
        PS_W root, PS_W comm
#define GATHERV_ARGUMENTS send, send_count, send_type, receive, counts, displacements, type, root, comm

static int do_Gatherv(ps_function *real, GATHERV)
{
    PS_ARRAY_BODY(Gatherv, ps_call_9, comm,
                  ps_volume_gatherv(&call, real, OUT(send_count, send_type), IN(counts, type), root),
                  ps_fits(real, send_count) &&
                      ps_narrow_at_root(real, comm, root, &counts, &displacements, &owned),
                  GATHERV_ARGUMENTS)
}
PS_BOTH_FORMS(Gatherv, GATHERV, GATHERV_ARGUMENTS)

#define SCATTERV                                                                                                  \
    PS_W send, PS_W counts, PS_W displacements, PS_W type, PS_W receive, PS_W receive_count, PS_W receive_type,   \
        PS_W root, PS_W comm
#define SCATTERV_ARGUMENTS send, counts, displacements, type, receive, receive_count, receive_type, root, comm

static int do_Scatterv(ps_function *real, SCATTERV)
{
    PS_ARRAY_BODY(Scatterv, ps_call_9, comm,
                  ps_volume_scatterv(&call, real, OUT(counts, type), IN(receive_count, receive_type), root),
                  ps_fits(real, receive_count) &&
                      ps_narrow_at_root(real, comm, root, &counts, &displacements, &owned),
                  SCATTERV_ARGUMENTS)
}
PS_BOTH_FORMS(Scatterv, SCATTERV, SCATTERV_ARGUMENTS)

#define ALLGATHERV                                                                                                \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type, PS_W comm
#define ALLGATHERV_ARGUMENTS send, send_count, send_type, receive, counts, displacements, type, comm

static int do_Allgatherv(ps_function *real, ALLGATHERV)
{
    PS_ARRAY_BODY(Allgatherv, ps_call_8, comm,
                  ps_volume_allgatherv(&call, real, OUT(send_count, send_type), IN(counts, type)),
                  ps_fits(real, send_count) && ps_narrow_pair(real, comm, &counts, &displacements, &owned),
                  ALLGATHERV_ARGUMENTS)
}
PS_BOTH_FORMS(Allgatherv, ALLGATHERV, ALLGATHERV_ARGUMENTS)

#define ALLTOALLV                                                                                                 \
    PS_W send, PS_W send_counts, PS_W send_displacements, PS_W send_type, PS_W receive, PS_W receive_counts,      \
        PS_W receive_displacements, PS_W receive_type, PS_W comm
#define ALLTOALLV_ARGUMENTS                                                                                       \
    send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements,             \
        receive_type, comm

static int do_Alltoallv(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    PS_ARRAY_BODY(Alltoallv, ps_call_9, comm,
                  ps_volume_alltoallv(&call, real, OUT(send_counts, send_type), IN(receive_counts, receive_type)),
                  ps_narrow_both_sides(real, comm, send, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Alltoallv, ALLTOALLV, ALLTOALLV_ARGUMENTS)

static int do_Alltoallw(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    PS_ARRAY_BODY(Alltoallw, ps_call_9, comm,
                  ps_volume_alltoallw(&call, real, OUT(send_counts, send_type), IN(receive_counts, receive_type)),
                  ps_narrow_both_sides(real, comm, send, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
PS_BOTH_FORMS(Alltoallw, ALLTOALLV, ALLTOALLV_ARGUMENTS)

#define REDUCE_SCATTER PS_W send, PS_W receive, PS_W counts, PS_W type, PS_W op, PS_W comm
#define REDUCE_SCATTER_ARGUMENTS send, receive, counts, type, op, comm

static int do_Reduce_scatter(ps_function *real, REDUCE_SCATTER)
{
    PS_ARRAY_BODY(Reduce_scatter, ps_call_6, comm, ps_volume_reduce_scatter(&call, real, counts, type),
                  ps_narrow_pair(real, comm, &counts, NULL, &owned), REDUCE_SCATTER_ARGUMENTS)
}
PS_BOTH_FORMS(Reduce_scatter, REDUCE_SCATTER, REDUCE_SCATTER_ARGUMENTS)
