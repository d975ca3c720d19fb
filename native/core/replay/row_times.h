// When the calls of a rank were, as its rows of a program ask for it: what was waited in them, and in which step they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Calls of one rank in program order, by their places among the calls of all ranks; -1 is none of them.
struct CallsOfRows {
    const int32_t *call;
    size_t count;
    const int64_t *enter, *exit; // of the calls of all ranks
};

// What one rank's time was spent on, and what of that is waiting.
struct WaitingOf {
    const int64_t *boundaries; // of segments, in order
    size_t size;               // of the boundaries
    const uint8_t *account;    // of each segment
    uint8_t waiting;
};

// Nanoseconds that a rank waited: in each of its calls and behind the last one, and in between in front of some.
struct RowWaits {
    std::vector<double> inside;  // one more than calls
    std::vector<int64_t> places; // of the calls
    std::vector<double> before;  // those calls
};

// Counted is what lies in [start, end]; all calls must be known.
RowWaits row_waits(const WaitingOf &waiting, const CallsOfRows &calls, int64_t start, int64_t end);

// When units of time began on a rank, one at least, in order, and their numbers.
struct UnitClock {
    const int64_t *starts, *numbers;
    size_t count;
};

// Numbers of the first and last units that a row may lie in: those of its segment and of the next one.
struct UnitBounds {
    const int32_t *segment; // of each row
    const int32_t *first;   // of each segment, and one more
};

// Writes the unit in which each row of a rank begins: with its call, of none at another moment.
void units_of_calls(const UnitClock &clock, const UnitBounds &bounds, const CallsOfRows &calls, int64_t otherwise,
                    int32_t *units);

// Writes the unit in which each of some moments lies, that belong to rows.
void units_of_moments(const UnitClock &clock, const UnitBounds &bounds, const int64_t *moments, const int32_t *rows,
                      size_t count, int32_t *units);

} // namespace perfscope
