/* A forked child that is recorded by itself. */
#ifndef PERFSCOPE_FORKED_H
#define PERFSCOPE_FORKED_H

#include <stdbool.h>

/* Opens files of its own; true when recording. Before, it wrote nothing, and the parent's files are left as they are. */
bool ps_open_forked_child(void);
/* In a process, forked or not, that works for another one: opens files that take a small part of the space. */
bool ps_open_for_another(void);
/* It is a rank from now on. */
void ps_work_for_oneself(void);

#endif
