// MPI calls and completions out of the records of perfscope's own recordings, without what cannot be true.
#pragma once

#include "../rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <unordered_map>
#include <utility>
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

// When a process lived, and what its records may hold.
struct RecordRules {
    uint64_t first_ns, bound_ns;
    uint64_t amounts_below;
    uint16_t last_kind;
    std::vector<uint8_t> operations; // by code
};

// How the ids of a process are to be read.
struct RecordNumbering {
    int64_t world_size;
    std::unordered_map<uint32_t, int32_t> communicators;
};

// Leaves numbers as they are until they are written: a column that grows block by block is written once.
template <class T> struct Unwritten : std::allocator<T> {
    template <class Other> struct rebind {
        using other = Unwritten<Other>;
    };
    void construct(T *at) { ::new (static_cast<void *>(at)) T; }
    template <class... Values> void construct(T *at, Values &&...values)
    {
        ::new (static_cast<void *>(at)) T(std::forward<Values>(values)...);
    }
};
template <class T> using Written = std::vector<T, Unwritten<T>>;

// The rows of a table, column by column.
struct OperationColumns {
    Written<int64_t> t0, t1, seq, sent, received, request;
    Written<uint16_t> op, flags;
    Written<uint32_t> tid;
    Written<int32_t> comm, peer, tag;

    size_t size() const { return t0.size(); }
};
std::vector<OperationRow> rows_of(const OperationColumns &columns);

// Takes records block by block as they are read, so that a long run is never held twice.
class RecordedCalls {
public:
    explicit RecordedCalls(RecordRules rules) : rules_(std::move(rules)) {}
    // How many there will be, as far as is known.
    void expect(size_t calls, size_t completed);
    // Gives the number of slots up to the last one in which something was written.
    size_t take(const RecordedRow *records, size_t count);
    // Translates ids, ends the calls that are open, orders all, and leaves out those that reach into the next of their
    // thread. Nothing can be taken behind it.
    void close(int64_t end_ns, const RecordNumbering &numbering);

    OperationColumns operations;
    std::vector<OperationRow> completions;
    std::vector<RecordedRow> others; // all other records
    std::vector<int64_t> possible;   // places of those that can be true
    uint64_t last_ns = 0;            // the latest moment of a record that can be true
    uint64_t last_told_ns = 0;       // the latest moment in the life of the process that any record tells
    std::array<uint64_t, static_cast<size_t>(RecordFault::COUNT)> faults{};

private:
    void take_part(const RecordedRow *records, size_t count);
    bool is_usual(const RecordedRow &record) const;
    bool plausible(const RecordedRow &record);
    bool is_call(const RecordedRow &record);
    void add_calls(const RecordedRow *records, const std::vector<uint32_t> &chosen);
    void add_completion(const RecordedRow &record);
    void add_other(const RecordedRow &record, bool is_possible);
    void note_moments(const RecordedRow &record);
    uint16_t flags_of(const RecordedRow &record) const;
    uint8_t operation_of(uint16_t code) const;
    void count(RecordFault fault) { faults[static_cast<size_t>(fault)]++; }
    void order();
    void leave_out_overlapping();

    RecordRules rules_;
    std::vector<uint32_t> chosen_; // places of calls in a part
};

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
