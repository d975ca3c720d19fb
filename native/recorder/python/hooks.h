#ifndef PS_HOOKS_H
#define PS_HOOKS_H

#include "python/python_functions.h"

/* Looks whether the calling thread has Python call a function at each line or call of the program. */
void ps_look_for_hooks(const ps_python_functions *python);

#endif
