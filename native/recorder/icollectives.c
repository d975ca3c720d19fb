/* Nonblocking collectives. */
#include <stdlib.h>

#include "array_arguments.h"
#include "collective_forms.h"
#include "requests.h"

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

COLLECTIVE(Iallgather, ps_call_8,
           (PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W receive_count, PS_W receive_type,
            PS_W comm, PS_W request),
           (send, send_count, send_type, receive, receive_count, receive_type, comm, request), comm,
           ps_fits(real, send_count) && ps_fits(real, receive_count),
           ps_volume_allgather(&call, real, ((ps_side){send, send_count, send_type}),
                               ((ps_side){receive, receive_count, receive_type})))

#define GATHERED                                                                                                  \
    PS_W send, PS_W send_count, PS_W send_type, PS_W receive, PS_W counts, PS_W displacements, PS_W type,         \
        PS_W comm, PS_W request

static int do_iallgatherv(ps_function *real, GATHERED)
{
    ps_word *arrays[] = {&counts, &displacements};
    void *owned = NULL;
    if (!ps_ready(real))
        return ps_missing_function();
    ps_side given = {receive, counts, type};
    bool is_recorded = ps_is_recorded();
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Iallgatherv, NULL);
    if (is_recorded) {
        call = ps_collective_call(PS_OP_MPI_Iallgatherv, comm);
        ps_volume_allgatherv(&call, real, (ps_side){send, send_count, send_type}, given);
    }
    if (!ps_fits(real, send_count) || !ps_narrow_arrays(real, comm, arrays, 2, &owned))
        return ps_count_too_large();
    if (is_recorded)
        ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_9, send, send_count, send_type, receive, counts, displacements, type, comm,
                         request);
    /* The library may read the arrays until the request completes. Nobody tells when that is for a call that is not
     * recorded: its arrays stay for ever. */
    if (result != 0)
        free(owned);
    else if (is_recorded)
        ps_request_created(&call, request, &(ps_pending){.owned = owned});
    if (is_recorded)
        ps_call_end(&call);
    return result;
}

PS_EXPORT int MPI_Iallgatherv(GATHERED)
{
    static ps_function real = PS_FUNCTION(MPI_Iallgatherv);
    return do_iallgatherv(&real, send, send_count, send_type, receive, counts, displacements, type, comm, request);
}

PS_EXPORT int MPI_Iallgatherv_c(GATHERED)
{
    static ps_function real = PS_LARGE_FUNCTION(MPI_Iallgatherv);
    return do_iallgatherv(&real, send, send_count, send_type, receive, counts, displacements, type, comm, request);
}
