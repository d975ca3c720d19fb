/* An MPI library whose calls return at once, with MPICH's handles: what is left of a call is what the recorder adds. */
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define BOTH(name, parameters, ...)                                                                               \
    EXPORT int PMPI_##name parameters __VA_ARGS__                                                                 \
    EXPORT int MPI_##name parameters __VA_ARGS__

enum { DOUBLE_BYTES = 8, THREAD_MULTIPLE = 3 };

BOTH(Init, (int *argc, char ***argv), {
    (void)argc;
    (void)argv;
    return 0;
})
BOTH(Finalize, (void), { return 0; })
BOTH(Comm_rank, (int comm, int *rank), {
    (void)comm;
    *rank = 0;
    return 0;
})
BOTH(Comm_size, (int comm, int *size), {
    (void)comm;
    *size = 1;
    return 0;
})
BOTH(Comm_group, (int comm, int *group), {
    *group = comm;
    return 0;
})
BOTH(Group_size, (int group, int *size), {
    (void)group;
    *size = 1;
    return 0;
})
BOTH(Group_translate_ranks, (int group, int count, const int *ranks, int other, int *translated), {
    (void)group;
    (void)other;
    memcpy(translated, ranks, (size_t)count * sizeof *ranks);
    return 0;
})
BOTH(Group_free, (int *group), {
    (void)group;
    return 0;
})
BOTH(Comm_test_inter, (int comm, int *flag), {
    (void)comm;
    *flag = 0;
    return 0;
})
BOTH(Comm_create_keyval, (int (*copy)(void), int (*forget)(void), int *keyval, void *extra), {
    (void)copy;
    (void)forget;
    (void)extra;
    *keyval = 1;
    return 0;
})
BOTH(Comm_set_attr, (int comm, int keyval, void *value), {
    (void)comm;
    (void)keyval;
    (void)value;
    return 0;
})
BOTH(Type_size, (int type, int *size), {
    (void)type;
    *size = DOUBLE_BYTES;
    return 0;
})
BOTH(Query_thread, (int *provided), {
    *provided = THREAD_MULTIPLE;
    return 0;
})
BOTH(Barrier, (int comm), {
    (void)comm;
    return 0;
})
BOTH(Allreduce, (const void *send, void *receive, int count, int type, int op, int comm), {
    (void)send;
    (void)receive;
    (void)count;
    (void)type;
    (void)op;
    (void)comm;
    return 0;
})
BOTH(Send, (const void *buffer, int count, int type, int dest, int tag, int comm), {
    (void)buffer;
    (void)count;
    (void)type;
    (void)dest;
    (void)tag;
    (void)comm;
    return 0;
})
BOTH(Recv, (void *buffer, int count, int type, int source, int tag, int comm, int *status), {
    (void)buffer;
    (void)type;
    (void)comm;
    if (status != (int *)1) {
        status[0] = count * DOUBLE_BYTES;
        status[1] = 0;
        status[2] = source;
        status[3] = tag;
    }
    return 0;
})
BOTH(Isend, (const void *buffer, int count, int type, int dest, int tag, int comm, unsigned *request), {
    (void)buffer;
    (void)count;
    (void)type;
    (void)dest;
    (void)tag;
    (void)comm;
    *request = 0x98000001u;
    return 0;
})
BOTH(Wait, (unsigned *request, int *status), {
    (void)status;
    *request = 0x2c000000u;
    return 0;
})
BOTH(Test, (unsigned *request, int *flag, int *status), {
    (void)request;
    (void)status;
    *flag = 0;
    return 0;
})
