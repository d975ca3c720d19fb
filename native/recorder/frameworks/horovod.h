/* Horovod's control traffic: an allreduce of bits in every cycle of its thread, about a thousand a second.
 *
 * It is told apart from the program's communication, joined while nothing happens, and read: its bits say when the
 * tensors of this rank became ready to be reduced. */
#ifndef PERFSCOPE_HOROVOD_H
#define PERFSCOPE_HOROVOD_H

#include "mpi/mpi_abi.h"

/* Whether an allreduce with this operator, called from this address, is Horovod agreeing on what is ready. */
bool ps_is_horovod_control(ps_word op, const void *caller);
/* The thread that did so last, 0 before the first. */
uint32_t ps_horovod_thread(void);
/* Makes the call and records it. */
int ps_horovod_control(ps_function *real, ps_word send, ps_word receive, ps_word count, ps_word type, ps_word op,
                       ps_word comm);

#endif
