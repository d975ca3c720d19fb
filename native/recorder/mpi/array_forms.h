/* The functions of a collective whose counts are arrays. For a library without large counts the large-count forms
 * convert the arrays; only arrays that mean something on this rank are read. */
#ifndef PERFSCOPE_ARRAY_FORMS_H
#define PERFSCOPE_ARRAY_FORMS_H

#include <stdlib.h>

#include "mpi/array_arguments.h"
#include "mpi/requests.h"
#include "mpi/timed_forms.h"
#include "mpi/volume.h"

/* The frame of a call: `VOLUME` looks at the arrays as the program gave them, `NARROW` then replaces them. */
#define PS_ARRAY_BEGIN(NAME, COMM, VOLUME, NARROW)                                                                \
    void *owned = NULL;                                                                                           \
    if (!ps_ready(real))                                                                                          \
        return ps_missing_function();                                                                             \
    bool is_recorded = ps_is_recorded();                                                                          \
    ps_call call = PS_NEW_CALL(PS_OP_MPI_##NAME, NULL);                                                           \
    if (is_recorded) {                                                                                            \
        call = ps_collective_call(PS_OP_MPI_##NAME, COMM);                                                        \
        VOLUME;                                                                                                   \
    }                                                                                                             \
    if (real->is_narrow && !(NARROW))                                                                             \
        return ps_count_too_large();                                                                              \
    if (is_recorded)                                                                                              \
        ps_call_begin(&call);

#define PS_ARRAY_BODY(NAME, TYPE, COMM, VOLUME, NARROW, ...)                                                      \
    PS_ARRAY_BEGIN(NAME, COMM, VOLUME, NARROW)                                                                    \
    int result = PS_CALL(real, TYPE, __VA_ARGS__);                                                                \
    if (is_recorded)                                                                                              \
        ps_call_end(&call);                                                                                       \
    free(owned);                                                                                                  \
    return result;

/* The library may read the arrays until the request completes. Nobody tells when that is for a call that is not
 * recorded: its arrays stay forever. */
#define PS_I_ARRAY_BODY(NAME, TYPE, COMM, VOLUME, NARROW, ...)                                                    \
    PS_ARRAY_BEGIN(NAME, COMM, VOLUME, NARROW)                                                                    \
    int result = PS_CALL(real, TYPE, __VA_ARGS__);                                                                \
    if (result != 0)                                                                                              \
        free(owned);                                                                                              \
    else if (is_recorded)                                                                                         \
        ps_request_created(&call, request, &(ps_pending){.owned = owned});                                        \
    if (is_recorded)                                                                                              \
        ps_call_end(&call);                                                                                       \
    return result;

/* A blocking collective, and the nonblocking one, which has a request as its last parameter. */
#define PS_ARRAY_COLLECTIVE(NAME, I_NAME, TYPE, I_TYPE, PARAMETERS, ARGUMENTS, VOLUME, NARROW)                    \
    static int do_##NAME(ps_function *real, PS_UNPACK PARAMETERS)                                                 \
    {                                                                                                             \
        PS_ARRAY_BODY(NAME, TYPE, comm, VOLUME, NARROW, PS_UNPACK ARGUMENTS)                                      \
    }                                                                                                             \
    PS_BOTH(NAME, PARAMETERS, do_##NAME(real, PS_UNPACK ARGUMENTS))                                               \
    static int do_##I_NAME(ps_function *real, PS_UNPACK PARAMETERS, PS_W request)                                 \
    {                                                                                                             \
        PS_I_ARRAY_BODY(I_NAME, I_TYPE, comm, VOLUME, NARROW, PS_UNPACK ARGUMENTS, request)                       \
    }                                                                                                             \
    PS_BOTH(I_NAME, (PS_UNPACK PARAMETERS, PS_W request), do_##I_NAME(real, PS_UNPACK ARGUMENTS, request))

#endif
