/* Communicators with a topology. */
#include "mpi/creation_forms.h"

PS_EXPORT int MPI_Cart_create(PS_W comm, PS_W count, PS_W sizes, PS_W periods, PS_W reorder, PS_W new_comm)
{
    PS_CREATION_BODY(Cart_create, ps_call_6, comm, comm, count, sizes, periods, reorder, new_comm)
}

PS_EXPORT int MPI_Cart_sub(PS_W comm, PS_W remaining, PS_W new_comm)
{
    PS_CREATION_BODY(Cart_sub, ps_call_3, comm, comm, remaining, new_comm)
}

PS_EXPORT int MPI_Graph_create(PS_W comm, PS_W count, PS_W index, PS_W edges, PS_W reorder, PS_W new_comm)
{
    PS_CREATION_BODY(Graph_create, ps_call_6, comm, comm, count, index, edges, reorder, new_comm)
}

PS_EXPORT int MPI_Dist_graph_create(PS_W comm, PS_W count, PS_W sources, PS_W degrees, PS_W targets, PS_W weights,
                                    PS_W info, PS_W reorder, PS_W new_comm)
{
    PS_CREATION_BODY(Dist_graph_create, ps_call_9, comm, comm, count, sources, degrees, targets, weights, info,
                     reorder, new_comm)
}

PS_EXPORT int MPI_Dist_graph_create_adjacent(PS_W comm, PS_W in, PS_W sources, PS_W source_weights, PS_W out,
                                             PS_W targets, PS_W target_weights, PS_W info, PS_W reorder,
                                             PS_W new_comm)
{
    PS_CREATION_BODY(Dist_graph_create_adjacent, ps_call_10, comm, comm, in, sources, source_weights, out, targets,
                     target_weights, info, reorder, new_comm)
}
