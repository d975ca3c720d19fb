#include "replay/layout.h"

#include <algorithm>
#include <limits>

namespace perfscope {

ChosenCalls choose_calls(const CallsOfRanks &calls, const uint8_t *is_chosen, int64_t start, int64_t end)
{
    const auto count = static_cast<size_t>(std::count_if(is_chosen, is_chosen + calls.count, [](uint8_t one) { return one; }));
    ChosenCalls found{std::vector<int32_t>(count),       std::vector<int64_t>(count),
                      std::vector<int64_t>(count),       std::vector<int32_t>(count),
                      std::vector<uint16_t>(count),      std::vector<int64_t>(calls.ranks + 1),
                      std::vector<int32_t>(calls.count + 1)};
    size_t place = 0;
    for (size_t call = 0; call < calls.count; call++) {
        found.place[call] = is_chosen[call] ? static_cast<int32_t>(place) : -1;
        if (!is_chosen[call])
            continue;
        found.call[place] = static_cast<int32_t>(call);
        found.enter[place] = std::min(std::max(calls.enter[call], start), end);
        found.exit[place] = std::min(std::max(calls.exit[call], start), end);
        found.rank[place] = calls.rank[call];
        found.op[place] = calls.op[call];
        found.starts[static_cast<size_t>(calls.rank[call]) + 1]++;
        place++;
    }
    found.place.back() = -1;
    for (size_t rank = 0; rank < calls.ranks; rank++)
        found.starts[rank + 1] += found.starts[rank];
    return found;
}

std::vector<int32_t> row_segments(NumbersOf<int64_t> cuts, size_t ranks, size_t rows)
{
    std::vector<int32_t> found(rows);
    for (size_t rank = 0; rank < ranks; rank++) {
        auto row = static_cast<size_t>(cuts[rank]);
        for (size_t cut = ranks + rank; cut < cuts.size; cut += ranks)
            for (const auto last = static_cast<size_t>(cuts[cut]); row <= last; row++)
                found[row] = static_cast<int32_t>(cut / ranks) - 1;
    }
    return found;
}

NeedsOfMeetings needs_of_meetings(const MeetingRows &meetings)
{
    NeedsOfMeetings found;
    found.hub_rows.reserve(meetings.rows.size);
    found.row.reserve(meetings.rows.size);
    found.on.reserve(meetings.rows.size);
    for (size_t meeting = 0; meeting < meetings.kind.size; meeting++) {
        const auto kind = static_cast<MeetingKind>(meetings.kind[meeting]);
        const int64_t root = meetings.root[meeting], first = meetings.starts[meeting];
        for (int64_t place = first; place < meetings.starts[meeting + 1]; place++) {
            const int64_t row = meetings.rows[static_cast<size_t>(place)], end = meetings.ends[place];
            if (kind != MeetingKind::FROM_ROOT) {
                if (place == first || kind == MeetingKind::SCAN) {
                    const auto hub = static_cast<int64_t>(found.hub_parent.size());
                    found.hub_parent.push_back(place == first ? -1 : hub - 1);
                    found.hub_starts.push_back(found.hub_starts.back());
                }
                if (!meetings.silent[place]) {
                    found.hub_rows.push_back(row);
                    found.hub_starts.back()++;
                }
            }
            const bool waits = kind == MeetingKind::FROM_ROOT ? root >= 0 && row != root
                                                              : kind != MeetingKind::TO_ROOT || row == root;
            if (!waits || end < 0)
                continue;
            found.row.push_back(end);
            found.on.push_back(kind == MeetingKind::FROM_ROOT ? root : -static_cast<int64_t>(found.hub_parent.size()));
        }
    }
    return found;
}

std::vector<int64_t> needed_before(NumbersOf<int64_t> arrival, const Lists &hubs, const int64_t *hub_parent,
                                   NumbersOf<int64_t> row, const int64_t *on)
{
    std::vector<int64_t> last(hubs.count(), std::numeric_limits<int64_t>::min());
    for (size_t hub = 0; hub < last.size(); hub++) {
        for (const int64_t *member = hubs.begin_of(hub); member != hubs.end_of(hub); ++member)
            last[hub] = std::max(last[hub], arrival[static_cast<size_t>(*member)]);
        if (hub_parent[hub] >= 0)
            last[hub] = std::max(last[hub], last[hub - 1]);
    }
    std::vector<int64_t> found(arrival.data, arrival.data + arrival.size);
    for (size_t pair = 0; pair < row.size; pair++) {
        int64_t &own = found[static_cast<size_t>(row[pair])];
        own = std::max(own, on[pair] < 0 ? last[static_cast<size_t>(~on[pair])] : arrival[static_cast<size_t>(on[pair])]);
    }
    return found;
}

NeedsOfRows needs_of_rows(NumbersOf<int64_t> call, const int64_t *on, const int32_t *row_of, size_t rows)
{
    NeedsOfRows found{std::vector<int32_t>(rows + 1), std::vector<int32_t>(call.size)};
    // first where the needs of each row end, and from the last pair on, where the next one of its row goes
    for (size_t pair = 0; pair < call.size; pair++)
        found.starts[static_cast<size_t>(row_of[call[pair]])]++;
    int32_t behind = 0;
    for (int32_t &one : found.starts)
        one = behind += one;
    for (size_t pair = call.size; pair-- > 0;) {
        const int64_t need = on[pair];
        const auto place = static_cast<size_t>(--found.starts[static_cast<size_t>(row_of[call[pair]])]);
        found.needs[place] = need < 0 ? static_cast<int32_t>(need) : row_of[need];
    }
    return found;
}

} // namespace perfscope
