/* Creation and synchronization of windows. */
#include "mpi/windows.h"

#include "mpi/timed_forms.h"

ps_call ps_window_call(uint16_t op, ps_word window)
{
    ps_pending known = {0};
    ps_map_find(&ps_windows, ps_handle(window), &known);
    return (ps_call)PS_NEW_CALL(op, known.comm);
}

static void remember(const ps_call *call, ps_word window)
{
    ps_map_replace(&ps_windows, ps_handle_at(window, 0), &(ps_pending){.comm = call->comm});
}

#define MADE (result == 0 ? remember(&call, window) : (void)0)
#define MAKING(NAME) ((ps_call)PS_NEW_CALL(PS_OP_MPI_##NAME, ps_comm_of(comm)))
#define MAKE(NAME, ...)                                                                                           \
    PS_TIMED(NAME, ps_call_6, __VA_ARGS__, MAKING(NAME), ps_fits(real, unit), (void)0, MADE)

MAKE(Win_create, (PS_W base, PS_W size, PS_W unit, PS_W info, PS_W comm, PS_W window),
     (base, size, unit, info, comm, window))
MAKE(Win_allocate, (PS_W size, PS_W unit, PS_W info, PS_W comm, PS_W base, PS_W window),
     (size, unit, info, comm, base, window))
MAKE(Win_allocate_shared, (PS_W size, PS_W unit, PS_W info, PS_W comm, PS_W base, PS_W window),
     (size, unit, info, comm, base, window))
PS_TIMED_INT(Win_create_dynamic, ps_call_3, (PS_W info, PS_W comm, PS_W window), (info, comm, window),
             MAKING(Win_create_dynamic), true, (void)0, MADE)

PS_EXPORT int MPI_Win_free(ps_word window)
{
    static ps_function real = PS_FUNCTION(MPI_Win_free);
    if (!ps_ready(&real))
        return ps_missing_function();
    ps_word handle = ps_handle_at(window, 0);
    ps_call call = ps_window_call(PS_OP_MPI_Win_free, handle);
    bool is_recorded = ps_is_recorded();
    if (is_recorded)
        ps_call_begin(&call);
    /* Before the library frees it: the handle may then be given to another window at once. */
    if (ps_is_following())
        ps_map_drop(&ps_windows, handle);
    int result = PS_CALL(&real, ps_call_1, window);
    if (is_recorded)
        ps_call_end(&call);
    return result;
}

#define SYNCHRONIZE(NAME, TYPE, PARAMETERS, ARGUMENTS, PEER)                                                      \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_window_call(PS_OP_MPI_##NAME, window), true, PEER, (void)0)
#define ONE_RANK call.peer = ps_peer(call.comm, (int)rank)
#define ALL_RANKS (void)0

SYNCHRONIZE(Win_fence, ps_call_2, (PS_W assertion, PS_W window), (assertion, window), ALL_RANKS)
SYNCHRONIZE(Win_post, ps_call_3, (PS_W group, PS_W assertion, PS_W window), (group, assertion, window), ALL_RANKS)
SYNCHRONIZE(Win_start, ps_call_3, (PS_W group, PS_W assertion, PS_W window), (group, assertion, window), ALL_RANKS)
SYNCHRONIZE(Win_complete, ps_call_1, (PS_W window), (window), ALL_RANKS)
SYNCHRONIZE(Win_wait, ps_call_1, (PS_W window), (window), ALL_RANKS)
SYNCHRONIZE(Win_lock, ps_call_4, (PS_W type, PS_W rank, PS_W assertion, PS_W window),
            (type, rank, assertion, window), ONE_RANK)
SYNCHRONIZE(Win_unlock, ps_call_2, (PS_W rank, PS_W window), (rank, window), ONE_RANK)
SYNCHRONIZE(Win_lock_all, ps_call_2, (PS_W assertion, PS_W window), (assertion, window), ALL_RANKS)
SYNCHRONIZE(Win_unlock_all, ps_call_1, (PS_W window), (window), ALL_RANKS)
SYNCHRONIZE(Win_flush, ps_call_2, (PS_W rank, PS_W window), (rank, window), ONE_RANK)
SYNCHRONIZE(Win_flush_all, ps_call_1, (PS_W window), (window), ALL_RANKS)
SYNCHRONIZE(Win_flush_local, ps_call_2, (PS_W rank, PS_W window), (rank, window), ONE_RANK)
SYNCHRONIZE(Win_flush_local_all, ps_call_1, (PS_W window), (window), ALL_RANKS)
SYNCHRONIZE(Win_sync, ps_call_1, (PS_W window), (window), ALL_RANKS)

PS_EXPORT int MPI_Win_test(ps_word window, ps_word flag)
{
    static ps_function real = PS_FUNCTION(MPI_Win_test);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_2, window, flag);
    ps_call call = ps_window_call(PS_OP_MPI_Win_test, window);
    ps_self.depth++;
    call.t0_ns = ps_monotonic();
    int result = PS_CALL(&real, ps_call_2, window, flag);
    call.t1_ns = ps_monotonic();
    ps_self.depth--;
    (result == 0 && *(const int *)flag ? ps_call_write : ps_call_polled)(&call);
    return result;
}
