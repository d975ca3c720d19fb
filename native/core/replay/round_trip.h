// A wait for what the waiting rank itself has set going: it sent, others worked one after the other, and the last of
// them answers. Nobody was late; they took turns.
#pragma once

#include "replay/sweep.h"

#include <algorithm>

namespace perfscope {

// What led to the arrival of a row, backward: the work of its rank, and of those that it waited for.
class Chain {
public:
    Chain(const ReplayProgram &program, const Costs &costs, const Arrivals &arrivals)
        : program_(program), costs_(costs), arrivals_(arrivals)
    {
    }

    void enter(size_t segment) { segment_ = segment; }

    // Whether what a row waited for began behind an earlier row of its own rank. `waited_for` tells for whose arrival
    // a row waited, -1 nobody.
    template <class WaitedFor>
    bool comes_back(int64_t row, int64_t cause, int64_t behind, const WaitedFor &waited_for) const
    {
        const uint32_t own = program_.rank_of(row);
        const bool is_first = behind <= opening(row); // its arrival belongs to the segment before
        const double since = is_first ? -std::numeric_limits<double>::infinity() : arrivals_[behind];
        int64_t at = cause;
        for (int64_t looked = 0; looked < MOST_ROWS && arrivals_[at] >= since; looked++) {
            if (program_.rank_of(at) == own)
                return at > behind;
            if (at - 1 <= opening(at))
                return false;
            const int64_t needed = waited_for(at - 1);
            at = needed >= 0 ? needed : at - 1;
        }
        return false;
    }

    // Calls `spend(row, work, transfer)` for each part of what led to the arrival of `cause` after `since`: nanoseconds
    // of the work before a row, and of the transfer of the row before it. Together they are that time, but for what
    // lies in front of the segment.
    template <class WaitedFor, class Spend>
    void walk(int64_t cause, double since, const WaitedFor &waited_for, const Spend &spend) const
    {
        int64_t at = cause;
        double until = arrivals_[at];
        while (until > since && at > opening(at)) {
            const double exit = arrivals_[at] - costs_.gap[at], need = exit - costs_.transfer[at - 1];
            const double begin = std::max(exit, since), moved = std::max(need, since);
            spend(at, std::max(until - begin, 0.0), std::max(std::min(begin, until) - moved, 0.0));
            until = std::min(until, moved);
            const int64_t needed = at - 1 > opening(at) ? waited_for(at - 1) : -1;
            at = needed >= 0 ? needed : at - 1;
        }
    }

private:
    static constexpr int64_t MOST_ROWS = 4096; // that are followed back

    int64_t opening(int64_t row) const { return program_.cut_row(segment_, program_.rank_of(row)); }

    const ReplayProgram &program_;
    const Costs &costs_;
    const Arrivals &arrivals_;
    size_t segment_ = 0;
};

} // namespace perfscope
