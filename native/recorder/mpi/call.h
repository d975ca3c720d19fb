/* One recorded call of an MPI function. */
#ifndef PERFSCOPE_CALL_H
#define PERFSCOPE_CALL_H

#include "mpi/communicator.h"
#include "mpi/datatype.h"
#include "mpi/handle_map.h"
#include "operations.h"
#include "records/buffer.h"

typedef struct {
    ps_record *record; /* NULL when there was no room: the totals still count it */
    ps_comm *comm;
    uint64_t t0_ns, t1_ns;
    uint64_t sent, received, request;
    uint32_t seq;
    int32_t peer, tag;
    uint16_t op;
} ps_call;

/* A call on a communicator, without a peer, a tag or an ordinal. */
#define PS_NEW_CALL(operation, communicator)                                                                      \
    {.op = (operation), .comm = (communicator), .seq = PS_NO_INDEX, .peer = PS_PEER_NONE, .tag = -1}

/* Whether a call made now is the program's own and is to be recorded. */
static inline bool ps_is_recorded(void)
{
    return atomic_load_explicit(&ps_recorder.is_mpi_recorded, memory_order_relaxed) && ps_self.depth == 0;
}

/* Whether handles are followed: also in calls made inside another one, as the program's callbacks make them. */
static inline bool ps_is_following(void)
{
    return atomic_load_explicit(&ps_recorder.is_mpi_recorded, memory_order_relaxed);
}

/* Writes the record of the call, open, so that a killed rank shows where it was. */
void ps_call_begin(ps_call *call);
/* Closes the record with what is known now and adds the call to the totals. */
void ps_call_end(ps_call *call);
/* An unsuccessful test or probe: joins the one just before it, else is a record of its own. */
void ps_call_polled(ps_call *call);
/* Writes the record of a call that is already over. */
void ps_call_write(ps_call *call);
/* Adds a call that is over to the totals, without a record. */
void ps_call_count(const ps_call *call);

#endif
