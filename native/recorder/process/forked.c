#include "process/forked.h"

#include "process/process.h"
#include "records/cells.h"
#include "records/claim.h"
#include "records/definitions.h"
#include "records/drain.h"
#include "records/intern.h"
#include "records/reuse.h"
#include "records/run_windows.h"
#include "records/thinning.h"
#include "sampling/affinity.h"
#include "sampling/hidden_threads.h"
#include "sampling/sampler.h"
#include "sampling/threads.h"

#define WORKER_SHARE 16 /* the records of a process that works for another one may take this part of the space */

/* Locks may have been held by threads that the child does not have. */
static void begin_anew(void)
{
    ps_process_forget();
    ps_buffer_forget();
    ps_claims_forget();
    ps_reuse_forget();
    ps_thinning_forget();
    ps_run_windows_forget();
    ps_totals_forget();
    ps_definitions_forget();
    ps_drain_forget();
    ps_intern_forget();
    ps_threads_forget();
    ps_affinity_forget();
    ps_hidden_threads_forget();
    ps_sampler_forget();
}

bool ps_open_forked_child(void)
{
    if (!ps_recorder.is_forked_child || ps_recorder.is_mpi_inherited)
        return false;
    begin_anew();
    return ps_process_open();
}

bool ps_open_for_another(void)
{
    if (ps_recorder.is_forked_child)
        begin_anew();
    else if (ps_recorder.header)
        return true; /* MPI had it opened: all of it is recorded */
    atomic_store(&ps_recorder.is_worker, true);
    if (!ps_process_open())
        return false;
    ps_buffer_limit(ps_max_bytes() / WORKER_SHARE);
    return true;
}

void ps_work_for_oneself(void)
{
    if (atomic_exchange(&ps_recorder.is_worker, false) && ps_recorder.header)
        ps_buffer_lift();
}
