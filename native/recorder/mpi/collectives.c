/* Collectives whose counts are scalars, blocking and nonblocking. */
#include "frameworks/horovod.h"
#include "mpi/collective_forms.h"
#include "mpi/given.h"
#include "mpi/repeats.h"

#define OUT ((ps_side){send, send_count, send_type})
#define IN ((ps_side){receive, receive_count, receive_type})
#define BOTH_FIT ps_fits(real, send_count) && ps_fits(real, receive_count)

PS_COLLECTIVE_INT(Barrier, ps_call_1, (PS_W comm), (comm), comm, true, (void)0, (void)0)
PS_COLLECTIVE_INT(Ibarrier, ps_call_2, (PS_W comm, PS_W request), (comm, request), comm, true, (void)0,
                  PS_REQUESTED)

#define BCAST (PS_W buffer, PS_W count, PS_W type, PS_W root, PS_W comm)
#define BCAST_ARGUMENTS (buffer, count, type, root, comm)

PS_COLLECTIVE(Bcast, ps_call_5, BCAST, BCAST_ARGUMENTS, comm, ps_fits(real, count),
              ps_volume_bcast(&call, real, count, type, root);
              ps_repeat repeat = ps_before_receiving(&call, buffer, type),
              ps_after_receiving(&repeat, &call, buffer, result))
PS_I_COLLECTIVE(Ibcast, ps_call_6, BCAST, BCAST_ARGUMENTS, ps_fits(real, count),
                ps_volume_bcast(&call, real, count, type, root))

PS_COLLECTIVES(Reduce, Ireduce, ps_call_7, ps_call_8,
               (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W root, PS_W comm),
               (send, receive, count, type, op, root, comm), ps_fits(real, count),
               ps_volume_reduce(&call, real, count, type, root))

#define REDUCED (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm)
#define REDUCED_ARGUMENTS (send, receive, count, type, op, comm)
#define ALLREDUCE_BODY                                                                                            \
    PS_TIMED_BODY(ps_call_6, REDUCED_ARGUMENTS, ps_collective_call(PS_OP_MPI_Allreduce, comm),                    \
                  ps_fits(real, count), ps_volume_same(&call, real, count, type);                                 \
                  ps_before_giving(&call, send, receive, type), (void)0)

PS_EXPORT int MPI_Allreduce REDUCED
{
    static ps_function function = PS_FUNCTION(MPI_Allreduce);
    ps_function *const real = &function;
    if (PS_UNLIKELY(ps_is_horovod_control(op, __builtin_return_address(0))) && ps_ready(real))
        return ps_horovod_control(real, send, receive, count, type, op, comm);
    ALLREDUCE_BODY
}

PS_EXPORT int MPI_Allreduce_c REDUCED
{
    static ps_function function = PS_LARGE_FUNCTION(MPI_Allreduce);
    ps_function *const real = &function;
    ALLREDUCE_BODY
}

PS_I_COLLECTIVE(Iallreduce, ps_call_7, REDUCED, REDUCED_ARGUMENTS, ps_fits(real, count),
                ps_volume_same(&call, real, count, type))

#define REDUCTION(NAME, I_NAME, VOLUME)                                                                           \
    PS_COLLECTIVES(NAME, I_NAME, ps_call_6, ps_call_7, REDUCED, REDUCED_ARGUMENTS, ps_fits(real, count),          \
                   VOLUME(&call, real, count, type))

REDUCTION(Scan, Iscan, ps_volume_same)
REDUCTION(Exscan, Iexscan, ps_volume_exscan)
REDUCTION(Reduce_scatter_block, Ireduce_scatter_block, ps_volume_reduce_scatter_block)

#define TWO_SIDES PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count, PS_W receive_type
#define TWO_SIDES_ARGUMENTS send, send_count, send_type, receive, receive_count, receive_type

#define ROOTED(NAME, I_NAME, VOLUME)                                                                              \
    PS_COLLECTIVES(NAME, I_NAME, ps_call_8, ps_call_9, (TWO_SIDES, PS_W root, PS_W comm),                         \
                   (TWO_SIDES_ARGUMENTS, root, comm), BOTH_FIT, VOLUME(&call, real, OUT, IN, root))

ROOTED(Gather, Igather, ps_volume_gather)
ROOTED(Scatter, Iscatter, ps_volume_scatter)

PS_COLLECTIVE(Allgather, ps_call_7, (TWO_SIDES, PS_W comm), (TWO_SIDES_ARGUMENTS, comm), comm, BOTH_FIT,
              ps_volume_allgather(&call, real, OUT, IN);
              if (send != ps_abi.in_place) ps_before_giving(&call, send, receive, send_type);
              ps_repeat repeat = ps_before_receiving(&call, receive, receive_type),
              ps_after_receiving(&repeat, &call, receive, result))
PS_I_COLLECTIVE(Iallgather, ps_call_8, (TWO_SIDES, PS_W comm), (TWO_SIDES_ARGUMENTS, comm), BOTH_FIT,
                ps_volume_allgather(&call, real, OUT, IN))

PS_COLLECTIVES(Alltoall, Ialltoall, ps_call_7, ps_call_8, (TWO_SIDES, PS_W comm), (TWO_SIDES_ARGUMENTS, comm),
               BOTH_FIT, ps_volume_alltoall(&call, real, OUT, IN))
