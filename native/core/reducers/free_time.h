// Time of a rank's main location between its calls, in pieces that are alike.
#pragma once

#include "reducers/layers.h"
#include "reducers/small_codes.h"

namespace perfscope {

// Pieces [starts[i], ends[i]) in order. They have the same number where they are between the same operations (of equal
// communicators and bytes), in the same marked phase and of similar length; numbers follow these in order.
struct FreeTime {
    std::vector<int64_t> starts, ends;
    std::vector<int32_t> kinds;
    std::vector<uint8_t> in_phase;
};

// The calls of a rank on all its threads, column by column.
struct CallsOfRank {
    size_t count;
    const int64_t *enter, *leave;
    const uint16_t *op;
    const uint32_t *tid;
    SmallCodes comm;
    AnyInts sent, received;
};

// Pieces are cut where the layer of marked phases changes. All are of one kind where that is not to be told.
FreeTime free_time(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, LayerView phases,
                   bool tells_kinds);

// Of the pieces that end behind a moment and begin before another one the first longest: its place among all pieces, -1
// where there is none, and when it begins and ends.
struct LongestFree {
    std::vector<int64_t> places, starts, ends;
};

// For each two moments, without a column of all pieces.
LongestFree longest_free(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, LayerView phases,
                         const int64_t *after, const int64_t *until, size_t asked);

} // namespace perfscope
