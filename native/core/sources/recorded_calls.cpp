#include "recorded_calls.h"

#include "../sinks/mpi_calls.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace perfscope {

constexpr uint16_t KIND_NONE = 0, KIND_OPERATION = 1, KIND_COMPLETION = 2, KIND_METRIC = 7;
constexpr uint32_t NO_ID = UINT32_MAX;

RecordedCalls::RecordedCalls(const RecordedRow *records, size_t count, RecordRules rules) : rules_(std::move(rules))
{
    size_t calls = 0, completed = 0;
    for (size_t i = 0; i < count; i++) {
        calls += records[i].kind == KIND_OPERATION;
        completed += records[i].kind == KIND_COMPLETION;
    }
    operations.reserve(calls);
    completions.reserve(completed);
    for (size_t i = 0; i < count; i++) {
        const RecordedRow &record = records[i];
        if (!plausible(record))
            continue;
        last_ns = std::max({last_ns, record.t0_ns, record.t1_ns});
        if (record.kind == KIND_OPERATION)
            add_call(record);
        else if (record.kind == KIND_COMPLETION)
            add_completion(record);
        else
            others.push_back(static_cast<int64_t>(i));
    }
}

bool RecordedCalls::plausible(const RecordedRow &record)
{
    if (record.kind == KIND_NONE) {
        if (record.t0_ns)
            count(RecordFault::UNFINISHED);
        return false;
    }
    if (record.kind > rules_.last_kind) {
        count(RecordFault::UNKNOWN_KIND);
        return false;
    }
    const bool in_life = record.t0_ns >= rules_.first_ns && record.t0_ns <= rules_.bound_ns;
    const bool ordered = !record.t1_ns || (record.t1_ns >= record.t0_ns && record.t1_ns <= rules_.bound_ns);
    if (!in_life || !ordered) {
        count(RecordFault::IMPOSSIBLE_TIME);
        return false;
    }
    const bool sent = record.kind == KIND_METRIC || record.sent < rules_.amounts_below;
    if (sent && record.received < rules_.amounts_below && record.request < rules_.amounts_below)
        return true;
    count(RecordFault::IMPOSSIBLE_AMOUNT);
    return false;
}

uint8_t RecordedCalls::operation_of(const RecordedRow &record) const
{
    return record.op < rules_.operations.size() ? rules_.operations[record.op] : 0;
}

void RecordedCalls::add_call(const RecordedRow &record)
{
    const uint8_t operation = operation_of(record);
    if (!(operation & OPERATION_KNOWN)) {
        count(RecordFault::UNKNOWN_OPERATION);
        return;
    }
    OperationRow row = row_of(record, operation);
    if (!record.t1_ns)
        row.flags |= ROW_OPEN;
    if (operation & OPERATION_POLLS && record.request > 1)
        row.flags |= ROW_COALESCED;
    operations.push_back(row);
}

void RecordedCalls::add_completion(const RecordedRow &record)
{
    const uint8_t operation = operation_of(record);
    if (!(operation & OPERATION_KNOWN) || !record.request) {
        count(RecordFault::COMPLETES_NOTHING);
        return;
    }
    OperationRow row = row_of(record, operation);
    row.t1 = row.t0;
    completions.push_back(row);
}

OperationRow RecordedCalls::row_of(const RecordedRow &record, uint8_t operation)
{
    OperationRow row{};
    row.t0 = static_cast<int64_t>(record.t0_ns);
    row.t1 = static_cast<int64_t>(record.t1_ns);
    row.op = record.op;
    row.tid = record.tid;
    const int32_t comm = communicator(record.comm);
    row.comm = comm;
    row.seq = sequence(record, comm, operation);
    const bool outside = record.peer < PEER_PROC_NULL || record.peer >= rules_.world_size;
    if (outside)
        count(RecordFault::UNKNOWN_PEER);
    row.peer = outside ? PEER_UNKNOWN : record.peer;
    row.tag = record.tag;
    row.sent = static_cast<int64_t>(record.sent);
    row.received = static_cast<int64_t>(record.received);
    row.request = static_cast<int64_t>(record.request);
    return row;
}

int32_t RecordedCalls::communicator(uint32_t id)
{
    if (!has_last_ || id != last_id_) { // nearly all calls use the one of the call before
        const auto found = rules_.communicators.find(id);
        last_known_ = found != rules_.communicators.end();
        last_index_ = last_known_ ? found->second : -1;
        last_id_ = id;
        has_last_ = true;
    }
    if (!last_known_ && id != NO_ID)
        count(RecordFault::UNKNOWN_COMMUNICATOR);
    return last_index_;
}

// The ordinal of a collective, or the world rank that a combined call received from.
int64_t RecordedCalls::sequence(const RecordedRow &record, int32_t comm, uint8_t operation) const
{
    if (operation & OPERATION_EXCHANGES) {
        const auto source = static_cast<int32_t>(record.seq);
        if (source >= 0 && source < rules_.world_size)
            return source;
        return source == PEER_PROC_NULL ? PEER_PROC_NULL : PEER_UNKNOWN;
    }
    const bool numbered = comm >= 0 && record.seq != NO_ID && operation & OPERATION_COLLECTIVE;
    return numbered ? static_cast<int64_t>(record.seq) : -1;
}

