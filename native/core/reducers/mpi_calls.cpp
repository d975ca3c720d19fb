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

static void name_partner(OperationRow &row, const Transfer &transfer)
{
    row.comm = transfer.comm ? transfer.comm->index : -1;
    row.peer = world_rank(transfer.comm, transfer.peer);
    row.tag = tag_of(transfer.tag);
}

static void add_collective(OperationRow &row, const CommMembers *comm, uint32_t root, uint64_t sent, uint64_t received)
{
    row.comm = comm ? comm->index : -1;
    row.peer = root == UINT32_MAX ? PEER_NONE : world_rank(comm, root);
    row.sent = sum(row.sent, sent);
    row.received = sum(row.received, received);
}

void MpiCalls::begin(int64_t time_ns, uint16_t op, CallKind kind)
{
    OperationRow row{};
    row.t0 = row.t1 = time_ns;
    row.op = op;
    row.tid = tid_;
    row.comm = -1;
    kind_ = kind;
    row.seq = kind == CallKind::COMBINED ? silent_peer_ : -1;
    if (kind == CallKind::OTHER || kind == CallKind::START || kind == CallKind::STARTALL)
        row.peer = PEER_NONE;
    else
        row.peer = kind == CallKind::MATCHED ? PEER_UNKNOWN : silent_peer_;
    row.tag = -1;
    rows.push_back(row);
    is_open_ = true;
    has_sent_ = has_received_ = has_started_ = false;
}

void MpiCalls::end(int64_t time_ns, uint16_t flags)
{
    if (!is_open_)
        return;
    OperationRow &row = rows.back();
    row.t1 = time_ns > row.t0 ? time_ns : row.t0;
    row.flags |= flags;
    is_open_ = false;
}

void MpiCalls::told(uint16_t flags, int64_t calls, int64_t nobody)
{
    OperationRow &row = rows.back();
    row.flags |= flags;
    if (flags & ROW_COALESCED)
        row.request = calls;
    if (nobody & PEER_IS_NOBODY)
        row.peer = PEER_PROC_NULL;
    if (nobody & SOURCE_IS_NOBODY)
        row.seq = PEER_PROC_NULL;
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
    name_partner(*row, transfer);
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
    if (kind_ == CallKind::COMBINED) {
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
    add_collective(*row, comm, root, sent, received);
}

// A row before that of the open call, which stays the last one.
OperationRow &MpiCalls::beside(uint16_t op)
{
    OperationRow row{};
    row.t0 = row.t1 = rows.back().t0;
    row.op = op;
    row.tid = tid_;
    row.comm = row.tag = -1;
    row.seq = -1;
    row.peer = PEER_NONE;
    rows.insert(rows.end() - 1, row);
    if (has_started_)
        if (const auto own = pending_.find(own_request_); own != pending_.end())
            own->second = rows.size() - 1;
    return rows[rows.size() - 2];
}

// The row of what the open call starts: its own as long as that is free.
OperationRow *MpiCalls::starting(uint64_t request, uint16_t op, uint16_t op_of_start)
{
    OperationRow *row = open();
    if (!row)
        return nullptr;
    const bool is_start = kind_ == CallKind::START || kind_ == CallKind::STARTALL;
    const bool is_held = has_started_ || (kind_ == CallKind::EXCHANGE && op == OP_IRECV);
    if (kind_ == CallKind::STARTALL)
        row->request++;
    if (kind_ == CallKind::STARTALL || is_held) {
        row = &beside(is_start ? op_of_start : op);
    } else {
        row->op = kind_ == CallKind::START ? op_of_start : row->op;
        has_started_ = true;
        own_request_ = request;
    }
    row->request = ++requests_;
    pending_[request] = static_cast<size_t>(row - rows.data());
    return row;
}

void MpiCalls::sending(const Transfer &transfer, uint64_t request)
{
    OperationRow *row = starting(request, OP_ISEND, OP_START_SEND);
    if (!row)
        return;
    has_sent_ |= row == &rows.back();
    row->sent = sum(row->sent, transfer.bytes);
    name_partner(*row, transfer);
}

void MpiCalls::receiving(uint64_t request)
{
    OperationRow *row = starting(request, OP_IRECV, OP_START_RECV);
    if (row && !(has_sent_ && row == &rows.back()))
        row->peer = PEER_UNKNOWN; // told when the request completes
}

void MpiCalls::collecting(uint64_t request)
{
    if (OperationRow *row = starting(request, OP_START, OP_START))
        row->peer = PEER_UNKNOWN;
}

void MpiCalls::probed(const Transfer &found, uint64_t message)
{
    OperationRow *row = open();
    if (message != UINT64_MAX)
        messages_[message] = found;
    if (!row)
        return;
    name_partner(*row, found);
}

Transfer MpiCalls::take_probed(uint64_t message)
{
    const auto found = messages_.find(message);
    if (found == messages_.end())
        return {nullptr, UINT32_MAX, UINT32_MAX, 0};
    const Transfer result = found->second;
    messages_.erase(found);
    return result;
}

void MpiCalls::receive_probed(uint64_t message, uint64_t bytes)
{
    Transfer what = take_probed(message);
    what.bytes = bytes;
    receive(what);
}

void MpiCalls::receiving_probed(uint64_t message, uint64_t request)
{
    const Transfer what = take_probed(message);
    OperationRow *row = starting(request, OP_IRECV, OP_START_RECV);
    if (!row)
        return;
    name_partner(*row, what);
}

// The row that created a request. Of one without such a row no more is known than that it ended.
OperationRow *MpiCalls::maker(int64_t time_ns, uint64_t request, uint16_t op)
{
    const auto found = pending_.find(request);
    if (found == pending_.end()) {
        unstarted++;
        OperationRow row{};
        row.op = op;
        row.comm = row.tag = -1;
        row.seq = -1;
        row.peer = PEER_UNKNOWN;
        complete(time_ns, row, 0);
        return nullptr;
    }
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
    if (const OperationRow *row = maker(time_ns, request, OP_ISEND))
        complete(time_ns, *row, 0);
}

void MpiCalls::received(int64_t time_ns, uint64_t request, const Transfer &transfer)
{
    OperationRow *row = maker(time_ns, request, OP_IRECV);
    if (!row)
        return;
    name_partner(*row, transfer);
    row->received = sum(row->received, transfer.bytes);
    complete(time_ns, *row, transfer.bytes);
}

void MpiCalls::received_probed(int64_t time_ns, uint64_t request, uint64_t bytes)
{
    OperationRow *row = maker(time_ns, request, OP_IRECV);
    if (!row)
        return;
    row->received = sum(row->received, bytes);
    complete(time_ns, *row, bytes);
}

void MpiCalls::collected(int64_t time_ns, uint64_t request, const CommMembers *comm, uint32_t root, uint64_t sent,
                         uint64_t received)
{
    OperationRow *row = maker(time_ns, request, OP_OTHER);
    if (!row)
        return;
    add_collective(*row, comm, root, sent, received);
    complete(time_ns, *row, received);
}

} // namespace perfscope
