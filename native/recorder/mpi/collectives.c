/* Blocking collectives whose counts are scalars. */
#include "frameworks/horovod.h"
#include "mpi/collective_forms.h"
#include "mpi/repeats.h"

#define COLLECTIVE(...) PS_COLLECTIVE(__VA_ARGS__, (void)0)

#define OUT ((ps_side){send, send_count, send_type})
#define IN ((ps_side){receive, receive_count, receive_type})
#define BOTH_FIT ps_fits(real, send_count) && ps_fits(real, receive_count)

PS_COLLECTIVE_INT(Barrier, ps_call_1, (PS_W comm), (comm), comm, true, (void)0, (void)0)

PS_COLLECTIVE(Bcast, ps_call_5, (PS_W buffer, PS_W count, PS_W type, PS_W root, PS_W comm),
              (buffer, count, type, root, comm), comm, ps_fits(real, count),
              ps_volume_bcast(&call, real, count, type, root);
              ps_repeat repeat = ps_before_receiving(&call, buffer, type),
              ps_after_receiving(&repeat, &call, buffer, result))

COLLECTIVE(Reduce, ps_call_7, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W root, PS_W comm),
           (send, receive, count, type, op, root, comm), comm, ps_fits(real, count),
           ps_volume_reduce(&call, real, count, type, root))

#define ALLREDUCE_PARAMETERS (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm)
#define ALLREDUCE_BODY                                                                                            \
    PS_TIMED_BODY(ps_call_6, (send, receive, count, type, op, comm),                                              \
                  ps_collective_call(PS_OP_MPI_Allreduce, comm), ps_fits(real, count),                            \
                  ps_volume_same(&call, real, count, type), (void)0)

PS_EXPORT int MPI_Allreduce ALLREDUCE_PARAMETERS
{
    static ps_function function = PS_FUNCTION(MPI_Allreduce);
    ps_function *const real = &function;
    if (PS_UNLIKELY(ps_is_horovod_control(op, __builtin_return_address(0))) && ps_ready(real))
        return ps_horovod_control(real, send, receive, count, type, op, comm);
    ALLREDUCE_BODY
}

PS_EXPORT int MPI_Allreduce_c ALLREDUCE_PARAMETERS
{
    static ps_function function = PS_LARGE_FUNCTION(MPI_Allreduce);
    ps_function *const real = &function;
    ALLREDUCE_BODY
}

COLLECTIVE(Scan, ps_call_6, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm),
           (send, receive, count, type, op, comm), comm, ps_fits(real, count),
           ps_volume_same(&call, real, count, type))

COLLECTIVE(Exscan, ps_call_6, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm),
           (send, receive, count, type, op, comm), comm, ps_fits(real, count),
           ps_volume_exscan(&call, real, count, type))

COLLECTIVE(Reduce_scatter_block, ps_call_6, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm),
           (send, receive, count, type, op, comm), comm, ps_fits(real, count),
           ps_volume_reduce_scatter_block(&call, real, count, type))

#define TWO_SIDES                                                                                                 \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count, PS_W receive_type

COLLECTIVE(Gather, ps_call_8, (TWO_SIDES, PS_W root, PS_W comm),
           (send, send_count, send_type, receive, receive_count, receive_type, root, comm), comm, BOTH_FIT,
           ps_volume_gather(&call, real, OUT, IN, root))

COLLECTIVE(Scatter, ps_call_8, (TWO_SIDES, PS_W root, PS_W comm),
           (send, send_count, send_type, receive, receive_count, receive_type, root, comm), comm, BOTH_FIT,
           ps_volume_scatter(&call, real, OUT, IN, root))

PS_COLLECTIVE(Allgather, ps_call_7, (TWO_SIDES, PS_W comm),
              (send, send_count, send_type, receive, receive_count, receive_type, comm), comm, BOTH_FIT,
              ps_volume_allgather(&call, real, OUT, IN);
              ps_repeat repeat = ps_before_receiving(&call, receive, receive_type),
              ps_after_receiving(&repeat, &call, receive, result))

COLLECTIVE(Alltoall, ps_call_7, (TWO_SIDES, PS_W comm),
           (send, send_count, send_type, receive, receive_count, receive_type, comm), comm, BOTH_FIT,
           ps_volume_alltoall(&call, real, OUT, IN))
