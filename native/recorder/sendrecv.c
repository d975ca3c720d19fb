/* Combined sends and receives: peer and tag are those of the send, the bytes received are those of the status. */
#include "status.h"

typedef struct {
    ps_word buffer, count, type, peer, tag;
} message;

static ps_call exchange_call(uint16_t op, const ps_function *real, const message *out, ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)out->peer);
    call.tag = (int)out->tag;
    if (call.peer != PS_PEER_PROC_NULL)
        call.sent = ps_bytes(ps_count(real, out->count), out->type);
    return call;
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
        call = exchange_call(PS_OP_MPI_Sendrecv, real, out, comm);
        ps_call_begin(&call);
    }
    int result = PS_CALL(real, ps_call_12, out->buffer, out->count, out->type, out->peer, out->tag, in->buffer,
                         in->count, in->type, in->peer, in->tag, comm, seen);
    if (is_recorded) {
        call.received = result == 0 ? ps_status_bytes(seen) : 0;
        ps_call_end(&call);
    }
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
        call = exchange_call(PS_OP_MPI_Sendrecv_replace, real, out, comm);
        ps_call_begin(&call);
    }
    int result = PS_CALL(real, ps_call_9, out->buffer, out->count, out->type, out->peer, out->tag, source,
                         receive_tag, comm, seen);
    if (is_recorded) {
        call.received = result == 0 ? ps_status_bytes(seen) : 0;
        ps_call_end(&call);
    }
    return result;
}

#define TWO_MESSAGES                                                                                              \
    PS_W out_buffer, PS_W out_count, PS_W out_type, PS_W dest, PS_W out_tag, PS_W in_buffer, PS_W in_count,       \
        PS_W in_type, PS_W source, PS_W in_tag, PS_W comm, PS_W status

static int pack_sendrecv(ps_function *real, TWO_MESSAGES)
{
    message out = {out_buffer, out_count, out_type, dest, out_tag};
    message in = {in_buffer, in_count, in_type, source, in_tag};
    return do_sendrecv(real, &out, &in, comm, status);
}

PS_EXPORT int MPI_Sendrecv(TWO_MESSAGES)
{
    static ps_function real = PS_FUNCTION(MPI_Sendrecv);
    return pack_sendrecv(&real, out_buffer, out_count, out_type, dest, out_tag, in_buffer, in_count, in_type, source,
                         in_tag, comm, status);
}

PS_EXPORT int MPI_Sendrecv_c(TWO_MESSAGES)
{
    static ps_function real = PS_LARGE_FUNCTION(MPI_Sendrecv);
    return pack_sendrecv(&real, out_buffer, out_count, out_type, dest, out_tag, in_buffer, in_count, in_type, source,
                         in_tag, comm, status);
}

PS_EXPORT int MPI_Sendrecv_replace(PS_W buffer, PS_W count, PS_W type, PS_W dest, PS_W out_tag, PS_W source,
                                   PS_W in_tag, PS_W comm, PS_W status)
{
    static ps_function real = PS_FUNCTION(MPI_Sendrecv_replace);
    message out = {buffer, count, type, dest, out_tag};
    return do_replace(&real, &out, source, in_tag, comm, status);
}

PS_EXPORT int MPI_Sendrecv_replace_c(PS_W buffer, PS_W count, PS_W type, PS_W dest, PS_W out_tag, PS_W source,
                                     PS_W in_tag, PS_W comm, PS_W status)
{
    static ps_function real = PS_LARGE_FUNCTION(MPI_Sendrecv_replace);
    message out = {buffer, count, type, dest, out_tag};
    return do_replace(&real, &out, source, in_tag, comm, status);
}
