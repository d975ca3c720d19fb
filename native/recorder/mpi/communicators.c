/* Creation and end of communicators. Creation is a collective of the parent and takes its next ordinal there;
 * MPI_Comm_create_group is called by its members alone and takes none. */
#include "mpi/creation_forms.h"
#include "mpi/requests.h"

PS_EXPORT int MPI_Comm_dup(PS_W comm, PS_W new_comm)
{
    PS_CREATION_BODY(Comm_dup, ps_call_2, comm, comm, new_comm)
}

PS_EXPORT int MPI_Comm_dup_with_info(PS_W comm, PS_W info, PS_W new_comm)
{
    PS_CREATION_BODY(Comm_dup_with_info, ps_call_3, comm, comm, info, new_comm)
}

PS_EXPORT int MPI_Comm_split(PS_W comm, PS_W color, PS_W key, PS_W new_comm)
{
    PS_CREATION_BODY(Comm_split, ps_call_4, comm, comm, color, key, new_comm)
}

PS_EXPORT int MPI_Comm_split_type(PS_W comm, PS_W type, PS_W key, PS_W info, PS_W new_comm)
{
    PS_CREATION_BODY(Comm_split_type, ps_call_5, comm, comm, type, key, info, new_comm)
}

PS_EXPORT int MPI_Comm_create(PS_W comm, PS_W group, PS_W new_comm)
{
    PS_CREATION_BODY(Comm_create, ps_call_3, comm, comm, group, new_comm)
}

PS_EXPORT int MPI_Comm_create_group(PS_W comm, PS_W group, PS_W tag, PS_W new_comm)
{
    static ps_function real = PS_FUNCTION(MPI_Comm_create_group);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_4, comm, group, tag, new_comm);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_Comm_create_group, ps_comm_of(comm));
    call.tag = (int)tag;
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_4, comm, group, tag, new_comm);
    ps_call_end(&call);
    if (result == 0)
        ps_comm_created_by_group(ps_handle_at(new_comm, 0), call.comm, (int)tag);
    return result;
}

/* The new handle is valid when the request completes, and is learned then. */
#define LATER(NAME, TYPE, PARAMETERS, ...)                                                                        \
    PS_EXPORT int MPI_##NAME PARAMETERS                                                                           \
    {                                                                                                             \
        static ps_function real = PS_FUNCTION(MPI_##NAME);                                                        \
        if (!ps_ready(&real))                                                                                     \
            return ps_missing_function();                                                                         \
        if (!ps_is_recorded())                                                                                    \
            return PS_CALL(&real, TYPE, __VA_ARGS__);                                                             \
        ps_call call = ps_collective_call(PS_OP_MPI_##NAME, comm);                                                \
        ps_pending details = {.new_comm = new_comm, .ordinal = ps_next_creation(call.comm)};                      \
        ps_call_begin(&call);                                                                                     \
        int result = PS_CALL(&real, TYPE, __VA_ARGS__);                                                           \
        if (result == 0)                                                                                          \
            ps_request_created(&call, request, &details);                                                         \
        ps_call_end(&call);                                                                                       \
        return result;                                                                                            \
    }

LATER(Comm_idup, ps_call_3, (PS_W comm, PS_W new_comm, PS_W request), comm, new_comm, request)
LATER(Comm_idup_with_info, ps_call_4, (PS_W comm, PS_W info, PS_W new_comm, PS_W request), comm, info, new_comm,
      request)

#define END(NAME)                                                                                                 \
    PS_EXPORT int MPI_##NAME(PS_W comm)                                                                           \
    {                                                                                                             \
        static ps_function real = PS_FUNCTION(MPI_##NAME);                                                        \
        if (!ps_ready(&real))                                                                                     \
            return ps_missing_function();                                                                         \
        if (!ps_is_recorded())                                                                                    \
            return PS_CALL(&real, ps_call_1, comm);                                                               \
        ps_call call = ps_collective_call(PS_OP_MPI_##NAME, ps_handle_at(comm, 0));                               \
        ps_call_begin(&call);                                                                                     \
        int result = PS_CALL(&real, ps_call_1, comm);                                                             \
        ps_call_end(&call);                                                                                       \
        return result;                                                                                            \
    }

END(Comm_free)
END(Comm_disconnect)
