/* A status of our own where the program wants none: it tells source and bytes of a receive from any source. */
#ifndef PERFSCOPE_STATUS_H
#define PERFSCOPE_STATUS_H

#include "mpi/call.h"

#define PS_MAX_STATUS_BYTES 32
#define PS_IGNORE_HIGHEST 1 /* STATUS_IGNORE is 0 or 1, by ABI */

typedef struct {
    _Alignas(16) char bytes[PS_MAX_STATUS_BYTES];
} ps_own_status;

static inline ps_word ps_status_or_own(ps_word status, ps_own_status *own)
{
    return status <= PS_IGNORE_HIGHEST ? (ps_word)own : status;
}

/* Takes over what a successful receive's status says. */
static inline void ps_call_received(ps_call *call, ps_word status)
{
    call->peer = ps_peer(call->comm, ps_status_source(status));
    call->tag = ps_status_tag(status);
    call->received = ps_status_bytes(status);
}

static inline int32_t ps_tag(ps_word tag)
{
    return (int)tag == ps_abi.any_tag ? -1 : (int)tag;
}

#endif
