/* Questions to the MPI library about a handle that nobody has vouched for. */
#ifndef PERFSCOPE_QUESTION_H
#define PERFSCOPE_QUESTION_H

#include "mpi/mpi_abi.h"

/* Error handlers of the program, kept while the recorder asks. */
typedef struct {
    ps_word world, self;
    bool is_quiet;
} ps_question;

/* Called once, after the library's initialization. */
void ps_questions_start(void);
/* Between these two a question about a handle that is none is not heard by the program's error handlers: it is the
 * program's own call, which follows, that has to meet them. The second says whether all questions had answers; error
 * codes do not, for some libraries return none behind an error handler that returns. */
void ps_question_begin(ps_question *question);
bool ps_question_end(ps_question *question);

#endif
