#ifndef PS_CURRENT_PLACE_H
#define PS_CURRENT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "python/python_functions.h"

/* What a thread is at: its frame, the code of that, and the instruction, all as addresses. */
typedef struct {
    uintptr_t frame, code, instruction;
} ps_current_place;

/* Finds out how this Python keeps frames, by the calling thread's own, whose places can be read then. */
void ps_learn_frames(const ps_python_functions *python);

/* What that thread is at now; false where that is not to be known. Needs no lock. */
bool ps_read_place(ps_current_place *place);

/* The same of the calling thread, which has to be that one, and to hold the interpreter's lock. */
bool ps_read_own_place(ps_current_place *place);

/* The offset of its instruction in the code of a place. */
intptr_t ps_offset_of(const ps_current_place *place);

/* The offset of the instruction in the code of a frame, if that is the frame of the place; -1 if it is not, and once the
 * places are wrong. */
int ps_offset_in(const ps_current_place *place, const void *frame, const void *code);

/* Whether places are right is seen by that thread itself, which calls with its innermost frame and what Python tells of
 * it. None is told any more once they are not. */
void ps_check_frame(const void *frame, const void *code, int last);

#endif
