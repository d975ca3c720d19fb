/* Persistent messages. Their set-up is a call of its own that moves nothing; every start is a new request, recorded
 * as a nonblocking send or receive. What was set up is remembered until MPI_Request_free.
 *
 * MPI_Startall is one call; each message that it starts is a record without length at the call's begin. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"

static int do_init(ps_function *real, uint16_t op, uint16_t started_as, ps_word buffer, ps_word count, ps_word type,
                   ps_word peer, ps_word tag, ps_word comm, ps_word request)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, count))
        return ps_count_too_large();
    if (!ps_is_recorded())
        return PS_CALL(real, ps_call_7, buffer, count, type, peer, tag, comm, request);
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)peer);
    call.tag = ps_tag(tag);
    ps_pending pending = {.op = started_as, .comm = call.comm, .seq = PS_NO_INDEX, .peer = call.peer,
                          .tag = call.tag, .is_receive = started_as == PS_OP_MPI_Start_recv};
    if (!pending.is_receive && call.peer != PS_PEER_PROC_NULL)
        pending.sent = ps_bytes(ps_count(real, count), type);
    ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_7, buffer, count, type, peer, tag, comm, request);
    if (result == 0)
        ps_map_replace(&ps_persistent, ps_handle_at(request, 0), &pending);
    ps_call_end(&call);
    return result;
}

#define INIT(NAME, STARTED_AS)                                                                                    \
    PS_BOTH(NAME, (PS_W buffer, PS_W count, PS_W type, PS_W peer, PS_W tag, PS_W comm, PS_W request),             \
            do_init(real, PS_OP_MPI_##NAME, STARTED_AS, buffer, count, type, peer, tag, comm, request))

INIT(Send_init, PS_OP_MPI_Start_send)
INIT(Bsend_init, PS_OP_MPI_Start_send)
INIT(Ssend_init, PS_OP_MPI_Start_send)
INIT(Rsend_init, PS_OP_MPI_Start_send)
INIT(Recv_init, PS_OP_MPI_Start_recv)

/* What a start of the handle begins. A handle that was set up unseen (persistent collectives, partitioned messages)
 * is a start of which no more is known. */
static ps_call started(ps_word handle, ps_pending *details)
{
    if (!ps_map_find(&ps_persistent, handle, details))
        *details = (ps_pending){.op = PS_OP_MPI_Start, .seq = PS_NO_INDEX, .peer = PS_PEER_NONE, .tag = -1};
    ps_call call = PS_NEW_CALL(details->op, details->comm);
    call.peer = details->peer;
    call.tag = details->tag;
    call.sent = details->sent;
    return call;
}

PS_EXPORT int MPI_Start(ps_word request)
{
    static ps_function real = PS_FUNCTION(MPI_Start);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_1, request);
    ps_pending details;
    ps_word handle = ps_handle_at(request, 0);
    ps_call call = started(handle, &details);
    /* Before the library starts it: another thread may complete the request at once. */
    ps_map_drop(&ps_requests, handle);
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_1, request);
    if (result == 0)
        ps_request_created(&call, request, &details);
    ps_call_end(&call);
    return result;
}

static void record_start(ps_word requests, int index, uint64_t now_ns)
{
    ps_pending details;
    ps_word pointer = requests + (ps_word)index * ps_abi.handle_bytes;
    ps_word handle = ps_handle_at(pointer, 0);
    ps_call call = started(handle, &details);
    call.t0_ns = call.t1_ns = now_ns;
    PS_STORES;
    ps_map_drop(&ps_requests, handle);
    ps_call_write(&call);
    ps_request_created(&call, pointer, &details);
    if (call.record)
        call.record->request = call.request;
}

PS_EXPORT int MPI_Startall(ps_word count, ps_word requests)
{
    static ps_function real = PS_FUNCTION(MPI_Startall);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_2, count, requests);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Startall, NULL);
    call.request = ps_count(&real, count);
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_2, count, requests);
    ps_call_end(&call);
    for (int i = 0; result == 0 && i < (int)count; i++)
        record_start(requests, i, call.t0_ns);
    return result;
}
