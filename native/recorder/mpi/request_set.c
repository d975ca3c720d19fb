#include "mpi/request_set.h"

#include <stdlib.h>

bool ps_set_open(ps_request_set *set, int count, ps_word requests, ps_word statuses, uint64_t status_count)
{
    set->requests = requests;
    set->count = count > 0 ? (uint64_t)count : 0;
    set->handles = set->inline_handles;
    set->heap = NULL;
    ps_own_status *own = set->inline_statuses;
    if (set->count > PS_SET_INLINE) {
        uint64_t own_count = statuses <= PS_IGNORE_HIGHEST ? status_count : 0;
        set->heap = malloc(own_count * sizeof *own + set->count * sizeof *set->handles);
        if (!set->heap)
            return false;
        own = set->heap;
        set->handles = (ps_word *)(own + own_count);
    }
    set->statuses = ps_status_or_own(statuses, own);
    for (uint64_t i = 0; i < set->count; i++)
        set->handles[i] = ps_handle_at(requests, i);
    return true;
}

static void complete(ps_request_set *set, uint64_t index, uint64_t status_index, int result, uint64_t now_ns)
{
    ps_pending pending;
    if (index < set->count && ps_map_take(&ps_requests, set->handles[index], &pending))
        ps_request_completed(&pending, set->statuses + status_index * ps_abi.status_bytes, result, now_ns);
}

void ps_set_completed(ps_request_set *set, uint64_t index, uint64_t status_index, uint64_t now_ns)
{
    complete(set, index, status_index, 0, now_ns);
}

void ps_set_all_completed(ps_request_set *set, int result, uint64_t now_ns)
{
    for (uint64_t i = 0; i < set->count; i++)
        if (set->handles[i] != ps_abi.request_null &&
            (result == 0 || ps_handle_at(set->requests, i) == ps_abi.request_null))
            complete(set, i, i, result, now_ns);
}

void ps_set_close(ps_request_set *set)
{
    free(set->heap);
}
