/* Access to the windows of other ranks. Bytes are those that the arguments tell. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"
#include "mpi/windows.h"

typedef struct {
    ps_word count, type;
} elements;

static bool is_no_operation(ps_word op)
{
    return ps_handle(op) == ps_abi.no_operation;
}

static void access_window(ps_call *call, const ps_function *real, ps_word rank, elements out, elements in)
{
    call->peer = ps_peer(call->comm, (int)rank);
    if (call->peer == PS_PEER_PROC_NULL)
        return;
    call->sent = ps_bytes(ps_count(real, out.count), out.type);
    call->received = ps_bytes(ps_count(real, in.count), in.type);
}

#define NOTHING ((elements){0, 0})
#define ORIGIN ((elements){origin_count, origin_type})
#define RESULT ((elements){result_count, result_type})
/* The origin's own arguments mean nothing when only the old values are wanted. */
#define COMBINED (is_no_operation(op) ? NOTHING : ORIGIN)
#define REQUESTED (result == 0 ? ps_request_created(&call, request, NULL) : (void)0)
#define FIT ps_fits(real, origin_count) && ps_fits(real, target_count)

#define ACCESS(NAME, TYPE, PARAMETERS, ARGUMENTS, FITS, OUT, IN, AFTER)                                           \
    PS_TIMED(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_window_call(PS_OP_MPI_##NAME, window), FITS,                   \
             access_window(&call, real, rank, OUT, IN), AFTER)

#define PLAIN                                                                                                     \
    PS_W origin, PS_W origin_count, PS_W origin_type, PS_W rank, PS_W displacement, PS_W target_count,            \
        PS_W target_type
#define PLAIN_ARGUMENTS origin, origin_count, origin_type, rank, displacement, target_count, target_type

ACCESS(Put, ps_call_8, (PLAIN, PS_W window), (PLAIN_ARGUMENTS, window), FIT, ORIGIN, NOTHING, (void)0)
ACCESS(Get, ps_call_8, (PLAIN, PS_W window), (PLAIN_ARGUMENTS, window), FIT, NOTHING, ORIGIN, (void)0)
ACCESS(Accumulate, ps_call_9, (PLAIN, PS_W op, PS_W window), (PLAIN_ARGUMENTS, op, window), FIT, ORIGIN, NOTHING,
       (void)0)
ACCESS(Rput, ps_call_9, (PLAIN, PS_W window, PS_W request), (PLAIN_ARGUMENTS, window, request), FIT, ORIGIN,
       NOTHING, REQUESTED)
ACCESS(Rget, ps_call_9, (PLAIN, PS_W window, PS_W request), (PLAIN_ARGUMENTS, window, request), FIT, NOTHING,
       ORIGIN, REQUESTED)
ACCESS(Raccumulate, ps_call_10, (PLAIN, PS_W op, PS_W window, PS_W request), (PLAIN_ARGUMENTS, op, window, request),
       FIT, ORIGIN, NOTHING, REQUESTED)

#define FETCHING                                                                                                  \
    PS_W origin, PS_W origin_count, PS_W origin_type, PS_W fetched, PS_W result_count, PS_W result_type,          \
        PS_W rank, PS_W displacement, PS_W target_count, PS_W target_type, PS_W op, PS_W window
#define FETCHING_ARGUMENTS                                                                                        \
    origin, origin_count, origin_type, fetched, result_count, result_type, rank, displacement, target_count,      \
        target_type, op, window

ACCESS(Get_accumulate, ps_call_12, (FETCHING), (FETCHING_ARGUMENTS), FIT && ps_fits(real, result_count), COMBINED,
       RESULT, (void)0)
ACCESS(Rget_accumulate, ps_call_13, (FETCHING, PS_W request), (FETCHING_ARGUMENTS, request),
       FIT && ps_fits(real, result_count), COMBINED, RESULT, REQUESTED)

#define ONE ((elements){1, type})

PS_TIMED_INT(Fetch_and_op, ps_call_7,
             (PS_W origin, PS_W fetched, PS_W type, PS_W rank, PS_W displacement, PS_W op, PS_W window),
             (origin, fetched, type, rank, displacement, op, window),
             ps_window_call(PS_OP_MPI_Fetch_and_op, window), true,
             access_window(&call, real, rank, is_no_operation(op) ? NOTHING : ONE, ONE), (void)0)

PS_TIMED_INT(Compare_and_swap, ps_call_7,
             (PS_W origin, PS_W compared, PS_W fetched, PS_W type, PS_W rank, PS_W displacement, PS_W window),
             (origin, compared, fetched, type, rank, displacement, window),
             ps_window_call(PS_OP_MPI_Compare_and_swap, window), true,
             access_window(&call, real, rank, ONE, ONE), (void)0)
