/* Testing requests. A test that finds nothing completed joins the unsuccessful tests just before it, so that a
 * polling loop is one record. A test returns at once: its record is written when it is over. */
#include "mpi/request_set.h"

static ps_call begin_test(uint16_t op, uint64_t requests)
{
    ps_call call = PS_NEW_CALL(op, NULL);
    call.request = requests;
    ps_self.depth++;
    call.t0_ns = ps_monotonic();
    return call;
}

static void end_test(ps_call *call, bool is_successful)
{
    call->t1_ns = ps_monotonic();
    ps_self.depth--;
    if (is_successful)
        ps_call_write(call);
    else
        ps_call_polled(call);
}

PS_EXPORT int MPI_Test(ps_word request, ps_word flag, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Test);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, 1, request, status, 1))
        return PS_CALL(&real, ps_call_3, request, flag, status);
    ps_call call = begin_test(PS_OP_MPI_Test, 0);
    int result = PS_CALL(&real, ps_call_3, request, flag, set.statuses);
    bool is_completed = result == 0 && *(const int *)flag && set.handles[0] != ps_abi.request_null;
    end_test(&call, is_completed);
    if (is_completed)
        ps_set_completed(&set, 0, 0, call.t1_ns);
    ps_set_close(&set);
    return result;
}

PS_EXPORT int MPI_Testall(ps_word count, ps_word requests, ps_word flag, ps_word statuses)
{
    static ps_function real = PS_FUNCTION(MPI_Testall);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, statuses, (uint64_t)(int)count))
        return PS_CALL(&real, ps_call_4, count, requests, flag, statuses);
    ps_call call = begin_test(PS_OP_MPI_Testall, set.count);
    int result = PS_CALL(&real, ps_call_4, count, requests, flag, set.statuses);
    bool is_completed = result == 0 && *(const int *)flag;
    end_test(&call, is_completed);
    if (is_completed || result != 0)
        ps_set_all_completed(&set, result, call.t1_ns);
    ps_set_close(&set);
    return result;
}

PS_EXPORT int MPI_Testany(ps_word count, ps_word requests, ps_word index, ps_word flag, ps_word status)
{
    static ps_function real = PS_FUNCTION(MPI_Testany);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, status, 1))
        return PS_CALL(&real, ps_call_5, count, requests, index, flag, status);
    ps_call call = begin_test(PS_OP_MPI_Testany, set.count);
    int result = PS_CALL(&real, ps_call_5, count, requests, index, flag, set.statuses);
    bool is_completed = result == 0 && *(const int *)flag && *(const int *)index >= 0;
    end_test(&call, is_completed);
    if (is_completed)
        ps_set_completed(&set, (uint64_t)*(const int *)index, 0, call.t1_ns);
    ps_set_close(&set);
    return result;
}

PS_EXPORT int MPI_Testsome(ps_word count, ps_word requests, ps_word completed_count, ps_word indices,
                           ps_word statuses)
{
    static ps_function real = PS_FUNCTION(MPI_Testsome);
    ps_request_set set;
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded() || !ps_set_open(&set, (int)count, requests, statuses, (uint64_t)(int)count))
        return PS_CALL(&real, ps_call_5, count, requests, completed_count, indices, statuses);
    ps_call call = begin_test(PS_OP_MPI_Testsome, set.count);
    int result = PS_CALL(&real, ps_call_5, count, requests, completed_count, indices, set.statuses);
    int completed = result == 0 ? *(const int *)completed_count : 0;
    end_test(&call, completed > 0);
    for (int i = 0; i < completed; i++)
        ps_set_completed(&set, (uint64_t)((const int *)indices)[i], (uint64_t)i, call.t1_ns);
    ps_set_close(&set);
    return result;
}
