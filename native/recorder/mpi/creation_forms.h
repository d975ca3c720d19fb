/* The body of a function that all members of a communicator call to make another one of it. */
#ifndef PERFSCOPE_CREATION_FORMS_H
#define PERFSCOPE_CREATION_FORMS_H

#include "mpi/volume.h"

#define PS_CREATION_BODY(NAME, TYPE, COMM, ...)                                                                   \
    static ps_function real = PS_FUNCTION(MPI_##NAME);                                                            \
    if (!ps_ready(&real))                                                                                         \
        return ps_missing_function();                                                                             \
    if (!ps_is_recorded())                                                                                        \
        return PS_CALL(&real, TYPE, __VA_ARGS__);                                                                 \
    ps_call call = ps_collective_call(PS_OP_MPI_##NAME, COMM);                                                    \
    uint32_t ordinal = ps_next_creation(call.comm);                                                               \
    ps_call_begin(&call);                                                                                         \
    int result = PS_CALL(&real, TYPE, __VA_ARGS__);                                                               \
    ps_call_end(&call);                                                                                           \
    if (result == 0)                                                                                              \
        ps_comm_created(ps_handle_at(new_comm, 0), call.comm, ordinal);                                           \
    return result;

#endif
