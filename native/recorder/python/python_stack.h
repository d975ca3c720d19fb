#ifndef PS_PYTHON_STACK_H
#define PS_PYTHON_STACK_H

/* The state of the Python thread whose stack is noted, whose frames may be looked at under the interpreter's lock;
 * NULL where none is. */
void *ps_noted_thread(void);

#endif
