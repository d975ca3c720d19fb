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

/* Locks may have been held by threads that the child does not have. */
bool ps_open_forked_child(void)
{
    if (!ps_recorder.is_forked_child || ps_recorder.is_mpi_inherited)
        return false;
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
    return ps_process_open();
}
