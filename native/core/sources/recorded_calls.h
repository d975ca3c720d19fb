// MPI calls and completions out of the records of perfscope's own recordings, without what cannot be true.
#pragma once

#include "../rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace perfscope {

// A slot of a .rec file, as native/recorder/format.h declares it.
struct RecordedRow {
    uint64_t t0_ns, t1_ns;
    uint16_t kind, op;
    uint32_t tid, comm, seq;
    int32_t peer, tag;
    uint64_t sent, received, request;
};
static_assert(sizeof(RecordedRow) == 64, "a record is 64 bytes");

// Why a record is not among the tables, or what could not be read of one that is.
enum class RecordFault : size_t {
    UNFINISHED,
    UNKNOWN_KIND,
    IMPOSSIBLE_TIME,
    IMPOSSIBLE_AMOUNT,
    UNKNOWN_OPERATION,
    COMPLETES_NOTHING,
    OVERLAPS,
    UNKNOWN_COMMUNICATOR, // kept
    UNKNOWN_PEER,         // kept
    COUNT
};

// What each operation code is: bits of OPERATION_*.
constexpr uint8_t OPERATION_KNOWN = 1, OPERATION_COLLECTIVE = 2, OPERATION_POLLS = 4, OPERATION_EXCHANGES = 8;

// How the ids of a process are to be read, and when it lived.
struct RecordRules {
    uint64_t first_ns, bound_ns;
    uint64_t amounts_below;
    uint16_t last_kind;
    int64_t world_size;
    std::vector<uint8_t> operations; // by code
    std::unordered_map<uint32_t, int32_t> communicators;
};

class RecordedCalls {
public:
    RecordedCalls(const RecordedRow *records, size_t count, RecordRules rules);
    // Ends the calls that are open, orders all, and leaves out those that reach into the next of their thread.
    void close(int64_t end_ns);

    std::vector<OperationRow> operations, completions;
    std::vector<int64_t> others; // places of all other records that can be true
    uint64_t last_ns = 0;        // the latest moment of a record that can be true
    std::array<uint64_t, static_cast<size_t>(RecordFault::COUNT)> faults{};

private:
    bool plausible(const RecordedRow &record);
    void add_call(const RecordedRow &record);
    void add_completion(const RecordedRow &record);
    OperationRow row_of(const RecordedRow &record, uint8_t operation);
    int32_t communicator(uint32_t id);
    int64_t sequence(const RecordedRow &record, int32_t comm, uint8_t operation) const;
    uint8_t operation_of(const RecordedRow &record) const;
    void count(RecordFault fault) { faults[static_cast<size_t>(fault)]++; }
    void leave_out_overlapping();

    RecordRules rules_;
    uint32_t last_id_ = 0;
    int32_t last_index_ = -1;
    bool has_last_ = false;
    bool last_known_ = false;
};

// The rows of a table, column by column.
struct OperationColumns {
    std::vector<int64_t> t0, t1, seq, sent, received, request;
    std::vector<uint16_t> op, flags;
    std::vector<uint32_t> tid;
    std::vector<int32_t> comm, peer, tag;
};
OperationColumns columns_of(const std::vector<OperationRow> &rows);

// Calls, nanoseconds, bytes sent and received, closed calls and their nanoseconds, by operation code.
using OperationTotals = std::vector<std::array<int64_t, 6>>;
OperationTotals operation_totals(const OperationRow *rows, size_t count, size_t codes);

// The same of a table whose columns lie apart.
struct TotaledColumns {
    const int64_t *t0, *t1, *sent, *received;
    const uint16_t *op, *flags;
    size_t count;
};
OperationTotals operation_totals(const TotaledColumns &columns, size_t codes);

} // namespace perfscope
