// What the moments of a timeline add up to.
#pragma once

#include "reducers/small_codes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Segment i is [boundaries[i], boundaries[i + 1]).
struct TimelineView {
    const int64_t *boundaries; // segments + 1
    const uint8_t *accounts;
    SmallCodes phases;
    size_t segments;
};

// Nanoseconds of the segments that begin in [start, end), by phase (in front of the others those of none, or of one that
// is not below `phases`) and account, one row a phase. Accounts from `accounts` on are left out.
std::vector<int64_t> spent_by_phase(const TimelineView &timeline, int64_t start, int64_t end, size_t phases,
                                    size_t accounts);

// Nanoseconds in [start, end) by bin and account, one row a bin; the last column is time without any segment.
std::vector<int64_t> spent_by_bin(const TimelineView &timeline, int64_t start, int64_t end, int64_t bin_ns,
                                  size_t accounts);

} // namespace perfscope
