/* Waiting for requests. */
#include "mpi/request_set.h"

PS_EXPORT int MPI_Wait(ps_word request, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Wait);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_2, request, status);
    ps_own_status own;
    ps_pending pending;
    ps_word seen = ps_status_or_own(status, &own);
    ps_word handle = ps_handle_at(request, 0);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Wait, NULL);
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_2, request, seen);
    bool is_over = result == 0 || ps_handle_at(request, 0) == ps_abi.request_null;
    bool is_known = is_over && ps_map_take(&ps_requests, handle, &pending);
    if (is_known)
        call.request = pending.id;
    ps_call_end(&call);
    if (is_known)
        ps_request_completed(&pending, result == 0 ? seen : 0, result, call.t1_ns);
    return result;
}

PS_EXPORT int MPI_Waitall(ps_word count, ps_word requests, ps_word statuses)
{
    static ps_function real = PS_FUNCTION(MPI_Waitall);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, statuses, (uint64_t)(int)count))
        return PS_CALL(&real, ps_call_3, count, requests, statuses);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Waitall, NULL);
    call.request = set.count;
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_3, count, requests, set.statuses);
    ps_call_end(&call);
    ps_set_all_completed(&set, result, call.t1_ns);
    ps_set_close(&set);
    return result;
}

PS_EXPORT int MPI_Waitany(ps_word count, ps_word requests, ps_word index, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Waitany);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, status, 1))
        return PS_CALL(&real, ps_call_4, count, requests, index, status);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Waitany, NULL);
    call.request = set.count;
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_4, count, requests, index, set.statuses);
    ps_call_end(&call);
    int completed = *(const int *)index;
    if (result == 0 && completed >= 0)
        ps_set_completed(&set, (uint64_t)completed, 0, call.t1_ns);
    ps_set_close(&set);
    return result;
}

PS_EXPORT int MPI_Waitsome(ps_word count, ps_word requests, ps_word completed_count, ps_word indices,
                           ps_word statuses)
{
    static ps_function real = PS_FUNCTION(MPI_Waitsome);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, statuses, (uint64_t)(int)count))
        return PS_CALL(&real, ps_call_5, count, requests, completed_count, indices, statuses);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Waitsome, NULL);
    call.request = set.count;
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_5, count, requests, completed_count, indices, set.statuses);
    ps_call_end(&call);
    int completed = result == 0 ? *(const int *)completed_count : 0;
    for (int i = 0; i < completed; i++)
        ps_set_completed(&set, (uint64_t)((const int *)indices)[i], (uint64_t)i, call.t1_ns);
    ps_set_close(&set);
    return result;
}
