// HostSink: the events beside enter and leave.
#include "otf2_host_sink.h"

namespace perfscope::otf2 {

enum MetricMode : uint8_t {
    METRIC_VALUE_RELATIVE = 2,
    METRIC_VALUE_MASK = 15,
    METRIC_TIMING_NEXT = 48,
    METRIC_TIMING_MASK = 240,
};
enum ValueType : uint8_t { TYPE_UINT64 = 4, TYPE_INT64 = 8, TYPE_DOUBLE = 10 };

const CommMembers *HostSink::comm(uint32_t local) const
{
    return shared_.comms.find(static_cast<uint32_t>(locals_.global(MapKind::COMM, local)));
}

Transfer HostSink::transfer(Bytes &payload) const
{
    const uint32_t peer = payload.u32();
    const CommMembers *group = comm(payload.u32());
    const uint32_t tag = payload.u32();
    return {group, peer, tag, payload.u64()};
}

uint32_t HostSink::context(Bytes &payload) const
{
    const auto found = shared_.context_region.find(locals_.global(MapKind::CALLING_CONTEXT, payload.u32()));
    return found == shared_.context_region.end() ? static_cast<uint32_t>(shared_.roles.size())
                                                 : shared_.index_of(found->second);
}

void HostSink::record(uint8_t type, uint64_t time, Bytes &payload)
{
    if (!wanted_[type] || (!keeps_rows_ && count_message(type, payload)))
        return;
    if (type == METRIC)
        metric(time, payload);
    else if (type == CALLING_CONTEXT_ENTER)
        begin(time, context(payload));
    else if (type == CALLING_CONTEXT_LEAVE)
        end(time, context(payload));
    else if (type == PROGRAM_BEGIN || type == PROGRAM_END)
        program(type, payload);
    else if (!message(type, time, payload))
        remote_access(type, time, payload);
}

// The numbers of perfscope's own attributes; lists of other kinds are left at their first other value.
void HostSink::tell(Bytes payload)
{
    const uint32_t count = payload.u32();
    payload.expect(count, 2);
    is_told_ = true;
    for (uint32_t i = 0; i < count; i++) {
        const auto found = shared_.facts.find(locals_.global(MapKind::ATTRIBUTE, payload.u32()));
        if (payload.u8() != TYPE_INT64)
            return;
        const auto value = static_cast<int64_t>(payload.u64());
        if (found != shared_.facts.end())
            facts_.*found->second = value;
    }
}

void HostSink::program(uint8_t type, Bytes &payload)
{
    if (type == PROGRAM_END) {
        result_.has_exit_status = true;
        result_.exit_status = payload.i64();
        return;
    }
    const auto global = [this](uint32_t id) { return static_cast<uint32_t>(locals_.global(MapKind::STRING, id)); };
    result_.program = {global(payload.u32())};
    const uint32_t count = payload.u32();
    payload.expect(count, 1);
    for (uint32_t i = 0; i < count; i++)
        result_.program.push_back(global(payload.u32()));
}

// Where single calls are not kept, of a message only its bytes matter.
bool HostSink::count_message(uint8_t type, Bytes &payload)
{
    const bool is_sent = type == MPI_SEND || type == MPI_ISEND;
    if (type == MPI_MRECV || type == MPI_IMRECV) {
        payload.u64(); // message or request
        got(payload.u64());
        return true;
    }
    if (!is_sent && type != MPI_RECV && type != MPI_IRECV)
        return false;
    const Transfer what = transfer(payload);
    (is_sent ? result_.messages_sent : result_.messages_received)++;
    (is_sent ? result_.bytes_sent : result_.bytes_received) += what.bytes;
    return true;
}

void HostSink::sent(const Transfer &what)
{
    result_.messages_sent++;
    result_.bytes_sent += what.bytes;
}

void HostSink::got(uint64_t bytes)
{
    result_.messages_received++;
    result_.bytes_received += bytes;
}

bool HostSink::message(uint8_t type, uint64_t time, Bytes &payload)
{
    switch (type) {
    case MPI_SEND:
    case MPI_ISEND: {
        const Transfer what = transfer(payload);
        sent(what);
        if (type == MPI_SEND)
            calls_.send(what);
        else
            calls_.sending(what, payload.u64());
        return true;
    }
    case MPI_RECV:
    case MPI_IRECV: {
        const Transfer what = transfer(payload);
        got(what.bytes);
        if (type == MPI_RECV)
            calls_.receive(what);
        else
            calls_.received(clock_.ns(time), payload.u64(), what);
        return true;
    }
    case MPI_IRECV_REQUEST:
        calls_.receiving(payload.u64());
        return true;
    case NON_BLOCKING_COLLECTIVE_REQUEST:
        calls_.collecting(payload.u64());
        return true;
    case MPI_ISEND_COMPLETE:
        calls_.completed(clock_.ns(time), payload.u64());
        return true;
    case MPI_REQUEST_CANCELLED:
        calls_.cancelled(payload.u64());
        return true;
    case MPI_COLLECTIVE_END:
    case NON_BLOCKING_COLLECTIVE_COMPLETE: {
        payload.u8(); // the operation, which the region tells more exactly
        const CommMembers *group = comm(payload.u32());
        const uint32_t root = payload.u32();
        const uint64_t out = payload.u64(), in = payload.u64();
        if (type == MPI_COLLECTIVE_END)
            calls_.collective(group, root, out, in);
        else
            calls_.collected(clock_.ns(time), payload.u64(), group, root, out, in);
        return true;
    }
    default:
        return probed_message(type, time, payload);
    }
}

// What MPI_Mprobe and the like found, and what received it.
bool HostSink::probed_message(uint8_t type, uint64_t time, Bytes &payload)
{
    if (type == MPI_PROBE) {
        const uint32_t peer = payload.u32();
        const CommMembers *group = comm(payload.u32());
        const uint32_t tag = payload.u32();
        calls_.probed({group, peer, tag, 0}, payload.u64());
        return true;
    }
    if (type != MPI_MRECV && type != MPI_IMRECV_REQUEST && type != MPI_IMRECV)
        return false;
    const uint64_t id = payload.u64(), value = payload.u64(); // of the message; of the request for MPI_IMRECV
    if (type == MPI_IMRECV_REQUEST) {
        calls_.receiving_probed(id, value);
        return true;
    }
    got(value);
    if (type == MPI_MRECV)
        calls_.receive_probed(id, value);
    else
        calls_.received_probed(clock_.ns(time), id, value);
    return true;
}

// Score-P writes the memory operations of CUDA and HIP as remote accesses on the location of the stream.
bool HostSink::remote_access(uint8_t type, uint64_t time, Bytes &payload)
{
    if (type == RMA_PUT || type == RMA_GET) {
        payload.u32(); // window
        payload.u32(); // remote location
        const uint64_t bytes = payload.u64();
        transfers_[payload.u64()] = result_.devices.size();
        const int64_t at = clock_.ns(time);
        const auto kind = type == RMA_PUT ? StreamWork::PUT : StreamWork::GET;
        result_.devices.push_back({at, at, location_, UINT32_MAX, bytes, static_cast<uint8_t>(kind)});
        return true;
    }
    if (type == RMA_OP_COMPLETE_BLOCKING || type == RMA_OP_COMPLETE_NON_BLOCKING || type == RMA_OP_COMPLETE_REMOTE) {
        payload.u32(); // window
        const auto found = transfers_.find(payload.u64());
        if (found == transfers_.end())
            return true;
        result_.devices[found->second].t1 = clock_.ns(time);
        transfers_.erase(found);
        return true;
    }
    return false;
}

static double as_double(uint8_t type, uint64_t bits)
{
    if (type == TYPE_DOUBLE) {
        double value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }
    return type == TYPE_INT64 ? static_cast<double>(static_cast<int64_t>(bits)) : static_cast<double>(bits);
}

// The value as the counter of the trace has it: relative ones are added up, because a series is thinned.
double HostSink::summed(uint32_t metric, const MetricMember &member, double value)
{
    value = member.in_unit(value);
    if ((member.mode & METRIC_VALUE_MASK) != METRIC_VALUE_RELATIVE)
        return value;
    Sum &sum = sums_[static_cast<uint64_t>(metric) << 32 | member.id];
    const double before = sum.value;
    sum.value += value;
    sum.is_next = (member.mode & METRIC_TIMING_MASK) == METRIC_TIMING_NEXT;
    return sum.is_next ? before : sum.value;
}

void HostSink::metric(uint64_t time, Bytes &payload)
{
    const auto id = static_cast<uint32_t>(locals_.global(MapKind::METRIC, payload.u32()));
    auto found = shared_.metrics.find(id);
    if (found != shared_.metrics.end() && found->second->metric_class != UNDEFINED_32)
        found = shared_.metrics.find(found->second->metric_class);
    const uint8_t count = payload.u8();
    if (found == shared_.metrics.end())
        return;
    const auto &members = found->second->members;
    const int64_t at = clock_.ns(time);
    for (uint8_t i = 0; i < count && i < members.size(); i++) {
        const uint8_t type = payload.u8();
        const double value = as_double(type, payload.u64());
        const auto member = shared_.metric_members.find(members[i]);
        const bool is_defined = member != shared_.metric_members.end();
        const Sample sample{at, location_, members[i], is_defined ? summed(id, *member->second, value) : value};
        counters_.try_emplace(members[i], shared_.budget.counter_samples).first->second.add(sample);
    }
}

} // namespace perfscope::otf2
