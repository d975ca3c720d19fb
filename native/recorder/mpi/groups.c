/* Communicators between groups, and between jobs. Their members have no parent in common: what is known alike of the
 * new communicator are its members and how often they made one. */
#include "mpi/timed_forms.h"
#include "mpi/volume.h"

/* Meets the new communicator at once, in the order of the creations, which is the same on all members. */
static void meet(ps_word new_comm, int result)
{
    if (result == 0)
        ps_comm_created_alone(ps_handle_at(new_comm, 0));
}

#define MEETING meet(new_comm, result)
#define CREATE(NAME, TYPE, PARAMETERS, ARGUMENTS, COMM, VOLUME)                                                   \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, ps_collective_call(PS_OP_MPI_##NAME, COMM), true, VOLUME,     \
                 MEETING)
#define FROM_ROOT call.peer = ps_peer(call.comm, (int)root)

CREATE(Intercomm_create, ps_call_6,
       (PS_W comm, PS_W leader, PS_W peer_comm, PS_W remote_leader, PS_W tag, PS_W new_comm),
       (comm, leader, peer_comm, remote_leader, tag, new_comm), comm, call.tag = (int)tag)
CREATE(Intercomm_merge, ps_call_3, (PS_W comm, PS_W high, PS_W new_comm), (comm, high, new_comm), comm, (void)0)
CREATE(Comm_accept, ps_call_5, (PS_W port, PS_W info, PS_W root, PS_W comm, PS_W new_comm),
       (port, info, root, comm, new_comm), comm, FROM_ROOT)
CREATE(Comm_connect, ps_call_5, (PS_W port, PS_W info, PS_W root, PS_W comm, PS_W new_comm),
       (port, info, root, comm, new_comm), comm, FROM_ROOT)
CREATE(Comm_spawn, ps_call_8,
       (PS_W command, PS_W arguments, PS_W count, PS_W info, PS_W root, PS_W comm, PS_W new_comm, PS_W codes),
       (command, arguments, count, info, root, comm, new_comm, codes), comm, FROM_ROOT)
CREATE(Comm_spawn_multiple, ps_call_9,
       (PS_W kinds, PS_W commands, PS_W arguments, PS_W counts, PS_W infos, PS_W root, PS_W comm, PS_W new_comm,
        PS_W codes),
       (kinds, commands, arguments, counts, infos, root, comm, new_comm, codes), comm, FROM_ROOT)

#define WITHOUT_PARENT(NAME, TYPE, PARAMETERS, ARGUMENTS)                                                         \
    PS_TIMED_INT(NAME, TYPE, PARAMETERS, ARGUMENTS, ((ps_call)PS_NEW_CALL(PS_OP_MPI_##NAME, NULL)), true,         \
                 (void)0, MEETING)

WITHOUT_PARENT(Comm_join, ps_call_2, (PS_W socket, PS_W new_comm), (socket, new_comm))
WITHOUT_PARENT(Comm_create_from_group, ps_call_5,
               (PS_W group, PS_W tag, PS_W info, PS_W errors, PS_W new_comm), (group, tag, info, errors, new_comm))
WITHOUT_PARENT(Intercomm_create_from_groups, ps_call_8,
               (PS_W local, PS_W leader, PS_W remote, PS_W remote_leader, PS_W tag, PS_W info, PS_W errors,
                PS_W new_comm),
               (local, leader, remote, remote_leader, tag, info, errors, new_comm))
