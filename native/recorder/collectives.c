/* Blocking collectives whose counts are scalars. */
#include "volume.h"

/* Both forms of a collective: the int one, and the large-count one that falls back to it. */
#define COLLECTIVE(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, FITS, VOLUME)                                         \
    PS_EXPORT int MPI_##NAME PARAMETERS                                                                           \
    {                                                                                                             \
        static ps_function function = PS_FUNCTION(MPI_##NAME);                                                    \
        ps_function *const real = &function;                                                                      \
        BODY(NAME, TYPE, ARGUMENTS, COMM, FITS, VOLUME)                                                           \
    }                                                                                                             \
    PS_EXPORT int MPI_##NAME##_c PARAMETERS                                                                       \
    {                                                                                                             \
        static ps_function function = PS_LARGE_FUNCTION(MPI_##NAME);                                              \
        ps_function *const real = &function;                                                                      \
        BODY(NAME, TYPE, ARGUMENTS, COMM, FITS, VOLUME)                                                           \
    }

#define UNPACK(...) __VA_ARGS__
#define BODY(NAME, TYPE, ARGUMENTS, COMM, FITS, VOLUME)                                                           \
    if (!ps_ready(real))                                                                                          \
        return ps_missing_function();                                                                             \
    if (!(FITS))                                                                                                  \
        return ps_count_too_large();                                                                              \
    if (!ps_is_recorded())                                                                                        \
        return PS_CALL(real, TYPE, UNPACK ARGUMENTS);                                                             \
    ps_call call = ps_collective_call(PS_OP_MPI_##NAME, COMM);                                                    \
    VOLUME;                                                                                                       \
    ps_call_begin(&call);                                                                                         \
    int result = PS_CALL(real, TYPE, UNPACK ARGUMENTS);                                                           \
    ps_call_end(&call);                                                                                           \
    return result;

#define OUT ((ps_side){send, send_count, send_type})
#define IN ((ps_side){receive, receive_count, receive_type})
#define BOTH_FIT ps_fits(real, send_count) && ps_fits(real, receive_count)

PS_EXPORT int MPI_Barrier(PS_W comm)
{
    static ps_function function = PS_FUNCTION(MPI_Barrier);
    ps_function *const real = &function;
    BODY(Barrier, ps_call_1, (comm), comm, true, (void)0)
}

COLLECTIVE(Bcast, ps_call_5, (PS_W buffer, PS_W count, PS_W type, PS_W root, PS_W comm),
           (buffer, count, type, root, comm), comm, ps_fits(real, count),
           ps_volume_bcast(&call, real, count, type, root))

COLLECTIVE(Reduce, ps_call_7, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W root, PS_W comm),
           (send, receive, count, type, op, root, comm), comm, ps_fits(real, count),
           ps_volume_reduce(&call, real, count, type, root))

COLLECTIVE(Allreduce, ps_call_6, (PS_W send, PS_W receive, PS_W count, PS_W type, PS_W op, PS_W comm),
           (send, receive, count, type, op, comm), comm, ps_fits(real, count),
           ps_volume_same(&call, real, count, type))

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

COLLECTIVE(Allgather, ps_call_7, (TWO_SIDES, PS_W comm),
           (send, send_count, send_type, receive, receive_count, receive_type, comm), comm, BOTH_FIT,
           ps_volume_allgather(&call, real, OUT, IN))

COLLECTIVE(Alltoall, ps_call_7, (TWO_SIDES, PS_W comm),
           (send, send_count, send_type, receive, receive_count, receive_type, comm), comm, BOTH_FIT,
           ps_volume_alltoall(&call, real, OUT, IN))
