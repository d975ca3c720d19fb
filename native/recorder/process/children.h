/* How child processes ended, seen by whoever waits for them: the launcher knows by which signal a rank died. */
#ifndef PERFSCOPE_CHILDREN_H
#define PERFSCOPE_CHILDREN_H

#include <stdbool.h>

/* Finds the C library's functions before any signal handler may need them. */
void ps_children_prepare(bool is_recording);

#endif
