/* Files of MPI. The bytes are those asked for: at the end of a file fewer may have been read. */
#include "mpi/requests.h"
#include "mpi/timed_forms.h"

static ps_call file_call(uint16_t op, ps_word file)
{
    ps_pending known = {0};
    ps_map_find(&ps_files, ps_handle(file), &known);
    return (ps_call)PS_NEW_CALL(op, known.comm);
}

PS_EXPORT int MPI_File_open(PS_W comm, PS_W name, PS_W mode, PS_W info, PS_W file)
{
    static ps_function real = PS_FUNCTION(MPI_File_open);
    if (!ps_ready(&real))
        return ps_missing_function();
    if (!ps_is_recorded())
        return PS_CALL(&real, ps_call_5, comm, name, mode, info, file);
    ps_call call = PS_NEW_CALL(PS_OP_MPI_File_open, ps_comm_of(comm));
    ps_call_begin(&call);
    int result = PS_CALL(&real, ps_call_5, comm, name, mode, info, file);
    if (result == 0)
        ps_map_replace(&ps_files, ps_handle_at(file, 0), &(ps_pending){.comm = call.comm});
    ps_call_end(&call);
    return result;
}

PS_EXPORT int MPI_File_close(PS_W file)
{
    static ps_function real = PS_FUNCTION(MPI_File_close);
    if (!ps_ready(&real))
        return ps_missing_function();
    ps_word handle = ps_handle_at(file, 0);
    ps_call call = file_call(PS_OP_MPI_File_close, handle);
    bool is_recorded = ps_is_recorded();
    if (is_recorded)
        ps_call_begin(&call);
    /* Before the library closes it: the handle may then be given to another file at once. */
    if (ps_is_following())
        ps_map_drop(&ps_files, handle);
    int result = PS_CALL(&real, ps_call_1, file);
    if (is_recorded)
        ps_call_end(&call);
    return result;
}

#define FILE_INT(NAME, TYPE, PARAMETERS, ARGUMENTS)                                                               \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, file_call(PS_OP_MPI_##NAME, file), true, (void)0, (void)0)

FILE_INT(File_sync, ps_call_1, (PS_W file), (file))
FILE_INT(File_set_size, ps_call_2, (PS_W file, PS_W size), (file, size))
FILE_INT(File_preallocate, ps_call_2, (PS_W file, PS_W size), (file, size))
FILE_INT(File_seek_shared, ps_call_3, (PS_W file, PS_W offset, PS_W whence), (file, offset, whence))
FILE_INT(File_set_view, ps_call_6,
         (PS_W file, PS_W displacement, PS_W element, PS_W type, PS_W representation, PS_W info),
         (file, displacement, element, type, representation, info))
PS_TIMED_INT(File_delete, ps_call_2, (PS_W name, PS_W info), (name, info),
             ((ps_call)PS_NEW_CALL(PS_OP_MPI_File_delete, NULL)), true, (void)0, (void)0)

#define DONE (void)0
#define REQUESTED (result == 0 ? ps_request_created(&call, last, NULL) : (void)0)
#define DATA(NAME, TYPE, PARAMETERS, ARGUMENTS, MOVED, AFTER)                                                     \
    PS_TIMED(NAME, TYPE, PARAMETERS, ARGUMENTS, file_call(PS_OP_MPI_##NAME, file), ps_fits(real, count),          \
             MOVED = ps_bytes(ps_count(real, count), type), AFTER)

/* `last` is a status, or the request of a nonblocking call. */
#define HERE(NAME, MOVED, AFTER)                                                                                  \
    DATA(NAME, ps_call_5, (PS_W file, PS_W buffer, PS_W count, PS_W type, PS_W last),                             \
         (file, buffer, count, type, last), MOVED, AFTER)
#define AT(NAME, MOVED, AFTER)                                                                                    \
    DATA(NAME, ps_call_6, (PS_W file, PS_W offset, PS_W buffer, PS_W count, PS_W type, PS_W last),                \
         (file, offset, buffer, count, type, last), MOVED, AFTER)
#define BEGIN(NAME, MOVED)                                                                                        \
    DATA(NAME, ps_call_4, (PS_W file, PS_W buffer, PS_W count, PS_W type), (file, buffer, count, type), MOVED,    \
         DONE)
#define BEGIN_AT(NAME, MOVED)                                                                                     \
    DATA(NAME, ps_call_5, (PS_W file, PS_W offset, PS_W buffer, PS_W count, PS_W type),                           \
         (file, offset, buffer, count, type), MOVED, DONE)
#define END(NAME) FILE_INT(NAME, ps_call_3, (PS_W file, PS_W buffer, PS_W status), (file, buffer, status))

#define FAMILY(MOVE, I_MOVE, MOVED)                                                                               \
    HERE(File_##MOVE, MOVED, DONE)                                                                                \
    HERE(File_##MOVE##_all, MOVED, DONE)                                                                          \
    HERE(File_##MOVE##_shared, MOVED, DONE)                                                                       \
    HERE(File_##MOVE##_ordered, MOVED, DONE)                                                                      \
    AT(File_##MOVE##_at, MOVED, DONE)                                                                             \
    AT(File_##MOVE##_at_all, MOVED, DONE)                                                                         \
    HERE(File_##I_MOVE, MOVED, REQUESTED)                                                                         \
    HERE(File_##I_MOVE##_all, MOVED, REQUESTED)                                                                   \
    HERE(File_##I_MOVE##_shared, MOVED, REQUESTED)                                                                \
    AT(File_##I_MOVE##_at, MOVED, REQUESTED)                                                                      \
    AT(File_##I_MOVE##_at_all, MOVED, REQUESTED)                                                                  \
    BEGIN(File_##MOVE##_all_begin, MOVED)                                                                         \
    END(File_##MOVE##_all_end)                                                                                    \
    BEGIN_AT(File_##MOVE##_at_all_begin, MOVED)                                                                   \
    END(File_##MOVE##_at_all_end)                                                                                 \
    BEGIN(File_##MOVE##_ordered_begin, MOVED)                                                                     \
    END(File_##MOVE##_ordered_end)

FAMILY(read, iread, call.received)
FAMILY(write, iwrite, call.sent)
