/* Records that are written as they are. */
#ifndef PERFSCOPE_EVENT_H
#define PERFSCOPE_EVENT_H

#include "state.h"

/* Whether records are taken now. */
bool ps_is_open(void);
/* Writes an event of the calling thread; t1_ns 0 leaves it open. NULL where nothing is recorded. */
ps_record *ps_write_event(uint16_t kind, const ps_record *content);

#endif
