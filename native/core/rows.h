// Rows of the trace model, as perfscope/trace/model.py declares them; a test compares the layouts.
#pragma once

#include <cstdint>

namespace perfscope {

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
#pragma pack(pop)

} // namespace perfscope
