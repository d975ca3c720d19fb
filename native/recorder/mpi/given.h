/* Collectives to which all ranks give the same: what some of them were given. */
#ifndef PERFSCOPE_GIVEN_H
#define PERFSCOPE_GIVEN_H

#include "mpi/call.h"

/* Looks at what a call is about to be given, `call->sent` bytes of a type in one piece: `send` or, in place, `receive`. */
void ps_before_giving(const ps_call *call, ps_word send, ps_word receive, ps_word type);

#endif
