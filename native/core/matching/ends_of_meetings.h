// When calls of collectives ended, measured by what their members needed of each other.
#pragma once

#include "rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace perfscope {

// Whether nobody ends before all have begun.
enum class Strictness : uint8_t { NEVER, WHERE_ALL_SEND, ALWAYS };

struct MeetingColumns {
    const int64_t *enter, *leave, *sent;
    const uint16_t *flags;
};

struct MeetingLists {
    const int64_t *members, *starts; // instance k has the rows members[starts[k]] up to members[starts[k + 1]]
    size_t count;
};

struct MeetingEnds {
    std::vector<int64_t> rows; // that returned
    std::vector<int64_t> early_ns; // by which each ended before what it needed; below 0 where it ended later
};

inline MeetingEnds ends_of_meetings(const MeetingColumns &calls, const MeetingLists &lists, const uint8_t *chosen,
                                    const uint8_t *strictness)
{
    MeetingEnds found;
    const size_t likely = static_cast<size_t>(lists.starts[lists.count]);
    found.rows.reserve(likely);
    found.early_ns.reserve(likely);
    for (size_t instance = 0; instance < lists.count; instance++) {
        if (!chosen[instance])
            continue;
        const int64_t *const first = lists.members + lists.starts[instance];
        const int64_t *const end = lists.members + lists.starts[instance + 1];
        const auto strict = static_cast<Strictness>(strictness[instance]);
        const bool all_wait = strict == Strictness::ALWAYS ||
                              (strict == Strictness::WHERE_ALL_SEND &&
                               std::all_of(first, end, [&](int64_t row) { return calls.sent[row] > 0; }));
        int64_t latest = std::numeric_limits<int64_t>::min();
        if (all_wait)
            for (const int64_t *row = first; row != end; ++row)
                latest = std::max(latest, calls.enter[*row]);
        for (const int64_t *row = first; row != end; ++row)
            if (!(calls.flags[*row] & ROW_OPEN)) {
                found.rows.push_back(*row);
                found.early_ns.push_back((all_wait ? latest : calls.enter[*row]) - calls.leave[*row]);
            }
    }
    return found;
}

} // namespace perfscope
