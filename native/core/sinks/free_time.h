// Time of a rank's main location between its calls, in pieces that are alike.
#pragma once

#include "rows.h"
#include "sinks/layers.h"

namespace perfscope {

// Pieces [starts[i], ends[i]) in order. They have the same number where they are between the same operations (of equal
// communicators and bytes), in the same marked phase and of similar length; numbers follow these in order.
struct FreeTime {
    std::vector<int64_t> starts, ends, kinds;
    std::vector<uint8_t> in_phase;
};

// Pieces are cut where the layer of marked phases changes.
FreeTime free_time(const OperationRow *rows, size_t count, uint32_t main_tid, int64_t start, int64_t end,
                   LayerView phases);

} // namespace perfscope
