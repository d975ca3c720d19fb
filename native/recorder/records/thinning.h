/* Which parts of a long recording are kept in detail when its space comes to an end.
 *
 * The run is cut into windows that all ranks number alike, and a rank decides by the number alone which of them it
 * keeps: one in two, then one in four, and so on, always the first and the last ones. What one rank keeps at a level, it keeps
 * at every level below, so what all ranks keep is what the one with the highest level keeps. Totals are of all
 * windows. */
#ifndef PERFSCOPE_THINNING_H
#define PERFSCOPE_THINNING_H

#include "state.h"

/* A window has ended, of which `record` tells; NULL where there was no room for it. */
void ps_thinning_add(uint32_t number, uint64_t t1_ns, enum ps_window source, ps_record *record);
/* Whether enough windows are known to take some out. */
bool ps_thinning_is_possible(void);
/* Whether so many are known that some must be taken out whatever the space. */
bool ps_thinning_is_due(void);
/* Takes records out until a quarter of the first `slots` is free, or nothing can be taken out any more. Returns how
 * many are free. One thread at a time. */
uint64_t ps_thin(uint64_t slots);
/* A record of the running window found no room: the window will not be whole. */
void ps_thinning_lost(uint64_t now_ns);
/* Bytes of memory that this holds. */
uint64_t ps_thinning_resident(void);
/* Whether a number is among those that are kept at a level. */
bool ps_is_selected(uint32_t number, uint32_t level);
/* In a forked child that begins a file of its own. */
void ps_thinning_forget(void);

#endif
