/* MPI_Init to MPI_Finalize. */
#include <stdio.h>
#include <string.h>

#include "mpi/call.h"
#include "mpi/question.h"
#include "process/forked.h"
#include "process/process.h"
#include "records/definitions.h"
#include "sampling/sampler.h"
#include "secrets.h"
#include "text.h"

#define VERSION_TEXT_BYTES 8192 /* no ABI's MPI_MAX_LIBRARY_VERSION_STRING is larger */

static void define_library(void)
{
    static ps_function get_version = PS_FUNCTION(PMPI_Get_library_version);
    char text[VERSION_TEXT_BYTES + PS_PATH_BYTES + 1];
    char version[VERSION_TEXT_BYTES] = "";
    int length = 0;
    if (ps_ready(&get_version))
        PS_CALL(&get_version, ps_call_2, (ps_word)version, (ps_word)&length);
    char path[PS_PATH_BYTES];
    ps_copy_text(path, sizeof path, ps_library_path());
    ps_redact(path, sizeof path);
    int bytes = snprintf(text, sizeof text, "%s\n%s", path, version);
    ps_define_text(PS_DEF_LIBRARY, text, (uint32_t)bytes);
}

/* How many threads may call MPI: what the library says, whichever way it was initialized. */
static void note_thread_level(void)
{
    static ps_function query_thread = PS_FUNCTION(PMPI_Query_thread);
    int provided = -1;
    if (ps_ready(&query_thread) && PS_CALL(&query_thread, ps_call_1, (ps_word)&provided) == 0 &&
        provided == ps_abi.thread_multiple) {
        ps_set_header_flag(PS_FLAG_MPI_PROVIDED_MULTIPLE);
        atomic_store(&ps_recorder.is_shared, true);
    }
}

static void after_init(const ps_call *call)
{
    PS_STORES;
    ps_header *header = ps_recorder.header;
    int32_t rank = -1, size = -1;
    header->main_tid = ps_tid();
    header->init_exit_ns = call->t1_ns;
    header->abi = ps_abi.abi;
    define_library();
    ps_questions_start();
    ps_datatypes_start();
    ps_self.depth++;
    bool is_known = ps_comm_start(&rank, &size);
    ps_self.depth--;
    header->rank = rank;
    header->size = size;
    ps_set_header_flag(PS_FLAG_MPI);
    ps_work_for_oneself();
    note_thread_level();
    ps_note_limits();
    ps_sampler_launch();
    atomic_store(&ps_recorder.is_mpi_recorded, is_known);
}

/* The record is written around `real` by the caller's own hands: nothing is known of the library before. */
static bool begin_init(ps_call *call)
{
    if (!ps_process_open())
        return false;
    ps_abi_learn();
    ps_call_begin(call);
    return true;
}

static void end_init(ps_call *call, int result)
{
    ps_call_end(call);
    if (result == 0 && ps_abi.abi != PS_ABI_UNKNOWN)
        after_init(call);
}

PS_EXPORT int MPI_Init(ps_word argc, ps_word argv)
{
    static ps_function real = PS_FUNCTION(MPI_Init);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Init, NULL);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (ps_self.depth || !begin_init(&call))
        return PS_CALL(&real, ps_call_2, argc, argv);
    int result = PS_CALL(&real, ps_call_2, argc, argv);
    end_init(&call, result);
    return result;
}

PS_EXPORT int MPI_Init_thread(ps_word argc, ps_word argv, ps_word required, ps_word provided)
{
    static ps_function real = PS_FUNCTION(MPI_Init_thread);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Init_thread, NULL);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (ps_self.depth || !begin_init(&call))
        return PS_CALL(&real, ps_call_4, argc, argv, required, provided);
    int result = PS_CALL(&real, ps_call_4, argc, argv, required, provided);
    end_init(&call, result);
    return result;
}

static void begin_finalize(ps_call *call)
{
    PS_STORES;
    ps_call_begin(call);
    ps_recorder.header->finalize_enter_ns = call->t0_ns;
    ps_set_header_flag(PS_FLAG_FINALIZE_ENTERED);
}

PS_EXPORT int MPI_Finalize(void)
{
    static ps_function real = PS_FUNCTION(MPI_Finalize);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_0);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Finalize, NULL);
    begin_finalize(&call);
    atomic_store(&ps_recorder.is_mpi_recorded, false);
    int result = PS_CALL(&real, ps_call_0);
    ps_call_end(&call);
    ps_set_header_flag(PS_FLAG_FINALIZED);
    return result;
}

PS_EXPORT int MPI_Abort(ps_word comm, ps_word code)
{
    static ps_function real = PS_FUNCTION(MPI_Abort);
    if (!ps_ready(&real))
        return ps_missing_function();
    /* Also where nothing else is recorded any more: how the process ended must be known. */
    ps_mark_aborted((int)code);
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_2, comm, code);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Abort, ps_comm_of(comm));
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_2, comm, code);
    ps_call_end(&call);
    return result;
}
