/* Numbers for byte strings: equal bytes, equal number. */
#ifndef PERFSCOPE_INTERN_H
#define PERFSCOPE_INTERN_H

#include "state.h"

/* Id from 1 of a name or a stack, written to the definitions on first sight; 0 when it cannot be kept. */
uint32_t ps_intern(uint16_t definition_type, const void *bytes, uint32_t count);
/* In a forked child: the definitions that know the numbers are the parent's. */
void ps_intern_forget(void);

#endif
