#include "mpi/neighbors.h"

#include "mpi/array_arguments.h"
#include "mpi/call.h"

static struct {
    ps_function topology, dimensions, rank, graph, distributed;
} library = {
    .topology = PS_FUNCTION(PMPI_Topo_test),
    .dimensions = PS_FUNCTION(PMPI_Cartdim_get),
    .rank = PS_FUNCTION(PMPI_Comm_rank),
    .graph = PS_FUNCTION(PMPI_Graph_neighbors_count),
    .distributed = PS_FUNCTION(PMPI_Dist_graph_neighbors_count),
};

static bool is_library_ready(void)
{
    return ps_ready(&library.topology) && ps_ready(&library.dimensions) && ps_ready(&library.rank) &&
           ps_ready(&library.graph) && ps_ready(&library.distributed);
}

ps_degrees ps_neighbors(ps_word comm)
{
    ps_degrees degrees = {0, 0};
    int topology = 0, rank = 0, is_weighted = 0;
    if (ps_abi.abi == PS_ABI_UNKNOWN)
        ps_abi_learn();
    /* Only a communicator may be asked for its neighbors: another handle meets the program's error handler. */
    if (ps_is_following() && !ps_comm_of(comm))
        return degrees;
    if (!is_library_ready() || PS_CALL(&library.topology, ps_call_2, comm, (ps_word)&topology) != 0)
        return degrees;
    if (topology == ps_abi.cartesian) {
        PS_CALL(&library.dimensions, ps_call_2, comm, (ps_word)&degrees.in);
        degrees.in *= 2;
        degrees.out = degrees.in;
    } else if (topology == ps_abi.graph) {
        PS_CALL(&library.rank, ps_call_2, comm, (ps_word)&rank);
        PS_CALL(&library.graph, ps_call_3, comm, (ps_word)rank, (ps_word)&degrees.in);
        degrees.out = degrees.in;
    } else if (topology == ps_abi.distributed_graph) {
        PS_CALL(&library.distributed, ps_call_4, comm, (ps_word)&degrees.in, (ps_word)&degrees.out,
                (ps_word)&is_weighted);
    }
    return degrees;
}

bool ps_narrow_neighbors(const ps_function *function, ps_word comm, ps_word **arrays, void **owned)
{
    ps_degrees degrees = ps_neighbors(comm);
    int sizes[] = {degrees.out, degrees.out, degrees.in, degrees.in};
    return ps_narrow_sized(function, arrays, sizes, 4, owned);
}

bool ps_narrow_neighbor_counts(const ps_function *function, ps_word comm, ps_word **arrays, void **owned)
{
    ps_degrees degrees = ps_neighbors(comm);
    int sizes[] = {degrees.out, degrees.in};
    return ps_narrow_sized(function, arrays, sizes, 2, owned);
}

static uint64_t one(const ps_function *real, ps_side side)
{
    return ps_bytes(ps_count(real, side.counts), side.type);
}

static uint64_t sum(const ps_function *real, ps_side side, int count)
{
    return ps_sum_bytes(real, side.counts, (uint32_t)count, side.type);
}

static uint64_t sum_typed(const ps_function *real, ps_side side, int count)
{
    uint64_t bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += ps_bytes(ps_count_at(real, side.counts, (uint32_t)i), ps_handle_at(side.type, (uint64_t)i));
    return bytes;
}

void ps_volume_neighbor_allgather(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in)
{
    call->sent = one(real, out);
    call->received = one(real, in) * (uint64_t)ps_neighbors(comm).in;
}

void ps_volume_neighbor_allgatherv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in)
{
    call->sent = one(real, out);
    call->received = sum(real, in, ps_neighbors(comm).in);
}

void ps_volume_neighbor_alltoall(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in)
{
    ps_degrees degrees = ps_neighbors(comm);
    call->sent = one(real, out) * (uint64_t)degrees.out;
    call->received = one(real, in) * (uint64_t)degrees.in;
}

void ps_volume_neighbor_alltoallv(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in)
{
    ps_degrees degrees = ps_neighbors(comm);
    call->sent = sum(real, out, degrees.out);
    call->received = sum(real, in, degrees.in);
}

void ps_volume_neighbor_alltoallw(ps_call *call, const ps_function *real, ps_word comm, ps_side out, ps_side in)
{
    ps_degrees degrees = ps_neighbors(comm);
    call->sent = sum_typed(real, out, degrees.out);
    call->received = sum_typed(real, in, degrees.in);
}
