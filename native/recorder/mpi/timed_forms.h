/* The functions of a call whose counts are scalars: the int one, and the large-count one that falls back to it.
 * START makes the call; FITS and VOLUME see `real` (the function) and `call`; AFTER sees `call` and `result`. */
#ifndef PERFSCOPE_TIMED_FORMS_H
#define PERFSCOPE_TIMED_FORMS_H

#include "mpi/call.h"

#define PS_UNPACK(...) __VA_ARGS__

/* The int function and the large-count one, which do the same with `real`. */
#define PS_BOTH(NAME, PARAMETERS, ...)                                                                            \
    PS_EXPORT int MPI_##NAME PARAMETERS                                                                           \
    {                                                                                                             \
        static ps_function function = PS_FUNCTION(MPI_##NAME);                                                    \
        ps_function *const real = &function;                                                                      \
        return __VA_ARGS__;                                                                                       \
    }                                                                                                             \
    PS_EXPORT int MPI_##NAME##_c PARAMETERS                                                                       \
    {                                                                                                             \
        static ps_function function = PS_LARGE_FUNCTION(MPI_##NAME);                                              \
        ps_function *const real = &function;                                                                      \
        return __VA_ARGS__;                                                                                       \
    }

#define PS_TIMED_BODY(TYPE, ARGUMENTS, START, FITS, VOLUME, AFTER)                                                \
    if (!ps_ready(real))                                                                                          \
        return ps_missing_function();                                                                             \
    if (!(FITS))                                                                                                  \
        return ps_count_too_large();                                                                              \
    if (!ps_is_recorded())                                                                                        \
        return PS_CALL(real, TYPE, PS_UNPACK ARGUMENTS);                                                          \
    ps_call call = START;                                                                                         \
    VOLUME;                                                                                                       \
    ps_call_begin(&call);                                                                                         \
    int result = PS_CALL(real, TYPE, PS_UNPACK ARGUMENTS);                                                        \
    AFTER;                                                                                                        \
    ps_call_end(&call);                                                                                           \
    return result;

#define PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, START, FITS, VOLUME, AFTER)                               \
    PS_EXPORT int MPI_##NAME PARAMETERS                                                                           \
    {                                                                                                             \
        static ps_function function = PS_FUNCTION(MPI_##NAME);                                                    \
        ps_function *const real = &function;                                                                      \
        PS_TIMED_BODY(TYPE, ARGUMENTS, START, FITS, VOLUME, AFTER)                                                \
    }

#define PS_TIMED(NAME, TYPE, PARAMETERS, ARGUMENTS, START, FITS, VOLUME, AFTER)                                   \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, START, FITS, VOLUME, AFTER)                                   \
    PS_EXPORT int MPI_##NAME##_c PARAMETERS                                                                       \
    {                                                                                                             \
        static ps_function function = PS_LARGE_FUNCTION(MPI_##NAME);                                              \
        ps_function *const real = &function;                                                                      \
        PS_TIMED_BODY(TYPE, ARGUMENTS, START, FITS, VOLUME, AFTER)                                                \
    }

#endif
