#include "mpi/question.h"

static struct {
    ps_function create, get, set, release;
} library = {
    .create = PS_FUNCTION(PMPI_Comm_create_errhandler),
    .get = PS_FUNCTION(PMPI_Comm_get_errhandler),
    .set = PS_FUNCTION(PMPI_Comm_set_errhandler),
    .release = PS_FUNCTION(PMPI_Errhandler_free),
};

static ps_word notice; /* an error handler that remembers that there was an error */
static ps_word first_of_self; /* the handler of MPI_COMM_SELF when the library had started */
static bool is_ready;
static bool has_failed;
static ps_lock asking = ATOMIC_FLAG_INIT;

static void note_error(ps_word comm, ps_word code, ...)
{
    (void)comm;
    (void)code;
    has_failed = true;
}

void ps_questions_start(void)
{
    is_ready = ps_resolve(&library.create) && ps_resolve(&library.get) && ps_resolve(&library.set) &&
               ps_resolve(&library.release) &&
               PS_CALL(&library.create, ps_call_2, (ps_word)(uintptr_t)note_error, (ps_word)&notice) == 0;
    notice = ps_handle(notice);
    if (is_ready && PS_CALL(&library.get, ps_call_2, ps_abi.comm_self, (ps_word)&first_of_self) == 0) {
        ps_word taken = first_of_self;
        first_of_self = ps_handle(first_of_self);
        PS_CALL(&library.release, ps_call_1, (ps_word)&taken);
    }
}

/* MPICH tells MPI_COMM_WORLD's handler of errors that belong to no communicator, as long as nobody gave MPI_COMM_SELF
 * one; one that was given, be it the same as before, cannot be taken away again. */
static bool takes_errors_of_none(ps_word self)
{
    return ps_abi.abi == PS_ABI_OPENMPI || ps_handle(self) != first_of_self;
}

/* Errors that belong to no communicator are told to the handler of one of these two, which one depends on the
 * version of MPI. While a question is open, an error that another thread meets on these two is not heard either. */
void ps_question_begin(ps_question *question)
{
    *question = (ps_question){.is_quiet = is_ready};
    if (!is_ready)
        return;
    ps_acquire(&asking);
    bool has_world = PS_CALL(&library.get, ps_call_2, ps_abi.comm_world, (ps_word)&question->world) == 0;
    bool has_self = PS_CALL(&library.get, ps_call_2, ps_abi.comm_self, (ps_word)&question->self) == 0;
    if (!has_world || !has_self) {
        if (has_world)
            PS_CALL(&library.release, ps_call_1, (ps_word)&question->world);
        if (has_self)
            PS_CALL(&library.release, ps_call_1, (ps_word)&question->self);
        question->is_quiet = false;
        ps_release(&asking);
        return;
    }
    PS_CALL(&library.set, ps_call_2, ps_abi.comm_world, notice);
    if (takes_errors_of_none(question->self))
        PS_CALL(&library.set, ps_call_2, ps_abi.comm_self, notice);
    has_failed = false;
}

bool ps_question_end(ps_question *question)
{
    if (!question->is_quiet)
        return true;
    bool is_answered = !has_failed;
    PS_CALL(&library.set, ps_call_2, ps_abi.comm_world, ps_handle(question->world));
    if (takes_errors_of_none(question->self))
        PS_CALL(&library.set, ps_call_2, ps_abi.comm_self, ps_handle(question->self));
    PS_CALL(&library.release, ps_call_1, (ps_word)&question->world);
    PS_CALL(&library.release, ps_call_1, (ps_word)&question->self);
    ps_release(&asking);
    return is_answered;
}
