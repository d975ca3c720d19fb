// The time of ranks between their replayed calls, in pieces of one account, phase and stack each.
#pragma once

#include "reducers/small_codes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// A rank's timeline, as RankTimeline has it, and its calls in order.
struct RankLife {
    const int64_t *boundaries; // segments + 1
    const uint8_t *accounts;
    SmallCodes phases, stacks;
    size_t segments;
    const int64_t *enter, *leave;
    size_t calls;
    const int64_t *marks; // moments at which pieces are split as well
    size_t mark_count;
    int64_t start, end; // of what is replayed
    int64_t first_row;  // in front of its first call
};

// Each piece of work stands before a row; `fixed`: by row, nanoseconds of communication alone before it.
struct WorkPieces {
    std::vector<int32_t> rows, phases, stacks;
    std::vector<uint8_t> accounts;
    std::vector<int64_t> begins;
    std::vector<double> ns, fixed;
};

// `is_communication`: by account. The rows of the ranks lie below `rows`, which are as many as 32 bits count.
WorkPieces work_pieces(const std::vector<RankLife> &ranks, const std::vector<uint8_t> &is_communication, size_t rows);

} // namespace perfscope
