/* Totals that thinning leaves alone: of calls by operation, communicator and phase, of phases by name, of steps. */
#ifndef PERFSCOPE_CELLS_H
#define PERFSCOPE_CELLS_H

#include "state.h"

/* Adds calls of an operation to its totals; their phase is the innermost one that is open on this thread. */
void ps_totals_add(uint16_t op, uint32_t comm, const ps_total *more);
/* Adds a phase that has ended, on this thread. */
void ps_totals_phase(uint16_t phase, uint32_t name, uint64_t ns);
/* Adds a step to its block. */
void ps_totals_step(const ps_record *step);

/* A phase that the calling thread opens, and closes: by its token. */
void ps_phase_enter(uint64_t token, uint16_t phase);
void ps_phase_leave(uint64_t token);
/* In a forked child that begins a file of its own. */
void ps_totals_forget(void);

#endif
