/* Point-to-point messages. Calls made from Fortran reach these functions only where the MPI library's Fortran binding
 * goes through its C functions; the Fortran symbols themselves are not wrapped. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"

static ps_call send_call(uint16_t op, const ps_function *real, ps_word count, ps_word type, ps_word dest, ps_word tag,
                         ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)dest);
    call.tag = ps_tag(tag);
    if (call.peer != PS_PEER_PROC_NULL)
        call.sent = ps_bytes(ps_count(real, count), type);
    return call;
}

static int do_send(ps_function *real, uint16_t op, ps_word buffer, ps_word count, ps_word type, ps_word dest,
                   ps_word tag, ps_word comm)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, count))
        return ps_count_too_large();
    if (!ps_is_recorded())
        return PS_CALL(real, ps_call_6, buffer, count, type, dest, tag, comm);
    ps_call call = send_call(op, real, count, type, dest, tag, comm);
    ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_6, buffer, count, type, dest, tag, comm);
    ps_call_end(&call);
    return result;
}

static ps_call receive_call(uint16_t op, ps_word source, ps_word tag, ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.peer = ps_peer(call.comm, (int)source);
    call.tag = ps_tag(tag);
    return call;
}

static int do_recv(ps_function *real, uint16_t op, ps_word buffer, ps_word count, ps_word type, ps_word source,
                   ps_word tag, ps_word comm, ps_word status)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, count))
        return ps_count_too_large();
    if (!ps_is_recorded())
        return PS_CALL(real, ps_call_7, buffer, count, type, source, tag, comm, status);
    ps_own_status own;
    ps_word seen = ps_status_or_own(status, &own);
    ps_call call = receive_call(op, source, tag, comm);
    ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_7, buffer, count, type, source, tag, comm, seen);
    if (result == 0)
        ps_call_received(&call, seen);
    ps_call_end(&call);
    return result;
}

static int do_nonblocking(ps_function *real, uint16_t op, ps_word buffer, ps_word count, ps_word type, ps_word peer,
                          ps_word tag, ps_word comm, ps_word request)
{
    if (!ps_ready(real))
        return ps_missing_function();
    if (!ps_fits(real, count))
        return ps_count_too_large();
    if (!ps_is_recorded())
        return PS_CALL(real, ps_call_7, buffer, count, type, peer, tag, comm, request);
    bool is_receive = op == PS_OP_MPI_Irecv;
    ps_call call = is_receive ? receive_call(op, peer, tag, comm) : send_call(op, real, count, type, peer, tag, comm);
    ps_call_begin(&call);
    int result = PS_CALL(real, ps_call_7, buffer, count, type, peer, tag, comm, request);
    if (result == 0)
        ps_request_created(&call, request, &(ps_pending){.is_receive = is_receive});
    ps_call_end(&call);
    return result;
}

#define SEND(NAME)                                                                                                \
    PS_BOTH(NAME, (PS_W buffer, PS_W count, PS_W type, PS_W dest, PS_W tag, PS_W comm),                           \
            do_send(real, PS_OP_MPI_##NAME, buffer, count, type, dest, tag, comm))

#define SEVEN(NAME, FAMILY)                                                                                       \
    PS_BOTH(NAME, (PS_W buffer, PS_W count, PS_W type, PS_W peer, PS_W tag, PS_W comm, PS_W last),                \
            FAMILY(real, PS_OP_MPI_##NAME, buffer, count, type, peer, tag, comm, last))

SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
SEVEN(Recv, do_recv)
SEVEN(Isend, do_nonblocking)
SEVEN(Ibsend, do_nonblocking)
SEVEN(Issend, do_nonblocking)
SEVEN(Irsend, do_nonblocking)
SEVEN(Irecv, do_nonblocking)
