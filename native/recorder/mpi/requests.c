#include "mpi/requests.h"

#include <stdlib.h>

#include "records/cells.h"
#include "records/claim.h"

static _Atomic uint64_t ids;
static atomic_bool may_create; /* some request of this process makes a communicator */

/* Such a request is never one of those that share a handle. One that is still known when its handle is given again was
 * completed unseen, and where it was to leave its communicator there may be no memory any more. */
static void forget_creations(ps_word handle)
{
    ps_pending stale;
    if (!atomic_load_explicit(&may_create, memory_order_relaxed))
        return;
    while (ps_map_find(&ps_requests, handle, &stale) && stale.new_comm)
        ps_map_take(&ps_requests, handle, &stale);
}

void ps_request_created(ps_call *call, ps_word request_pointer, const ps_pending *details)
{
    ps_word handle = ps_handle_at(request_pointer, 0);
    ps_pending pending = details ? *details : (ps_pending){0};
    pending.id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
    pending.comm = call->comm;
    pending.record = call->record;
    pending.op = call->op;
    pending.seq = call->seq;
    pending.peer = call->peer;
    pending.tag = call->tag;
    pending.sent = call->sent;
    pending.received = call->received;
    call->request = pending.id;
    /* A request that cannot be kept has no completion, and what it owns is in use until then. */
    if (handle != ps_abi.request_null) {
        forget_creations(handle);
        if (pending.new_comm)
            atomic_store(&may_create, true);
        ps_map_put(&ps_requests, handle, &pending);
    } else {
        free(pending.owned);
    }
}

static bool was_cancelled(const ps_pending *pending, ps_word status)
{
    static ps_function test_cancelled = PS_FUNCTION(PMPI_Test_cancelled);
    int flag = 0;
    return pending->is_cancelled && status && ps_ready(&test_cancelled) &&
           PS_CALL(&test_cancelled, ps_call_2, status, (ps_word)&flag) == 0 && flag;
}

/* The record of the call that began it, unless that was thinned away and its slot holds another one. */
static ps_record *own_record(const ps_pending *pending)
{
    ps_record *record = pending->record;
    bool is_there = record && record->request == pending->id &&
                    __atomic_load_n(&record->kind, __ATOMIC_ACQUIRE) == PS_KIND_OPERATION;
    return is_there ? record : NULL;
}

static void count_received(const ps_pending *pending)
{
    ps_total bytes = {.received = pending->received};
    ps_totals_add(pending->op, ps_comm_index(pending->comm), &bytes);
}

/* The receive's own record learns its source and size too. Of a persistent one from nobody MPICH tells an empty status,
 * whose source is anybody. */
static void complete_receive(ps_pending *pending, ps_word status)
{
    if (pending->peer != PS_PEER_PROC_NULL)
        pending->peer = ps_peer(pending->comm, ps_status_source(status));
    pending->tag = ps_status_tag(status);
    pending->received = ps_status_bytes(status);
    count_received(pending);
    ps_record *record = own_record(pending);
    if (record) {
        record->peer = pending->peer;
        record->tag = pending->tag;
        record->received = pending->received;
    }
}

/* Peer and tag stay those of the send. */
static void complete_exchange(ps_pending *pending, ps_word status)
{
    pending->received = ps_status_bytes(status);
    count_received(pending);
    ps_record *record = own_record(pending);
    if (record)
        record->received = pending->received;
}

void ps_request_completed(const ps_pending *known, ps_word status, int result, uint64_t now_ns)
{
    PS_STORES;
    ps_pending pending = *known;
    free(pending.owned);
    if (pending.new_comm && result == 0)
        ps_comm_created(ps_handle_at(pending.new_comm, 0), pending.comm, pending.ordinal);
    if (was_cancelled(&pending, status))
        pending.sent = pending.received = 0;
    else if (pending.is_receive && status)
        complete_receive(&pending, status);
    else if (pending.is_exchange && status)
        complete_exchange(&pending, status);
    ps_record *record = ps_claim(PS_DETAIL);
    if (!record)
        return;
    record->t0_ns = record->t1_ns = now_ns;
    record->op = pending.op;
    record->tid = ps_tid();
    record->comm = ps_comm_index(pending.comm);
    record->seq = pending.seq;
    record->peer = pending.peer;
    record->tag = pending.tag;
    record->sent = pending.sent;
    record->received = pending.received;
    record->request = pending.id;
    ps_publish(record, PS_KIND_COMPLETION);
}

/* Freed or cancelled requests: a freed one has no completion that the program sees. */
PS_EXPORT int MPI_Request_free(ps_word request)
{
    static ps_function real = PS_FUNCTION(MPI_Request_free);
    ps_pending pending;
    if (!ps_ready(&real))
        return ps_missing_function();
    /* Memory that the operation still uses (`owned`) has no safe moment to be released. */
    if (ps_is_recorded())
        ps_map_take(&ps_requests, ps_handle_at(request, 0), &pending);
    if (ps_is_following())
        ps_map_drop(&ps_persistent, ps_handle_at(request, 0));
    return PS_CALL(&real, ps_call_1, request);
}

PS_EXPORT int MPI_Cancel(ps_word request)
{
    static ps_function real = PS_FUNCTION(MPI_Cancel);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (ps_is_recorded())
        ps_map_mark_cancelled(&ps_requests, ps_handle_at(request, 0));
    return PS_CALL(&real, ps_call_1, request);
}
