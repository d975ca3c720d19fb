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
/* A thread that blocks SIGBUS is ended by a refused store all the same: lets the signal through if this one does. */
bool ps_guard_lift(void);
void ps_guard_shut(void);
static inline void ps_guard_restore(const bool *is_lifted)
{
    if (PS_UNLIKELY(*is_lifted))
        ps_guard_shut();
}
/* From here to the end of the block the calling thread stores into the mapping. */
#define PS_STORES                                                                                                 \
    __attribute__((cleanup(ps_guard_restore))) bool is_lifted =                                                   \
        PS_UNLIKELY(ps_self.bus_mask != PS_BUS_OPEN) && ps_guard_lift()
void ps_set_header_flag(uint32_t flag);
/* In a forked child, whose mapping is gone. */
void ps_guard_end(void);

#endif
