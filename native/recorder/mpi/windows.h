/* Windows of one-sided communication. */
#ifndef PERFSCOPE_WINDOWS_H
#define PERFSCOPE_WINDOWS_H

#include "mpi/call.h"

/* A call on a window, with the communicator that the window was made of. */
ps_call ps_window_call(uint16_t op, ps_word window);

#endif
