/* Probes, and receives of the messages that a probe matched. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"

static ps_call probe_call(uint16_t op, ps_word source, ps_word tag, ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)source);
    call.tag = ps_tag(tag);
    return call;
}

static void take_origin(ps_call *call, ps_word status)
{
    call->peer = ps_peer(call->comm, ps_status_source(status));
    call->tag = ps_status_tag(status);
}

/* A matched message does not name its communicator: it is remembered for the receive. */
static void remember_message(const ps_call *call, ps_word message)
{
    ps_word handle = ps_handle_at(message, 0);
    if (handle != ps_abi.message_null && handle != ps_abi.message_no_proc)
        ps_map_replace(&ps_messages, handle, &(ps_pending){.comm = call->comm});
}

static ps_comm *recall_message(ps_word message)
{
    ps_pending pending;
    return ps_map_take(&ps_messages, ps_handle_at(message, 0), &pending) ? pending.comm : NULL;
}

PS_EXPORT int MPI_Probe(ps_word source, ps_word tag, ps_word comm, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Probe);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_4, source, tag, comm, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = probe_call(PS_OP_MPI_Probe, source, tag, comm);
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_4, source, tag, comm, seen);
    if (result == 0)
        take_origin(&call, seen);
    ps_call_end(&call);
    return result;
}

PS_EXPORT int MPI_Mprobe(ps_word source, ps_word tag, ps_word comm, ps_word message, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Mprobe);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_5, source, tag, comm, message, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = probe_call(PS_OP_MPI_Mprobe, source, tag, comm);
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_5, source, tag, comm, message, seen);
    if (result == 0) {
        take_origin(&call, seen);
        remember_message(&call, message);
    }
    ps_call_end(&call);
    return result;
}

static void end_probe(ps_call *call, bool is_found, ps_word status)
{
    call->t1_ns = ps_monotonic();
    ps_self.depth--;
    if (is_found) {
        take_origin(call, status);
        ps_call_write(call);
    } else {
        ps_call_polled(call);
    }
}

PS_EXPORT int MPI_Iprobe(ps_word source, ps_word tag, ps_word comm, ps_word flag, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Iprobe);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_5, source, tag, comm, flag, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = probe_call(PS_OP_MPI_Iprobe, source, tag, comm);
    ps_self.depth++;
    call.t0_ns = ps_monotonic();
    int result = PS_CALL(&real, ps_call_5, source, tag, comm, flag, seen);
    end_probe(&call, result == 0 && *(const int *)flag, seen);
    return result;
}

PS_EXPORT int MPI_Improbe(ps_word source, ps_word tag, ps_word comm, ps_word flag, ps_word message, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Improbe);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_6, source, tag, comm, flag, message, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = probe_call(PS_OP_MPI_Improbe, source, tag, comm);
    ps_self.depth++;
    call.t0_ns = ps_monotonic();
    int result = PS_CALL(&real, ps_call_6, source, tag, comm, flag, message, seen);
    bool is_found = result == 0 && *(const int *)flag;
    if (is_found)
        remember_message(&call, message);
    end_probe(&call, is_found, seen);
    return result;
}

static int do_mrecv(ps_function *real, ps_word buffer, ps_word count, ps_word type, ps_word message, ps_word status)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, count))
        return ps_count_too_large();
    if (!ps_is_recorded())
        return PS_CALL(real, ps_call_5, buffer, count, type, message, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Mrecv, recall_message(message));
    call.peer = PS_PEER_UNKNOWN;
    ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_5, buffer, count, type, message, seen);
    if (result == 0)
        ps_call_received(&call, seen);
    ps_call_end(&call);
    return result;
}

PS_BOTH(Mrecv, (PS_W buffer, PS_W count, PS_W type, PS_W message, PS_W status),
        do_mrecv(real, buffer, count, type, message, status))

PS_TIMED(Imrecv, ps_call_5, (PS_W buffer, PS_W count, PS_W type, PS_W message, PS_W request),
         (buffer, count, type, message, request),
         ((ps_call)PS_NEW_CALL(PS_OP_MPI_Imrecv, recall_message(message))), ps_fits(real, count),
         call.peer = PS_PEER_UNKNOWN,
         (result == 0 ? ps_request_created(&call, request, &(ps_pending){.is_receive = true}) : (void)0))
