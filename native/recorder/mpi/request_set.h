/* The requests that one wait or test call is about. */
#ifndef PERFSCOPE_REQUEST_SET_H
#define PERFSCOPE_REQUEST_SET_H

#include "mpi/requests.h"

#define PS_SET_INLINE 32u

typedef struct {
    ps_word requests;   /* the program's array */
    ps_word statuses;   /* what the library fills: the program's array or ours */
    uint64_t count;
    ps_word *handles;   /* as they were before the call, which overwrites completed ones */
    void *heap;
    ps_word inline_handles[PS_SET_INLINE];
    ps_own_status inline_statuses[PS_SET_INLINE];
} ps_request_set;

/* Remembers the handles; `statuses` is for `status_count` of them. False without memory. */
bool ps_set_open(ps_request_set *set, int count, ps_word requests, ps_word statuses, uint64_t status_count);
/* Records that request `index` completed, with the status at `status_index`. */
void ps_set_completed(ps_request_set *set, uint64_t index, uint64_t status_index, uint64_t now_ns);
/* Records all requests that the call completed; after an error those whose handle it cleared. */
void ps_set_all_completed(ps_request_set *set, int result, uint64_t now_ns);
void ps_set_close(ps_request_set *set);

#endif
