/* Nonblocking collectives whose counts are scalars. */
#include "mpi/collective_forms.h"
#include "mpi/requests.h"

#define AFTER_CALL (result == 0 ? ps_request_created(&call, request, NULL) : (void)0)
#define COLLECTIVE(...) PS_COLLECTIVE(__VA_ARGS__, AFTER_CALL)

PS_COLLECTIVE_INT(Ibarrier, ps_call_2, (PS_W comm, PS_W request), (comm, request), comm, true, (void)0, AFTER_CALL)

COLLECTIVE(Ibcast, ps_call_6, (PS_W buffer, PS_W count, PS_W type, PS_W root, PS_W comm, PS_W request),
           (buffer, count, type, root, comm, request), comm, ps_fits(real, count),
           ps_volume_bcast(&call, real, count, type, root))

COLLECTIVE(Ireduce, ps_call_8,
           (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W root, PS_W comm, PS_W request),
           (send, receive, count, type, op, root, comm, request), comm, ps_fits(real, count),
           ps_volume_reduce(&call, real, count, type, root))

COLLECTIVE(Iallreduce, ps_call_7,
           (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm, PS_W request),
           (send, receive, count, type, op, comm, request), comm, ps_fits(real, count),
           ps_volume_same(&call, real, count, type))

#define TWO_SIDES                                                                                                 \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count, PS_W receive_type
#define OUT ((ps_side){send, send_count, send_type})
#define IN ((ps_side){receive, receive_count, receive_type})
#define BOTH_FIT ps_fits(real, send_count) && ps_fits(real, receive_count)

COLLECTIVE(Iallgather, ps_call_8, (TWO_SIDES, PS_W comm, PS_W request),
           (send, send_count, send_type, receive, receive_count, receive_type, comm, request), comm, BOTH_FIT,
           ps_volume_allgather(&call, real, OUT, IN))

COLLECTIVE(Ialltoall, ps_call_8, (TWO_SIDES, PS_W comm, PS_W request),
           (send, send_count, send_type, receive, receive_count, receive_type, comm, request), comm, BOTH_FIT,
           ps_volume_alltoall(&call, real, OUT, IN))

COLLECTIVE(Igather, ps_call_9, (TWO_SIDES, PS_W root, PS_W comm, PS_W request),
           (send, send_count, send_type, receive, receive_count, receive_type, root, comm, request), comm, BOTH_FIT,
           ps_volume_gather(&call, real, OUT, IN, root))

COLLECTIVE(Iscatter, ps_call_9, (TWO_SIDES, PS_W root, PS_W comm, PS_W request),
           (send, send_count, send_type, receive, receive_count, receive_type, root, comm, request), comm, BOTH_FIT,
           ps_volume_scatter(&call, real, OUT, IN, root))

#define REDUCED (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm, PS_W request)
#define REDUCED_ARGUMENTS (send, receive, count, type, op, comm, request)

COLLECTIVE(Iscan, ps_call_7, REDUCED, REDUCED_ARGUMENTS, comm, ps_fits(real, count),
           ps_volume_same(&call, real, count, type))

COLLECTIVE(Iexscan, ps_call_7, REDUCED, REDUCED_ARGUMENTS, comm, ps_fits(real, count),
           ps_volume_exscan(&call, real, count, type))

COLLECTIVE(Ireduce_scatter_block, ps_call_7, REDUCED, REDUCED_ARGUMENTS, comm, ps_fits(real, count),
           ps_volume_reduce_scatter_block(&call, real, count, type))
