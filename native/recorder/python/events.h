/* Events that are written as they are: the records behind what the Python agent tells. */
#ifndef PS_EVENTS_H
#define PS_EVENTS_H

#include "records/buffer.h"

/* Writes an event of the calling thread; t1_ns 0 leaves it open. NULL where nothing is recorded. */
ps_record *ps_write_event(uint16_t kind, const ps_record *content);

#endif