static bool is_before(const OperationRow &a, const OperationRow &b)
{
    const int64_t begin_a = a.t0, begin_b = b.t0, end_a = a.t1, end_b = b.t1;
    return std::tie(begin_a, end_a) < std::tie(begin_b, end_b);
}

void RecordedCalls::close(int64_t end_ns)
{
    bool is_sorted = true;
    for (size_t i = 0; i < operations.size(); i++) {
        if (operations[i].flags & ROW_OPEN)
            operations[i].t1 = end_ns;
        is_sorted = is_sorted && (i == 0 || !is_before(operations[i], operations[i - 1]));
    }
    if (!is_sorted)
        std::stable_sort(operations.begin(), operations.end(), is_before);
    const auto begins_before = [](const OperationRow &a, const OperationRow &b) { return a.t0 < b.t0; };
    if (!std::is_sorted(completions.begin(), completions.end(), begins_before))
        std::stable_sort(completions.begin(), completions.end(), begins_before);
    leave_out_overlapping();
}

void RecordedCalls::leave_out_overlapping()
{
    std::unordered_map<uint32_t, size_t> latest; // place of the last call of each thread
    std::vector<size_t> bad;
    size_t *place = nullptr;
    uint32_t thread = 0;
    for (size_t i = 0; i < operations.size(); i++) {
        const OperationRow &row = operations[i];
        if (row.flags & ROW_COALESCED)
            continue;
        if (!place || row.tid != thread) {
            thread = row.tid;
            const auto [found, is_first] = latest.try_emplace(thread, i);
            place = &found->second;
            if (is_first)
                continue;
        }
        if (*place != i && operations[*place].t1 > row.t0)
            bad.push_back(*place);
        *place = i;
    }
    if (bad.empty())
        return;
    std::sort(bad.begin(), bad.end());
    size_t kept = 0, next = 0;
    for (size_t i = 0; i < operations.size(); i++) {
        if (next < bad.size() && bad[next] == i)
            next++;
        else
            operations[kept++] = operations[i];
    }
    operations.resize(kept);
    faults[static_cast<size_t>(RecordFault::OVERLAPS)] += bad.size();
}

// Block by block, so that the rows are walked once: a long table may lie on the disk.
OperationColumns columns_of(const std::vector<OperationRow> &rows)
{
    constexpr size_t BLOCK_ROWS = 4096;
    OperationColumns columns;
    size_t first = 0, end = 0;
    const auto fill = [&](auto &column, auto value_of) {
        column.reserve(rows.size());
        column.resize(end);
        auto *const values = column.data();
        for (size_t i = first; i < end; i++)
            values[i] = value_of(rows[i]);
    };
    for (; first < rows.size(); first = end) {
        end = std::min(first + BLOCK_ROWS, rows.size());
        fill(columns.t0, [](const OperationRow &row) { return row.t0; });
        fill(columns.t1, [](const OperationRow &row) { return row.t1; });
        fill(columns.op, [](const OperationRow &row) { return row.op; });
        fill(columns.flags, [](const OperationRow &row) { return row.flags; });
        fill(columns.tid, [](const OperationRow &row) { return row.tid; });
        fill(columns.comm, [](const OperationRow &row) { return row.comm; });
        fill(columns.seq, [](const OperationRow &row) { return row.seq; });
        fill(columns.peer, [](const OperationRow &row) { return row.peer; });
        fill(columns.tag, [](const OperationRow &row) { return row.tag; });
        fill(columns.sent, [](const OperationRow &row) { return row.sent; });
        fill(columns.received, [](const OperationRow &row) { return row.received; });
        fill(columns.request, [](const OperationRow &row) { return row.request; });
    }
    return columns;
}

namespace {

struct Totaled {
    uint16_t op, flags;
    int64_t t0, t1, sent, received;
};

// `row_of(i)` gives what counts of a row.
template <class RowOf> OperationTotals totals_of(size_t count, size_t codes, const RowOf &row_of)
{
    // unsigned, as damaged amounts may be anything and sums of them must still be defined
    std::vector<std::array<uint64_t, 6>> sums(codes);
    for (size_t i = 0; i < count; i++) {
        const Totaled row = row_of(i);
        if (row.op >= codes)
            continue;
        auto &sum = sums[row.op];
        const uint64_t length = static_cast<uint64_t>(row.t1) - static_cast<uint64_t>(row.t0);
        sum[0]++;
        sum[1] += length;
        sum[2] += static_cast<uint64_t>(row.sent);
        sum[3] += static_cast<uint64_t>(row.received);
        if (!(row.flags & ROW_OPEN)) {
            sum[4]++;
            sum[5] += length;
        }
    }
    OperationTotals found(codes);
    for (size_t code = 0; code < codes; code++)
        for (size_t i = 0; i < 6; i++)
            found[code][i] = static_cast<int64_t>(sums[code][i]);
    return found;
}

} // namespace

OperationTotals operation_totals(const OperationRow *rows, size_t count, size_t codes)
{
    return totals_of(count, codes, [&](size_t i) {
        const OperationRow &row = rows[i];
        return Totaled{row.op, row.flags, row.t0, row.t1, row.sent, row.received};
    });
}

OperationTotals operation_totals(const TotaledColumns &columns, size_t codes)
{
    return totals_of(columns.count, codes, [&](size_t i) {
        return Totaled{columns.op[i],   columns.flags[i], columns.t0[i],
                       columns.t1[i], columns.sent[i],  columns.received[i]};
    });
}

} // namespace perfscope
