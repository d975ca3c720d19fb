// MPI calls of one location as rows of the trace model.
#pragma once

#include "../rows.h"

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace perfscope {

// A communicator as its members are numbered.
struct CommMembers {
    int32_t index = -1;           // in the model; COMM_SELF for one that has each rank alone in it
    std::vector<int32_t> members; // world ranks
};
constexpr int32_t COMM_SELF = -2; // stands in a row for the communicator of the row's rank alone

// One message or collective as a record tells of it; ranks are those of the communicator.
struct Transfer {
    const CommMembers *comm; // nullptr unknown
    uint32_t peer;
    uint32_t tag;
    uint64_t bytes;
};

enum class CallKind : uint8_t {
    OTHER,
    POINT_TO_POINT,
    COMBINED, // sends and receives
    START,    // starts a persistent message
    STARTALL, // starts several
    MATCHED,  // receives what a probe has found: without a record nothing is known of it
    EXCHANGE, // starts to send and to receive
};

// Operations of the messages that a call starts beside what its own row holds.
constexpr uint16_t OP_ISEND = 17, OP_IRECV = 21, OP_START = 42, OP_START_SEND = 44, OP_START_RECV = 45;
constexpr uint16_t OP_OTHER = 253;

// Which partners of a call are MPI_PROC_NULL, of which no record of a message tells.
enum NobodyBit : int64_t { PEER_IS_NOBODY = 1, SOURCE_IS_NOBODY = 2 }; // the source is that of a combined call

class MpiCalls {
public:
    // `silent_peer` is the peer of a point-to-point call that no record tells of.
    explicit MpiCalls(uint32_t tid, int32_t silent_peer) : tid_(tid), silent_peer_(silent_peer) {}

    void begin(int64_t time_ns, uint16_t op, CallKind kind);
    void end(int64_t time_ns, uint16_t flags);
    // What an export says of the open call: RowFlag, of how many calls it stands for, 0 for itself, and NobodyBit.
    void told(uint16_t flags, int64_t calls, int64_t nobody);
    void send(const Transfer &transfer);
    void receive(const Transfer &transfer);
    void collective(const CommMembers *comm, uint32_t root, uint64_t sent, uint64_t received);
    // What the open call started; `request` as the trace numbers it. Where its row holds something already, or is that of
    // MPI_Startall, what it started is a row of its own without length at its begin.
    void sending(const Transfer &transfer, uint64_t request);
    void receiving(uint64_t request);
    void collecting(uint64_t request);
    // What a probe has found; `message` is UINT64_MAX where it is to be received like any other.
    void probed(const Transfer &found, uint64_t message);
    void receive_probed(uint64_t message, uint64_t bytes);
    void receiving_probed(uint64_t message, uint64_t request);
    // A request ended inside the open call.
    void completed(int64_t time_ns, uint64_t request);
    void received(int64_t time_ns, uint64_t request, const Transfer &transfer);
    void received_probed(int64_t time_ns, uint64_t request, uint64_t bytes);
    void collected(int64_t time_ns, uint64_t request, const CommMembers *comm, uint32_t root, uint64_t sent,
                   uint64_t received);
    void cancelled(uint64_t request) { pending_.erase(request); }

    bool is_open() const { return is_open_; }
    size_t size() const { return rows.size() + completions.size() + pending_.size() + messages_.size(); }

    std::vector<OperationRow> rows;
    std::vector<OperationRow> completions;
    uint64_t stray = 0;     // records of messages outside any MPI call
    uint64_t unstarted = 0; // requests that ended and of which this location has no start

private:
    OperationRow *open() { return is_open_ ? &rows.back() : (stray++, nullptr); }
    OperationRow *starting(uint64_t request, uint16_t op, uint16_t op_of_start);
    OperationRow &beside(uint16_t op);
    OperationRow *maker(int64_t time_ns, uint64_t request, uint16_t op);
    Transfer take_probed(uint64_t message);
    void complete(int64_t time_ns, const OperationRow &maker, uint64_t bytes);

    uint32_t tid_;
    int32_t silent_peer_;
    CallKind kind_ = CallKind::OTHER;
    bool is_open_ = false, has_sent_ = false, has_received_ = false, has_started_ = false;
    uint64_t own_request_ = 0; // that the row of the open call created, where it `has_started_`
    int64_t requests_ = 0;
    std::unordered_map<uint64_t, size_t> pending_;    // rows by the request that they created
    std::unordered_map<uint64_t, Transfer> messages_; // found by probes and not received yet
};

// The world rank of a communicator's rank; PEER_UNKNOWN where there is none.
int32_t world_rank(const CommMembers *comm, uint32_t rank);

} // namespace perfscope
