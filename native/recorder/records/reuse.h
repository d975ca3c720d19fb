/* Slots whose records were thinned away, handed out again when all others are taken. */
#ifndef PERFSCOPE_REUSE_H
#define PERFSCOPE_REUSE_H

#include "state.h"

/* A slot from which a record was taken out; takes some out when none is left. NULL: nothing can be taken out. */
ps_record *ps_reuse_claim(void);
/* For the sampler thread, before all slots are taken: takes records out, if that is possible. */
void ps_reuse_begin(void);
/* For the sampler thread: makes room before a call has to. Returns how many slots have been looked at since it was
 * made last. */
uint64_t ps_reuse_maintain(void);
/* In a forked child that begins a file of its own. */
void ps_reuse_forget(void);

#endif
