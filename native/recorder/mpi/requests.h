/* Requests from their creation to their completion. */
#ifndef PERFSCOPE_REQUESTS_H
#define PERFSCOPE_REQUESTS_H

#include "mpi/status.h"

/* Gives a nonblocking call's new request an id. Before ps_call_end. `details` may be NULL. */
void ps_request_created(ps_call *call, ps_word request_pointer, const ps_pending *details);
/* Records a completion at `now_ns`; status 0 when none is known. What may have failed has made no communicator: the
 * handle that it left behind need not be one. */
void ps_request_completed(const ps_pending *pending, ps_word status, int result, uint64_t now_ns);

#endif
