/* Collectives whose counts are arrays, blocking and nonblocking. */
#include "mpi/array_forms.h"

#define OUT(COUNTS, TYPE) ((ps_side){send, COUNTS, TYPE})
#define IN(COUNTS, TYPE) ((ps_side){receive, COUNTS, TYPE})

PS_ARRAY_COLLECTIVE(Gatherv, Igatherv, ps_call_9, ps_call_10,
                    (PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements,
                     PS_W type, PS_W root, PS_W comm),
                    (send, send_count, send_type, receive, counts, displacements, type, root, comm),
                    ps_volume_gatherv(&call, real, OUT(send_count, send_type), IN(counts, type), root),
                    ps_fits(real, send_count) &&
                        ps_narrow_at_root(real, comm, root, &counts, &displacements, &owned))

PS_ARRAY_COLLECTIVE(Scatterv, Iscatterv, ps_call_9, ps_call_10,
                    (PS_W send, PS_W counts, PS_W displacements, PS_W type, PS_W receive, PS_W receive_count,
                     PS_W receive_type, PS_W root, PS_W comm),
                    (send, counts, displacements, type, receive, receive_count, receive_type, root, comm),
                    ps_volume_scatterv(&call, real, OUT(counts, type), IN(receive_count, receive_type), root),
                    ps_fits(real, receive_count) &&
                        ps_narrow_at_root(real, comm, root, &counts, &displacements, &owned))

PS_ARRAY_COLLECTIVE(Allgatherv, Iallgatherv, ps_call_8, ps_call_9,
                    (PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements,
                     PS_W type, PS_W comm),
                    (send, send_count, send_type, receive, counts, displacements, type, comm),
                    ps_volume_allgatherv(&call, real, OUT(send_count, send_type), IN(counts, type)),
                    ps_fits(real, send_count) && ps_narrow_pair(real, comm, &counts, &displacements, &owned))

#define ARRAYS ((ps_word *[]){&send_counts, &send_displacements, &receive_counts, &receive_displacements})
#define ALLTOALL(NAME, I_NAME, VOLUME)                                                                            \
    PS_ARRAY_COLLECTIVE(NAME, I_NAME, ps_call_9, ps_call_10,                                                      \
                        (PS_W send, PS_W send_counts, PS_W send_displacements, PS_W send_type, PS_W receive,      \
                         PS_W receive_counts, PS_W receive_displacements, PS_W receive_type, PS_W comm),          \
                        (send, send_counts, send_displacements, send_type, receive, receive_counts,               \
                         receive_displacements, receive_type, comm),                                              \
                        VOLUME(&call, real, OUT(send_counts, send_type), IN(receive_counts, receive_type)),       \
                        ps_narrow_both_sides(real, comm, send, ARRAYS, &owned))

ALLTOALL(Alltoallv, Ialltoallv, ps_volume_alltoallv)
ALLTOALL(Alltoallw, Ialltoallw, ps_volume_alltoallw)

PS_ARRAY_COLLECTIVE(Reduce_scatter, Ireduce_scatter, ps_call_6, ps_call_7,
                    (PS_W send, PS_W receive, PS_W counts, PS_W type, PS_W op, PS_W comm),
                    (send, receive, counts, type, op, comm),
                    ps_volume_reduce_scatter(&call, real, counts, type),
                    ps_narrow_pair(real, comm, &counts, NULL, &owned))
