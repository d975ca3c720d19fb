/* Blocking collectives whose counts are arrays. For a library without large counts the large-count forms convert the
 * arrays; only arrays that mean something on this rank are read. */
#include <stdlib.h>

#include "array_arguments.h"
#include "volume.h"

/* The frame of a call: `VOLUME` looks at the arrays as the program gave them, `NARROW` then replaces them. */
#define BODY(NAME, TYPE, COMM, VOLUME, NARROW, ...)                                                               \
    void *owned = NULL;                                                                                           \
    if (!ps_ready(real))                                                                                          \
        return ps_missing_function();                                                                             \
    bool is_recorded = ps_is_recorded();                                                                          \
    ps_call call = PS_NEW_CALL(PS_OP_MPI_##NAME, NULL);                                                           \
    if (is_recorded) {                                                                                            \
        call = ps_collective_call(PS_OP_MPI_##NAME, COMM);                                                        \
        VOLUME;                                                                                                   \
    }                                                                                                             \
    if (real->is_narrow && !(NARROW))                                                                             \
        return ps_count_too_large();                                                                              \
    if (is_recorded)                                                                                              \
        ps_call_begin(&call);                                                                                     \
    int result = PS_CALL(real, TYPE, __VA_ARGS__);                                                                \
    if (is_recorded)                                                                                              \
        ps_call_end(&call);                                                                                       \
    free(owned);                                                                                                  \
    return result;

#define BOTH_FORMS(NAME, PARAMETERS, ARGUMENTS)                                                                   \
    PS_EXPORT int MPI_##NAME(PARAMETERS)                                                                          \
    {                                                                                                             \
        static ps_function function = PS_FUNCTION(MPI_##NAME);                                                    \
        return do_##NAME(&function, ARGUMENTS);                                                                   \
    }                                                                                                             \
    PS_EXPORT int MPI_##NAME##_c(PARAMETERS)                                                                      \
    {                                                                                                             \
        static ps_function function = PS_LARGE_FUNCTION(MPI_##NAME);                                              \
        return do_##NAME(&function, ARGUMENTS);                                                                   \
    }

#define OUT(COUNTS, TYPE) ((ps_side){send, COUNTS, TYPE})
#define IN(COUNTS, TYPE) ((ps_side){receive, COUNTS, TYPE})

static bool narrow(ps_function *real, ps_word comm, ps_word *first, ps_word *second, void **owned)
{
    ps_word *arrays[] = {first, second};
    return ps_narrow_arrays(real, comm, arrays, second ? 2 : 1, owned);
}

static bool narrow_at_root(ps_function *real, ps_word comm, ps_word root, ps_word *first, ps_word *second,
                           void **owned)
{
    return !ps_is_root(comm, root) || narrow(real, comm, first, second, owned);
}

static bool narrow_both_sides(ps_function *real, ps_word comm, ps_word send, ps_word **arrays, void **owned)
{
    /* With MPI_IN_PLACE the arrays of the sending side, which come first, mean nothing. */
    bool is_in_place = ps_abi.abi != PS_ABI_UNKNOWN && send == ps_abi.in_place;
    return ps_narrow_arrays(real, comm, is_in_place ? arrays + 2 : arrays, is_in_place ? 2 : 4, owned);
}

#define GATHERV                                                                                                   \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type,         \
        PS_W root, PS_W comm
#define GATHERV_ARGUMENTS send, send_count, send_type, receive, counts, displacements, type, root, comm

static int do_Gatherv(ps_function *real, GATHERV)
{
    BODY(Gatherv, ps_call_9, comm,
         ps_volume_gatherv(&call, real, OUT(send_count, send_type), IN(counts, type), root),
         ps_fits(real, send_count) && narrow_at_root(real, comm, root, &counts, &displacements, &owned),
         GATHERV_ARGUMENTS)
}
BOTH_FORMS(Gatherv, GATHERV, GATHERV_ARGUMENTS)

#define SCATTERV                                                                                                  \
    PS_W send, PS_W counts, PS_W displacements, PS_W type, PS_W receive, PS_W receive_count, PS_W receive_type,   \
        PS_W root, PS_W comm
#define SCATTERV_ARGUMENTS send, counts, displacements, type, receive, receive_count, receive_type, root, comm

static int do_Scatterv(ps_function *real, SCATTERV)
{
    BODY(Scatterv, ps_call_9, comm,
         ps_volume_scatterv(&call, real, OUT(counts, type), IN(receive_count, receive_type), root),
         ps_fits(real, receive_count) && narrow_at_root(real, comm, root, &counts, &displacements, &owned),
         SCATTERV_ARGUMENTS)
}
BOTH_FORMS(Scatterv, SCATTERV, SCATTERV_ARGUMENTS)

#define ALLGATHERV                                                                                                \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type, PS_W comm
#define ALLGATHERV_ARGUMENTS send, send_count, send_type, receive, counts, displacements, type, comm

static int do_Allgatherv(ps_function *real, ALLGATHERV)
{
    BODY(Allgatherv, ps_call_8, comm,
         ps_volume_allgatherv(&call, real, OUT(send_count, send_type), IN(counts, type)),
         ps_fits(real, send_count) && narrow(real, comm, &counts, &displacements, &owned), ALLGATHERV_ARGUMENTS)
}
BOTH_FORMS(Allgatherv, ALLGATHERV, ALLGATHERV_ARGUMENTS)

#define ALLTOALLV                                                                                                 \
    PS_W send, PS_W send_counts, PS_W send_displacements, PS_W send_type, PS_W receive, PS_W receive_counts,      \
        PS_W receive_displacements, PS_W receive_type, PS_W comm
#define ALLTOALLV_ARGUMENTS                                                                                       \
    send, send_counts, send_displacements, send_type, receive, receive_counts, receive_displacements,             \
        receive_type, comm

static int do_Alltoallv(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    BODY(Alltoallv, ps_call_9, comm,
         ps_volume_alltoallv(&call, real, OUT(send_counts, send_type), IN(receive_counts, receive_type)),
         narrow_both_sides(real, comm, send, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
BOTH_FORMS(Alltoallv, ALLTOALLV, ALLTOALLV_ARGUMENTS)

static int do_Alltoallw(ps_function *real, ALLTOALLV)
{
    ps_word *arrays[] = {&send_counts, &send_displacements, &receive_counts, &receive_displacements};
    BODY(Alltoallw, ps_call_9, comm,
         ps_volume_alltoallw(&call, real, OUT(send_counts, send_type), IN(receive_counts, receive_type)),
         narrow_both_sides(real, comm, send, arrays, &owned), ALLTOALLV_ARGUMENTS)
}
BOTH_FORMS(Alltoallw, ALLTOALLV, ALLTOALLV_ARGUMENTS)

#define REDUCE_SCATTER PS_W send, PS_W receive, PS_W counts, PS_W type, PS_W op, PS_W comm
#define REDUCE_SCATTER_ARGUMENTS send, receive, counts, type, op, comm

static int do_Reduce_scatter(ps_function *real, REDUCE_SCATTER)
{
    BODY(Reduce_scatter, ps_call_6, comm, ps_volume_reduce_scatter(&call, real, counts, type),
         narrow(real, comm, &counts, NULL, &owned), REDUCE_SCATTER_ARGUMENTS)
}
BOTH_FORMS(Reduce_scatter, REDUCE_SCATTER, REDUCE_SCATTER_ARGUMENTS)
