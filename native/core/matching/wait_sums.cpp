#include "matching/wait_sums.h"

#include "search.h"

#include <algorithm>
#include <limits>

namespace perfscope {

namespace {

// Adds as numpy does: what damaged numbers come to is still defined.
void add(int64_t &sum, int64_t more)
{
    sum = static_cast<int64_t>(static_cast<uint64_t>(sum) + static_cast<uint64_t>(more));
}

int64_t difference(int64_t one, int64_t other)
{
    return static_cast<int64_t>(static_cast<uint64_t>(one) - static_cast<uint64_t>(other));
}

// How much of the segments that count lies before moments that do not go back.
class WaitedUntil {
public:
    explicit WaitedUntil(const Waited &waited) : waited_(waited) {}

    int64_t operator()(int64_t moment)
    {
        if (waited_.count < 2)
            return 0;
        const int64_t *boundaries = waited_.boundaries;
        moment = std::clamp(moment, boundaries[0], boundaries[waited_.count - 1]);
        for (; segment_ + 2 < waited_.count && boundaries[segment_ + 1] <= moment; segment_++)
            if (waited_.counts(segment_))
                before_ += boundaries[segment_ + 1] - boundaries[segment_];
        return before_ + (waited_.counts(segment_) ? moment - boundaries[segment_] : 0);
    }

private:
    const Waited &waited_;
    size_t segment_ = 0;
    int64_t before_ = 0;
};

int64_t kind_of(const CallColumns &calls, const SplitCalls &split, int64_t row, const WaitKinds &kinds)
{
    const int64_t cause = split.cause[row];
    if (split.for_receiver[row])
        return kinds.late_receiver;
    // a wait is of the kind of what completed in it
    const uint16_t op = cause >= 0 && calls.is_of(row, WAIT | TEST) ? calls.op[cause] : calls.op[row];
    const uint32_t traits = calls.codes.of(op);
    const int32_t root = cause >= 0 ? calls.peer[cause] : -1;
    if (traits & TO_ROOT && root == calls.rank[row])
        return kinds.early_reduce;
    if (traits & TO_ALL && cause >= 0 && root == calls.rank[cause])
        return kinds.late_broadcast;
    return op < calls.codes.count ? kinds.by_code[op] : 0;
}

std::vector<int64_t> waiting_rows(const CallColumns &calls, const SplitCalls &split, size_t rank, uint32_t main_tid)
{
    std::vector<int64_t> rows;
    for (int64_t row = calls.offsets[rank]; row < calls.offsets[rank + 1]; row++)
        if (calls.tid[row] == main_tid && split.known[row] && split.need[row] > calls.enter[row])
            rows.push_back(row);
    const auto begins_before = [&](int64_t one, int64_t other) { return calls.enter[one] < calls.enter[other]; };
    if (!std::is_sorted(rows.begin(), rows.end(), begins_before))
        std::stable_sort(rows.begin(), rows.end(), begins_before);
    return rows;
}

} // namespace

std::vector<int64_t> operation_sums(const CallColumns &calls, const SplitCalls &split, size_t codes)
{
    std::vector<int64_t> sums(codes * OPERATION_SUMS);
    for (size_t row = 0; row < calls.count; row++) {
        if (calls.op[row] >= codes)
            continue;
        int64_t *const sum = sums.data() + calls.op[row] * OPERATION_SUMS;
        const bool are_several = calls.flags[row] & ROW_COALESCED;
        sum[0]++;
        if (split.known[row]) {
            const int64_t wait = difference(split.need[row], calls.enter[row]);
            const int64_t transfer = difference(calls.leave[row], split.need[row]);
            sum[1]++;
            add(sum[2], wait);
            add(sum[3], transfer);
            if (are_several) {
                add(sum[6], wait);
                add(sum[7], transfer);
            }
        }
        if (are_several) {
            sum[4]++;
            add(sum[5], calls.request[row]);
        } else {
            add(sum[8], difference(calls.leave[row], calls.enter[row]));
        }
    }
    return sums;
}

std::vector<int64_t> waits_by_kind(const CallColumns &calls, const SplitCalls &split, size_t rank, uint32_t main_tid,
                                   const Waited &waited, const WaitKinds &kinds)
{
    const size_t width = calls.ranks + 1;
    std::vector<int64_t> spent(kinds.count * width);
    WaitedUntil until(waited);
    int64_t reach = std::numeric_limits<int64_t>::min();
    for (const int64_t row : waiting_rows(calls, split, rank, main_tid)) {
        const int64_t enter = std::max(calls.enter[row], reach), end = std::max(enter, split.need[row]);
        const int64_t before = until(enter), ns = until(end) - before;
        reach = std::max(reach, split.need[row]);
        const int64_t cause = split.cause[row];
        const size_t causing = cause >= 0 ? static_cast<size_t>(calls.rank[cause]) : calls.ranks;
        spent[static_cast<size_t>(kind_of(calls, split, row, kinds)) * width + causing] += ns;
    }
    return spent;
}

LateArrivals late_at_collectives(const CallColumns &calls, const CollectiveWaits &collectives,
                                 const uint32_t *main_tids, int64_t begin, int64_t end)
{
    LateArrivals late;
    late.waiting.resize(collectives.count);
    late.stall.resize(collectives.count);
    late.cause.resize(collectives.count);
    for (size_t instance = 0; instance < collectives.count; instance++) {
        int64_t waiting = 0, longest = -1, cause = -1;
        for (int64_t place = collectives.starts[instance]; place < collectives.starts[instance + 1]; place++) {
            const int64_t row = collectives.members[place], enter = calls.enter[row];
            const int64_t left = std::min(std::max(collectives.need[place], enter), calls.leave[row]);
            const auto inside = [&](int64_t moment) { return std::min(std::max(moment, begin), end); };
            int64_t wait = std::max<int64_t>(difference(inside(left), inside(enter)), 0);
            if (calls.tid[row] != main_tids[calls.rank[row]])
                wait = 0;
            add(waiting, wait);
            if (wait > longest) { // of equal waits the first
                longest = wait;
                cause = collectives.cause[place];
            }
        }
        late.waiting[instance] = waiting;
        late.stall[instance] = std::max<int64_t>(longest, 0);
        late.cause[instance] = cause;
    }
    return late;
}

std::vector<int64_t> last_exits(const CallColumns &calls, const int64_t *members, size_t count,
                                const uint32_t *main_tids, const int64_t *began, const int64_t *ranks,
                                const int64_t *moments, size_t asked)
{
    std::vector<bool> is_member(calls.count);
    for (size_t i = 0; i < count; i++)
        is_member[static_cast<size_t>(members[i])] = true;
    std::vector<std::vector<size_t>> of_rank(calls.ranks);
    for (size_t i = 0; i < asked; i++)
        of_rank[static_cast<size_t>(ranks[i])].push_back(i);
    std::vector<int64_t> found(asked), enters, exits;
    for (size_t rank = 0; rank < calls.ranks; rank++) {
        if (of_rank[rank].empty())
            continue;
        enters.clear();
        exits.clear();
        for (int64_t row = calls.offsets[rank]; row < calls.offsets[rank + 1]; row++)
            if (is_member[static_cast<size_t>(row)] && calls.tid[row] == main_tids[rank]) {
                enters.push_back(calls.enter[row]);
                exits.push_back(calls.leave[row]);
            }
        PlaceFinder place(enters.data(), enters.size(), false);
        for (const size_t i : of_rank[rank]) {
            const size_t behind = place(moments[i]);
            found[i] = behind ? exits[behind - 1] : began[rank];
        }
    }
    return found;
}

Carried carried_by(const CallColumns &calls, const CollectiveWaits &collectives)
{
    constexpr int64_t NOTHING = std::numeric_limits<int64_t>::min();
    Carried found{std::vector<int64_t>(collectives.count), std::vector<int64_t>(collectives.count)};
    for (size_t one = 0; one < collectives.count; one++) {
        int64_t bytes = NOTHING, enter = NOTHING, leave = NOTHING;
        for (int64_t place = collectives.starts[one]; place < collectives.starts[one + 1]; place++) {
            const int64_t row = collectives.members[place];
            bytes = std::max({bytes, calls.sent[row], calls.received[row]});
            enter = std::max(enter, calls.enter[row]);
            leave = std::max(leave, calls.leave[row]);
        }
        found.bytes[one] = bytes;
        found.ns[one] = difference(leave, enter);
    }
    return found;
}

} // namespace perfscope
