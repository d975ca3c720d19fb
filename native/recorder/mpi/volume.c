#include "mpi/volume.h"

static bool is_known(const ps_call *call)
{
    return call->comm && !call->comm->is_inter;
}

static bool is_root(const ps_call *call, ps_word root)
{
    return call->comm->my_rank == (int)root;
}

static bool is_in_place(ps_word buffer)
{
    return buffer == ps_abi.in_place;
}

ps_call ps_collective_call(uint16_t op, ps_word comm)
{
    ps_call call = PS_NEW_CALL(op, ps_comm_of(comm));
    call.seq = ps_next_collective(call.comm);
    return call;
}

void ps_volume_bcast(ps_call *call, const ps_function *real, ps_word count, ps_word type, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    uint64_t bytes = ps_bytes(ps_count(real, count), type);
    *(is_root(call, root) ? &call->sent : &call->received) = bytes;
}

void ps_volume_reduce(ps_call *call, const ps_function *real, ps_word count, ps_word type, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    call->sent = ps_bytes(ps_count(real, count), type);
    if (is_root(call, root))
        call->received = call->sent;
}

void ps_volume_same(ps_call *call, const ps_function *real, ps_word count, ps_word type)
{
    if (is_known(call))
        call->sent = call->received = ps_bytes(ps_count(real, count), type);
}

void ps_volume_exscan(ps_call *call, const ps_function *real, ps_word count, ps_word type)
{
    ps_volume_same(call, real, count, type);
    if (is_known(call) && call->comm->my_rank == 0)
        call->received = 0;
}

void ps_volume_reduce_scatter_block(ps_call *call, const ps_function *real, ps_word count, ps_word type)
{
    if (!is_known(call))
        return;
    call->received = ps_bytes(ps_count(real, count), type);
    call->sent = call->received * call->comm->size;
}

void ps_volume_reduce_scatter(ps_call *call, const ps_function *real, ps_word counts, ps_word type)
{
    if (!is_known(call))
        return;
    call->sent = ps_sum_bytes(real, counts, call->comm->size, type);
    call->received = ps_bytes(ps_count_at(real, counts, (uint32_t)call->comm->my_rank), type);
}

static uint64_t side_bytes(const ps_function *real, ps_side side)
{
    return ps_bytes(ps_count(real, side.counts), side.type);
}

static uint64_t side_sum(const ps_call *call, const ps_function *real, ps_side side)
{
    return ps_sum_bytes(real, side.counts, call->comm->size, side.type);
}

static uint64_t side_own(const ps_call *call, const ps_function *real, ps_side side)
{
    return ps_bytes(ps_count_at(real, side.counts, (uint32_t)call->comm->my_rank), side.type);
}

void ps_volume_gather(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    call->sent = side_bytes(real, is_in_place(out.buffer) ? in : out);
    if (is_root(call, root))
        call->received = side_bytes(real, in) * call->comm->size;
}

void ps_volume_gatherv(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    call->sent = is_in_place(out.buffer) ? side_own(call, real, in) : side_bytes(real, out);
    if (is_root(call, root))
        call->received = side_sum(call, real, in);
}

void ps_volume_scatter(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    call->received = side_bytes(real, is_in_place(in.buffer) ? out : in);
    if (is_root(call, root))
        call->sent = side_bytes(real, out) * call->comm->size;
}

void ps_volume_scatterv(ps_call *call, const ps_function *real, ps_side out, ps_side in, ps_word root)
{
    call->peer = ps_peer(call->comm, (int)root);
    if (!is_known(call))
        return;
    call->received = is_in_place(in.buffer) ? side_own(call, real, out) : side_bytes(real, in);
    if (is_root(call, root))
        call->sent = side_sum(call, real, out);
}

void ps_volume_allgather(ps_call *call, const ps_function *real, ps_side out, ps_side in)
{
    if (!is_known(call))
        return;
    call->sent = side_bytes(real, is_in_place(out.buffer) ? in : out);
    call->received = side_bytes(real, in) * call->comm->size;
}

void ps_volume_allgatherv(ps_call *call, const ps_function *real, ps_side out, ps_side in)
{
    if (!is_known(call))
        return;
    call->sent = is_in_place(out.buffer) ? side_own(call, real, in) : side_bytes(real, out);
    call->received = side_sum(call, real, in);
}

void ps_volume_alltoall(ps_call *call, const ps_function *real, ps_side out, ps_side in)
{
    if (!is_known(call))
        return;
    call->received = side_bytes(real, in) * call->comm->size;
    call->sent = is_in_place(out.buffer) ? call->received : side_bytes(real, out) * call->comm->size;
}

void ps_volume_alltoallv(ps_call *call, const ps_function *real, ps_side out, ps_side in)
{
    if (!is_known(call))
        return;
    call->received = side_sum(call, real, in);
    call->sent = is_in_place(out.buffer) ? call->received : side_sum(call, real, out);
}

static uint64_t sum_typed(const ps_call *call, const ps_function *real, ps_side side)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < call->comm->size; i++)
        bytes += ps_bytes(ps_count_at(real, side.counts, i), ps_handle_at(side.type, i));
    return bytes;
}

void ps_volume_alltoallw(ps_call *call, const ps_function *real, ps_side out, ps_side in)
{
    if (!is_known(call))
        return;
    call->received = sum_typed(call, real, in);
    call->sent = is_in_place(out.buffer) ? call->received : sum_typed(call, real, out);
}
