/* A forked child that is recorded by itself. */
#ifndef PERFSCOPE_FORKED_H
#define PERFSCOPE_FORKED_H

#include <stdbool.h>

/* Opens files of its own; true when recording. Before, it wrote nothing, and the parent's files are left as they are. */
bool ps_open_forked_child(void);

#endif
