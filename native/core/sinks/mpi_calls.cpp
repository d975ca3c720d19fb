#include "mpi_calls.h"

namespace perfscope {

static int64_t sum(int64_t value, uint64_t bytes)
{
    const auto limit = static_cast<uint64_t>(INT64_MAX - value);
    return bytes > limit ? INT64_MAX : value + static_cast<int64_t>(bytes);
}

static int32_t tag_of(uint32_t tag)
{
    return tag > INT32_MAX ? -1 : static_cast<int32_t>(tag);
}

int32_t world_rank(const CommMembers *comm, uint32_t rank)
{
    return comm && rank < comm->members.size() ? comm->members[rank] : PEER_UNKNOWN;
}

void MpiCalls::begin(int64_t time_ns, uint16_t op, CallKind kind)
{
    OperationRow row{};
    row.t0 = row.t1 = time_ns;
    row.op = op;
    row.tid = tid_;
    row.comm = -1;
    is_combined_ = kind == CallKind::COMBINED;
    row.seq = is_combined_ ? silent_peer_ : -1;
    row.peer = kind == CallKind::OTHER ? PEER_NONE : silent_peer_;
    row.tag = -1;
    rows.push_back(row);
    is_open_ = true;
    has_sent_ = has_received_ = false;
}

void MpiCalls::end(int64_t time_ns, uint16_t flags)
{
    if (!is_open_)
        return;
    OperationRow &row = rows.back();
    row.t1 = time_ns > row.t0 ? time_ns : row.t0;
    row.flags = flags;
    is_open_ = false;
}

void MpiCalls::send(const Transfer &transfer)
{
    OperationRow *row = open();
    if (!row)
        return;
    row->sent = sum(row->sent, transfer.bytes);
    if (has_sent_)
        return;
    has_sent_ = true;
    row->comm = transfer.comm ? transfer.comm->index : -1;
    row->peer = world_rank(transfer.comm, transfer.peer);
    row->tag = tag_of(transfer.tag);
}

void MpiCalls::receive(const Transfer &transfer)
{
    OperationRow *row = open();
    if (!row)
        return;
    row->received = sum(row->received, transfer.bytes);
    if (has_received_)
        return;
    has_received_ = true;
    if (!has_sent_)
        row->comm = transfer.comm ? transfer.comm->index : -1;
    const int32_t peer = world_rank(transfer.comm, transfer.peer);
    if (is_combined_) {
        row->seq = peer;
        row->request = static_cast<int64_t>(tag_of(transfer.tag)) + 1;
    } else {
        row->peer = peer;
        row->tag = tag_of(transfer.tag);
    }
}

void MpiCalls::collective(const CommMembers *comm, uint32_t root, uint64_t sent, uint64_t received)
{
    OperationRow *row = open();
    if (!row)
        return;
    row->comm = comm ? comm->index : -1;
    row->peer = root == UINT32_MAX ? PEER_NONE : world_rank(comm, root);
    row->sent = sum(row->sent, sent);
    row->received = sum(row->received, received);
}

void MpiCalls::started(uint64_t request)
{
    OperationRow *row = open();
    if (!row || row->request)
        return;
    if (!has_sent_)
        row->peer = PEER_UNKNOWN; // told when the request completes
    row->request = ++requests_;
    pending_[request] = rows.size() - 1;
}

OperationRow *MpiCalls::maker(uint64_t request)
{
    const auto found = pending_.find(request);
    if (found == pending_.end())
        return nullptr;
    OperationRow *row = &rows[found->second];
    pending_.erase(found);
    return row;
}

void MpiCalls::complete(int64_t time_ns, const OperationRow &maker, uint64_t bytes)
{
    OperationRow row = maker;
    row.t0 = row.t1 = time_ns;
    row.flags = 0;
    row.tid = tid_;
    row.sent = 0;
    row.received = sum(0, bytes);
    completions.push_back(row);
}

void MpiCalls::completed(int64_t time_ns, uint64_t request)
{
    if (const OperationRow *row = maker(request))
        complete(time_ns, *row, 0);
}

void MpiCalls::received(int64_t time_ns, uint64_t request, const Transfer &transfer)
{
    OperationRow *row = maker(request);
    if (!row)
        return;
    row->comm = transfer.comm ? transfer.comm->index : -1;
    row->peer = world_rank(transfer.comm, transfer.peer);
    row->tag = tag_of(transfer.tag);
    row->received = sum(row->received, transfer.bytes);
    complete(time_ns, *row, transfer.bytes);
}

void MpiCalls::collected(int64_t time_ns, uint64_t request, const CommMembers *comm, uint32_t root, uint64_t sent,
                         uint64_t received)
{
    OperationRow *row = maker(request);
    if (!row)
        return;
    row->comm = comm ? comm->index : -1;
    row->peer = root == UINT32_MAX ? PEER_NONE : world_rank(comm, root);
    row->sent = sum(row->sent, sent);
    row->received = sum(row->received, received);
    complete(time_ns, *row, received);
}

} // namespace perfscope
