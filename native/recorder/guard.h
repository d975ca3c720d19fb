/* What keeps the job alive when the record file's pages can no longer be written. */
#ifndef PERFSCOPE_GUARD_H
#define PERFSCOPE_GUARD_H

#include <stddef.h>

#include "state.h"

/* From now on a store into the mapping never ends the process: when the file system refuses it (no room for a copy
 * of the page, a file that somebody shortened, a device that fails), the whole range becomes memory of the process,
 * and `on_loss` is called, from a signal handler. The memory begins with what the file at `path` begins with, or where
 * that is gone with `kept`. Both must stay valid. */
void ps_guard_begin(void *mapping, size_t bytes, const char *path, const ps_header *kept, void (*on_loss)(void));
/* Whether that has happened: what is written now reaches no file. */
bool ps_guard_is_lost(void);
/* In a forked child, whose mapping is gone. */
void ps_guard_end(void);

#endif
