#include "mpi/call.h"

#include "records/cells.h"
#include "records/claim.h"
#include "records/work_clock.h"

/* Between two unsuccessful tests that count as one stretch of polling. A program that works longer than this between
 * its tests is not waiting, and its work must not be swallowed. */
#define POLL_GAP_NS 100000u

void ps_call_count(const ps_call *call)
{
    ps_total one = {.count = 1, .ns = call->t1_ns - call->t0_ns, .sent = call->sent, .received = call->received};
    ps_totals_add(call->op, ps_comm_index(call->comm), &one);
}

static void fill(ps_record *record, const ps_call *call)
{
    record->op = call->op;
    record->tid = ps_tid();
    record->comm = ps_comm_index(call->comm);
    record->seq = call->seq;
    record->peer = call->peer;
    record->tag = call->tag;
    record->sent = call->sent;
    record->received = call->received;
    record->request = call->request;
    record->t0_ns = call->t0_ns;
}

void ps_call_begin(ps_call *call)
{
    PS_STORES;
    call->record = ps_claim(PS_DETAIL);
    ps_self.depth++;
    call->t0_ns = ps_monotonic();
    if (call->record) {
        fill(call->record, call);
        ps_publish(call->record, PS_KIND_OPERATION);
    }
    ps_work_clock(call->t0_ns);
}

void ps_call_end(ps_call *call)
{
    PS_STORES;
    call->t1_ns = ps_monotonic();
    if (PS_UNLIKELY(!ps_recorder.header))
        return; /* forked inside the call */
    ps_self.depth--;
    ps_record *record = call->record;
    if (record) {
        record->peer = call->peer;
        record->tag = call->tag;
        record->received = call->received;
        record->request = call->request;
        __atomic_store_n(&record->t1_ns, call->t1_ns, __ATOMIC_RELEASE);
    }
    ps_call_count(call);
    ps_work_clock(call->t1_ns);
}

void ps_call_write(ps_call *call)
{
    PS_STORES;
    call->record = ps_claim(PS_DETAIL);
    if (call->record) {
        fill(call->record, call);
        call->record->t1_ns = call->t1_ns;
        ps_publish(call->record, PS_KIND_OPERATION);
    }
    ps_call_count(call);
}

void ps_call_polled(ps_call *call)
{
    PS_STORES;
    ps_record *poll = ps_self.poll;
    if (poll && poll->op == call->op && poll->comm == ps_comm_index(call->comm) &&
        call->t0_ns - poll->t1_ns <= POLL_GAP_NS) {
        poll->request++;
        __atomic_store_n(&poll->t1_ns, call->t1_ns, __ATOMIC_RELEASE);
        ps_call_count(call);
        return;
    }
    call->request = 1;
    ps_call_write(call);
    ps_self.poll = call->record;
}
