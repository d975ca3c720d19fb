#include "recorded_calls.h"

#include "../reducers/mpi_calls.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <type_traits>

namespace perfscope {

constexpr uint16_t KIND_NONE = 0, KIND_OPERATION = 1, KIND_COMPLETION = 2, KIND_METRIC = 7, KIND_THINNED = 10;
constexpr uint32_t NO_ID = UINT32_MAX;
constexpr size_t PART_ROWS = 256; // whose columns are filled while the records are in the nearest cache

template <class Each> static void for_each_column(OperationColumns &columns, const Each &each)
{
    for (auto *column : {&columns.t0, &columns.t1, &columns.seq, &columns.sent, &columns.received, &columns.request})
        each(*column);
    for (auto *column : {&columns.op, &columns.flags})
        each(*column);
    each(columns.tid);
    for (auto *column : {&columns.comm, &columns.peer, &columns.tag})
        each(*column);
}

void RecordedCalls::expect(size_t calls, size_t completed)
{
    for_each_column(operations, [&](auto &column) { column.reserve(calls); });
    completions.reserve(completed);
}

size_t RecordedCalls::take(const RecordedRow *records, size_t count)
{
    for (size_t first = 0; first < count; first += PART_ROWS)
        take_part(records + first, std::min(PART_ROWS, count - first));
    while (count && records[count - 1].kind == KIND_NONE)
        count--;
    return count;
}

void RecordedCalls::take_part(const RecordedRow *records, size_t count)
{
    chosen_.clear();
    for (size_t i = 0; i < count; i++) {
        const RecordedRow &record = records[i];
        if (record.kind == KIND_THINNED)
            continue;
        const bool can_be = is_usual(record) || plausible(record);
        if (can_be)
            last_ns = std::max({last_ns, record.t0_ns, record.t1_ns});
        else
            note_moments(record);
        if (record.kind != KIND_OPERATION && record.kind != KIND_COMPLETION)
            add_other(record, can_be);
        else if (can_be && record.kind == KIND_COMPLETION)
            add_completion(record);
        else if (can_be && is_call(record))
            chosen_.push_back(static_cast<uint32_t>(i));
    }
    last_told_ns = std::max(last_told_ns, last_ns); // all that can be true is told
    add_calls(records, chosen_);
}

// Most records: of all that makes one implausible there is nothing, which takes no branch for each.
bool RecordedCalls::is_usual(const RecordedRow &record) const
{
    const bool is_call = (record.kind == KIND_OPERATION) | (record.kind == KIND_COMPLETION);
    const bool in_life = (record.t0_ns >= rules_.first_ns) & (record.t1_ns >= record.t0_ns) & (record.t1_ns <= rules_.bound_ns);
    const uint64_t most = std::max({record.sent, record.received, record.request});
    return is_call & in_life & (most < rules_.amounts_below);
}

void RecordedCalls::note_moments(const RecordedRow &record)
{
    for (const uint64_t moment : {record.t0_ns, record.t1_ns})
        if (moment >= rules_.first_ns && moment <= rules_.bound_ns)
            last_told_ns = std::max(last_told_ns, moment);
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

uint8_t RecordedCalls::operation_of(uint16_t code) const
{
    return code < rules_.operations.size() ? rules_.operations[code] : 0;
}

bool RecordedCalls::is_call(const RecordedRow &record)
{
    if (operation_of(record.op) & OPERATION_KNOWN)
        return true;
    count(RecordFault::UNKNOWN_OPERATION);
    return false;
}

uint16_t RecordedCalls::flags_of(const RecordedRow &record) const
{
    const bool is_coalesced = operation_of(record.op) & OPERATION_POLLS && record.request > 1;
    return static_cast<uint16_t>((record.t1_ns ? 0 : ROW_OPEN) | (is_coalesced ? ROW_COALESCED : 0));
}

// Ids are translated when the process is closed: what they mean is told in files that are read later.
void RecordedCalls::add_calls(const RecordedRow *records, const std::vector<uint32_t> &chosen)
{
    const auto fill = [&](auto &column, auto value_of) {
        const size_t end = column.size();
        column.resize(end + chosen.size());
        auto *value = column.data() + end;
        for (const uint32_t place : chosen)
            *value++ = static_cast<typename std::decay_t<decltype(column)>::value_type>(value_of(records[place]));
    };
    fill(operations.t0, [](const RecordedRow &record) { return record.t0_ns; });
    fill(operations.t1, [](const RecordedRow &record) { return record.t1_ns; });
    fill(operations.op, [](const RecordedRow &record) { return record.op; });
    fill(operations.flags, [this](const RecordedRow &record) { return flags_of(record); });
    fill(operations.tid, [](const RecordedRow &record) { return record.tid; });
    fill(operations.comm, [](const RecordedRow &record) { return record.comm; });
    fill(operations.seq, [](const RecordedRow &record) { return record.seq; });
    fill(operations.peer, [](const RecordedRow &record) { return record.peer; });
    fill(operations.tag, [](const RecordedRow &record) { return record.tag; });
    fill(operations.sent, [](const RecordedRow &record) { return record.sent; });
    fill(operations.received, [](const RecordedRow &record) { return record.received; });
    fill(operations.request, [](const RecordedRow &record) { return record.request; });
}

void RecordedCalls::add_completion(const RecordedRow &record)
{
    if (!(operation_of(record.op) & OPERATION_KNOWN) || !record.request) {
        count(RecordFault::COMPLETES_NOTHING);
        return;
    }
    OperationRow row{};
    row.t0 = row.t1 = static_cast<int64_t>(record.t0_ns);
    row.op = record.op;
    row.tid = record.tid;
    row.comm = static_cast<int32_t>(record.comm);
    row.seq = static_cast<int64_t>(record.seq);
    row.peer = record.peer;
    row.tag = record.tag;
    row.sent = static_cast<int64_t>(record.sent);
    row.received = static_cast<int64_t>(record.received);
    row.request = static_cast<int64_t>(record.request);
    completions.push_back(row);
}

void RecordedCalls::add_other(const RecordedRow &record, bool is_possible)
{
    if (record.kind == KIND_NONE)
        return;
    if (is_possible)
        possible.push_back(static_cast<int64_t>(others.size()));
    others.push_back(record);
}

namespace {

// Ids of one process in its calls, which become those of the trace.
class Translation {
public:
    Translation(const RecordNumbering &numbering, const std::vector<uint8_t> &operations)
        : numbering_(numbering), operations_(operations)
    {
    }

    int32_t communicator(uint32_t id)
    {
        if (!has_last_ || id != last_id_) { // nearly all calls use the one of the call before
            const auto found = numbering_.communicators.find(id);
            last_known_ = found != numbering_.communicators.end();
            last_index_ = last_known_ ? found->second : -1;
            last_id_ = id;
            has_last_ = true;
        }
        unknown_communicators += !last_known_ && id != NO_ID;
        return last_index_;
    }

    // The ordinal of a collective, or the world rank that a combined call received from.
    int64_t sequence(uint32_t told, int32_t comm, uint16_t code) const
    {
        const uint8_t operation = operations_[code];
        if (operation & OPERATION_EXCHANGES) {
            const auto source = static_cast<int32_t>(told);
            if (source >= 0 && source < numbering_.world_size)
                return source;
            return source == PEER_PROC_NULL ? PEER_PROC_NULL : PEER_UNKNOWN;
        }
        const bool numbered = comm >= 0 && told != NO_ID && operation & OPERATION_COLLECTIVE;
        return numbered ? static_cast<int64_t>(told) : -1;
    }

    int32_t peer(int32_t told)
    {
        const bool outside = told < PEER_PROC_NULL || told >= numbering_.world_size;
        unknown_peers += outside;
        return outside ? PEER_UNKNOWN : told;
    }

    uint64_t unknown_communicators = 0, unknown_peers = 0;

private:
    const RecordNumbering &numbering_;
    const std::vector<uint8_t> &operations_; // of all codes that there are
    uint32_t last_id_ = 0;
    int32_t last_index_ = -1;
    bool has_last_ = false, last_known_ = false;
};

template <class Column> void rearrange(Column &column, const std::vector<size_t> &places)
{
    Column moved;
    moved.reserve(places.size());
    for (const size_t place : places)
        moved.push_back(column[place]);
    column = std::move(moved);
}

} // namespace

void RecordedCalls::close(int64_t end_ns, const RecordNumbering &numbering)
{
    Translation translation(numbering, rules_.operations);
    OperationColumns &calls = operations;
    for (size_t i = 0; i < calls.size(); i++) {
        calls.comm[i] = translation.communicator(static_cast<uint32_t>(calls.comm[i]));
        calls.seq[i] = translation.sequence(static_cast<uint32_t>(calls.seq[i]), calls.comm[i], calls.op[i]);
        calls.peer[i] = translation.peer(calls.peer[i]);
        if (calls.flags[i] & ROW_OPEN)
            calls.t1[i] = end_ns;
    }
    for (OperationRow &row : completions) {
        row.comm = translation.communicator(static_cast<uint32_t>(row.comm));
        row.seq = translation.sequence(static_cast<uint32_t>(row.seq), row.comm, row.op);
        row.peer = translation.peer(row.peer);
    }
    faults[static_cast<size_t>(RecordFault::UNKNOWN_COMMUNICATOR)] += translation.unknown_communicators;
    faults[static_cast<size_t>(RecordFault::UNKNOWN_PEER)] += translation.unknown_peers;
    order();
    leave_out_overlapping();
}

void RecordedCalls::order()
{
    OperationColumns &calls = operations;
    const auto is_before = [&](size_t a, size_t b) {
        return std::tie(calls.t0[a], calls.t1[a]) < std::tie(calls.t0[b], calls.t1[b]);
    };
    bool is_sorted = true;
    for (size_t i = 1; i < calls.size() && is_sorted; i++)
        is_sorted = !is_before(i, i - 1);
    if (!is_sorted) {
        std::vector<size_t> places(calls.size());
        std::iota(places.begin(), places.end(), size_t{0});
        std::stable_sort(places.begin(), places.end(), is_before);
        for_each_column(calls, [&](auto &column) { rearrange(column, places); });
    }
    const auto begins_before = [](const OperationRow &a, const OperationRow &b) { return a.t0 < b.t0; };
    if (!std::is_sorted(completions.begin(), completions.end(), begins_before))
        std::stable_sort(completions.begin(), completions.end(), begins_before);
}

void RecordedCalls::leave_out_overlapping()
{
    OperationColumns &calls = operations;
    std::unordered_map<uint32_t, size_t> latest; // place of the last call of each thread
    std::vector<size_t> bad;
    size_t *place = nullptr;
    uint32_t thread = 0;
    for (size_t i = 0; i < calls.size(); i++) {
        if (calls.flags[i] & ROW_COALESCED)
            continue;
        if (!place || calls.tid[i] != thread) {
            thread = calls.tid[i];
            const auto [found, is_first] = latest.try_emplace(thread, i);
            place = &found->second;
            if (is_first)
                continue;
        }
        if (*place != i && calls.t1[*place] > calls.t0[i])
            bad.push_back(*place);
        *place = i;
    }
    if (bad.empty())
        return;
    std::sort(bad.begin(), bad.end());
    for_each_column(calls, [&](auto &column) {
        size_t kept = bad.front(), next = 0;
        for (size_t i = kept; i < column.size(); i++) {
            if (next < bad.size() && bad[next] == i)
                next++;
            else
                column[kept++] = column[i];
        }
        column.resize(kept);
    });
    faults[static_cast<size_t>(RecordFault::OVERLAPS)] += bad.size();
}

std::vector<OperationRow> rows_of(const OperationColumns &columns)
{
    std::vector<OperationRow> rows(columns.size());
    for (size_t i = 0; i < rows.size(); i++)
        rows[i] = {columns.t0[i],   columns.t1[i],  columns.op[i],  columns.flags[i], columns.tid[i],      columns.comm[i],
                   columns.seq[i],  columns.peer[i], columns.tag[i], columns.sent[i],  columns.received[i], columns.request[i]};
    return rows;
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
