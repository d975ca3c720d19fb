/* Combined sends and receives: peer and tag are those of the send. Where the message received came from stands in the
 * fields that other messages leave empty: seq is its source, request its tag plus one. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"

typedef struct {
    ps_word buffer, count, type, peer, tag;
} message;

static uint64_t kept_tag(int32_t tag)
{
    return tag >= 0 ? (uint64_t)tag + 1 : 0;
}

static ps_call outgoing_call(uint16_t op, const ps_function *real, const message *out, ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)out->peer);
    call.tag = (int)out->tag;
    if (call.peer != PS_PEER_PROC_NULL)
        call.sent = ps_bytes(ps_count(real, out->count), out->type);
    return call;
}

static ps_call exchange_call(uint16_t op, const ps_function *real, const message *out, ps_word source,
                             ps_word receive_tag, ps_word comm)
{
    ps_call call = outgoing_call(op, real, out, comm);
    call.seq = (uint32_t)ps_peer(call.comm, (int)source);
    call.request = kept_tag(ps_tag(receive_tag));
    return call;
}

/* The source and tag that were asked for may have been wildcards: the status tells the true ones. */
static void end_exchange(ps_call *call, bool is_successful, ps_word status)
{
    PS_STORES;
    if (is_successful) {
        call->seq = (uint32_t)ps_peer(call->comm, ps_status_source(status));
        call->request = kept_tag(ps_status_tag(status));
        call->received = ps_status_bytes(status);
    }
    if (call->record)
        call->record->seq = call->seq;
    ps_call_end(call);
}

static int do_sendrecv(ps_function *real, const message *out, const message *in, ps_word comm, ps_word status)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, out->count) || !ps_fits(real, in->count))
        return ps_count_too_large();
    ps_own_status own;
    bool is_recorded = ps_is_recorded();
    ps_word seen = is_recorded ? ps_status_or_own(status, &own) : status;
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Sendrecv, NULL);
    if (is_recorded) {
        call = exchange_call(PS_OP_MPI_Sendrecv, real, out, in->peer, in->tag, comm);
        ps_call_begin(&call);
    }
    int result = PS_CALL(real, ps_call_12, out->buffer, out->count, out->type, out->peer, out->tag, in->buffer,
                         in->count, in->type, in->peer, in->tag, comm, seen);
    if (is_recorded)
        end_exchange(&call, result == 0, seen);
    return result;
}

static int do_replace(ps_function *real, const message *out, ps_word source, ps_word receive_tag, ps_word comm,
                      ps_word status)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, out->count))
        return ps_count_too_large();
    ps_own_status own;
    bool is_recorded = ps_is_recorded();
    ps_word seen = is_recorded ? ps_status_or_own(status, &own) : status;
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Sendrecv_replace, NULL);
    if (is_recorded) {
        call = exchange_call(PS_OP_MPI_Sendrecv_replace, real, out, source, receive_tag, comm);
        ps_call_begin(&call);
    }
    int result = PS_CALL(real, ps_call_9, out->buffer, out->count, out->type, out->peer, out->tag, source,
                         receive_tag, comm, seen);
    if (is_recorded)
        end_exchange(&call, result == 0, seen);
    return result;
}

#define TWO_MESSAGES                                                                                              \
    PS_W out_buffer, PS_W out_count, PS_W out_type, PS_W dest, PS_W out_tag, PS_W in_buffer, PS_W in_count,       \
        PS_W in_type, PS_W source, PS_W in_tag, PS_W comm

#define OUT (&(message){out_buffer, out_count, out_type, dest, out_tag})
#define IN (&(message){in_buffer, in_count, in_type, source, in_tag})

PS_BOTH(Sendrecv, (TWO_MESSAGES, PS_W status), do_sendrecv(real, OUT, IN, comm, status))

#define REPLACE                                                                                                   \
    PS_W buffer, PS_W count, PS_W type, PS_W dest, PS_W out_tag, PS_W source, PS_W in_tag, PS_W comm
#define REPLACED (&(message){buffer, count, type, dest, out_tag})

PS_BOTH(Sendrecv_replace, (REPLACE, PS_W status), do_replace(real, REPLACED, source, in_tag, comm, status))

/* A nonblocking one tells nothing of its source: the request and its completion have their own use of the fields. */
static int do_isendrecv(ps_function *real, const message *out, const message *in, ps_word comm, ps_word request)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, out->count) || !ps_fits(real, in->count))
        return ps_count_too_large();
    bool is_recorded = ps_is_recorded();
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Isendrecv, NULL);
    if (is_recorded) {
        call = outgoing_call(PS_OP_MPI_Isendrecv, real, out, comm);
        ps_call_begin(&call);
    }
    int result = PS_CALL(real, ps_call_12, out->buffer, out->count, out->type, out->peer, out->tag, in->buffer,
                         in->count, in->type, in->peer, in->tag, comm, request);
    if (is_recorded) {
        if (result == 0)
            ps_request_created(&call, request, &(ps_pending){.is_exchange = true});
        ps_call_end(&call);
    }
    return result;
}

PS_BOTH(Isendrecv, (TWO_MESSAGES, PS_W request), do_isendrecv(real, OUT, IN, comm, request))

PS_TIMED(Isendrecv_replace, ps_call_9, (REPLACE, PS_W request),
         (buffer, count, type, dest, out_tag, source, in_tag, comm, request),
         outgoing_call(PS_OP_MPI_Isendrecv_replace, real, REPLACED, comm), ps_fits(real, count), (void)0,
         (result == 0 ? ps_request_created(&call, request, &(ps_pending){.is_exchange = true}) : (void)0))
