// Rows of the trace model, as perfscope/trace/model.py declares them; a test compares the layouts.
#pragma once

#include <cstdint>

namespace perfscope {

constexpr int64_t LAUNCH_UNKNOWN = INT64_MIN;
constexpr int32_t PEER_NONE = -1, PEER_UNKNOWN = -2, PEER_PROC_NULL = -3;
constexpr uint16_t ROW_OPEN = 1, ROW_COALESCED = 2, ROW_SAMPLED = 4; // RowFlag

enum class DeviceKind : uint32_t { COMPUTE = 0, COMMUNICATION = 1, MEMCPY = 2, MEMSET = 3 };

#pragma pack(push, 1)
struct OperationRow {
    int64_t t0, t1; // ns
    uint16_t op;    // OperationCode
    uint16_t flags; // RowFlag
    uint32_t tid;
    int32_t comm; // index of the communicator, -1 none
    int64_t seq;
    int32_t peer;
    int32_t tag;
    int64_t sent, received; // bytes
    int64_t request;
};

struct PhaseRow {
    int64_t t0, t1; // ns
    uint16_t kind;  // PhaseKind
    uint16_t flags; // RowFlag
    uint32_t tid;
    int32_t name;
    int64_t step; // -1 unknown
    int32_t epoch;
};

struct StepRow {
    int64_t t0, t1; // ns
    int64_t number;
    int32_t epoch;
    int64_t samples;
    int64_t global_batch;
};

// As perfscope/trace/devices.py declares it.
struct DeviceRow {
    int64_t t0, t1; // ns
    int64_t launch; // ns, LAUNCH_UNKNOWN
    int64_t correlation;
    int64_t bytes;
    int64_t seq;
    int32_t name;
    int32_t device, stream;
    int32_t comm;
    int32_t op;
    uint32_t kind;  // DeviceKind
    uint32_t flags; // RowFlag
    uint32_t members;
};

// Ranks agree that a tensor is ready on all of them.
struct NegotiationRow {
    int64_t t0, t1;               // ns
    int64_t first_tick, last_tick; // ns, 0 without ticks
    int32_t tensor;
    int32_t operation;             // index in the names of the timeline
    int32_t first_rank, last_rank; // -1 without ticks
    int32_t ticks;
    uint32_t flags; // RowFlag
};

// When a rank had a tensor ready.
struct TickRow {
    int64_t t; // ns
    int32_t negotiation;
    int32_t rank;
};

// What was done with a tensor.
struct TensorActivityRow {
    int64_t t0, t1; // ns
    int64_t bytes;  // of the tensor, -1 unknown
    int32_t tensor;
    int32_t name;   // index in the names of the timeline
    int32_t parent; // row that it is nested in, -1 none
    uint16_t depth;
    uint16_t flags; // RowFlag
};

// An MPI call of a Paraver trace.
struct ParaverCallRow {
    int64_t t0, t1; // ns
    int64_t sent, received; // bytes
    int32_t location;
    int32_t value;        // which call, as the .pcf file names it
    int32_t communicator; // number in the trace, -1 none
    uint16_t kind;        // 1 point to point, 2 collective, 3 other
    uint16_t flags;       // RowFlag
    uint16_t is_root;
};

// A message of a Paraver trace: logical times are those of the calls, physical ones those of the transfer.
struct ParaverMessageRow {
    int64_t send, sent, receive, received; // ns
    int64_t bytes;
    int32_t sender, receiver; // locations
    int32_t tag;
};

struct ParaverCounterRow {
    int64_t t; // ns
    int64_t value;
    int32_t location;
    int32_t type; // index of the types of the trace
};

// A time that a location spent reading or writing files.
struct ParaverStateRow {
    int64_t t0, t1; // ns
    int32_t location;
};
#pragma pack(pop)

} // namespace perfscope
