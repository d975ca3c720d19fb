#ifndef PS_PYTHON_FUNCTIONS_H
#define PS_PYTHON_FUNCTIONS_H

#include <stdbool.h>
#include <sys/types.h>

typedef void *object;

typedef struct {
    int (*add)(int (*)(void *), void *);
    int (*is_started)(void), (*is_ending)(void);
    object (*thread)(void), (*holder)(void), (*interpreter)(void), (*first_interpreter)(void), (*error)(void);
    void (*clear_error)(void);
    object (*innermost)(object), (*back)(object), (*code)(object), (*item)(object, const char *);
    int (*last)(object);
    long (*integer)(object);
    int (*collector_off)(void), (*collector_on)(void);
    int (*lock)(void);
    void (*unlock)(int);
    void (*drop)(object);
    object (*list)(ssize_t);
    int (*append)(object, object);
    object (*build)(const char *, ...);
    object (*of_sys)(const char *), (*call)(object); /* NULL where Python has none */
    const void *none;
} ps_python_functions;

/* Finds all of them in the Python that `none` belongs to; false where one is missing. */
bool ps_find_python(ps_python_functions *python, const void *none, bool has_one_holder, bool may_collect);

/* The offset of the instruction that a frame is at, as Python tells it; negative where it is at none. */
int ps_last_of(const ps_python_functions *python, object frame);

/* Puts what the process has under a name where nothing is yet, whichever library it is of; false where there is nothing. */
bool ps_find_by_name(void *place, const char *name);

#endif
