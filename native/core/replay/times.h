// When everything in a program happens, for given work and transfer times.
#pragma once

#include "replay/row_work.h"
#include "replay/sweep.h"

#include <optional>

namespace perfscope {

// Replays all segments on at most `threads` threads; the result does not depend on their number. Returns the length
// of each segment, from the last arrival at its first cut to the last arrival at its second, in ns.
std::vector<double> replay_arrivals(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals,
                                    unsigned threads);

// The lengths alone.
std::vector<double> segment_lengths(const ReplayProgram &program, const Costs &costs, unsigned threads);

// The same for work before the rows, and what comes before some beside it.
std::vector<double> segment_lengths(const ReplayProgram &program, const PiecesOfWork &work, const PiecesOfWork &fixed,
                                    const double *transfer, unsigned threads);

// The lengths where rows of a code have no transfer: those of all segments for the first of some codes, and so on. All
// codes are answered for some segments before the next ones are looked at.
std::vector<double> lengths_without(const ReplayProgram &program, const Costs &costs, const int32_t *codes_of_rows,
                                    const std::vector<int32_t> &codes, unsigned threads);

// The same where all transfers are divided by a number, for the first of some, and so on.
std::vector<double> lengths_of_networks(const ReplayProgram &program, const Costs &costs,
                                        const std::vector<double> &divisors, unsigned threads);

// The lengths between those cuts alone that are kept (one mark a cut, the first and the last are): at the others nobody
// waits. Nothing where only a replay of a program without these cuts can tell: an order of the rows is not known, or
// some need what lies in front of a cut.
std::optional<std::vector<double>> joined_lengths(const ReplayProgram &program, const PiecesOfWork &work,
                                                  const PiecesOfWork &fixed, const double *transfer,
                                                  const uint8_t *is_kept, unsigned threads);

// Throws ReplayError where the ranks wait for each other in a circle.
void check_order(const ReplayProgram &program, unsigned threads);

struct Times {
    std::vector<double> arrival; // ns from the start of the program, of each row
    std::vector<double> need;    // before which the row could not complete; at least its arrival
    std::vector<int64_t> cause;  // the row whose arrival was needed last, -1 where it is the row's own
};

// When the last row of each unit of time is arrived at, in ns from the start of the program; 0 without rows. `units` has
// one for each row, below `count`.
std::vector<double> last_arrivals(const ReplayProgram &program, const Costs &costs, const int32_t *units, size_t count,
                                  unsigned threads);

Times replay_times(const ReplayProgram &program, const Costs &costs, unsigned threads);

} // namespace perfscope
