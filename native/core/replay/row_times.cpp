#include "replay/row_times.h"

#include "search.h"

namespace perfscope {

namespace {

// How long one rank has waited up to a moment; beyond its segments it waits for nobody.
class WaitedUntil {
public:
    explicit WaitedUntil(const WaitingOf &waiting)
        : waiting_(waiting), before_(waiting.size), place_(waiting.boundaries, waiting.size, true)
    {
        for (size_t segment = 0; segment + 1 < waiting.size; segment++) {
            const int64_t length = waiting.boundaries[segment + 1] - waiting.boundaries[segment];
            before_[segment + 1] = before_[segment] + (is_waiting(segment) ? length : 0);
        }
    }

    int64_t operator()(int64_t moment)
    {
        if (waiting_.size < 2)
            return 0;
        const size_t last = waiting_.size - 1;
        const int64_t inside = std::clamp(moment, waiting_.boundaries[0], waiting_.boundaries[last]);
        const size_t segment = std::clamp<size_t>(place_(inside), 1, last) - 1;
        return before_[segment] + (is_waiting(segment) ? inside - waiting_.boundaries[segment] : 0);
    }

private:
    bool is_waiting(size_t segment) const { return waiting_.account[segment] == waiting_.waiting; }

    const WaitingOf &waiting_;
    std::vector<int64_t> before_; // each boundary
    PlaceFinder place_;
};

class UnitFinder {
public:
    UnitFinder(const UnitClock &clock, const UnitBounds &bounds)
        : clock_(clock), bounds_(bounds), place_(clock.starts, clock.count, true)
    {
    }

    // What lies in front of all units is in the first one.
    int32_t operator()(int64_t moment, int32_t row_segment)
    {
        const size_t begun = place_(moment);
        const auto number = static_cast<int32_t>(clock_.numbers[begun ? begun - 1 : 0]);
        const int32_t *const first = bounds_.first + row_segment;
        return std::min(std::max(number, first[0]), first[1]);
    }

private:
    const UnitClock &clock_;
    const UnitBounds &bounds_;
    PlaceFinder place_;
};

} // namespace

RowWaits row_waits(const WaitingOf &waiting, const CallsOfRows &calls, int64_t start, int64_t end)
{
    RowWaits found;
    found.inside.resize(calls.count + 1);
    WaitedUntil waited(waiting);
    int64_t left = waited(start);
    for (size_t place = 0; place < calls.count; place++) {
        const int32_t call = calls.call[place];
        const int64_t entered = waited(std::min(std::max(calls.enter[call], start), end));
        if (entered != left) {
            found.places.push_back(static_cast<int64_t>(place));
            found.before.push_back(static_cast<double>(entered - left));
        }
        left = waited(std::min(std::max(calls.exit[call], start), end));
        found.inside[place] = static_cast<double>(left - entered);
    }
    found.inside[calls.count] = static_cast<double>(waited(end) - left);
    return found;
}

void units_of_calls(const UnitClock &clock, const UnitBounds &bounds, const CallsOfRows &calls, int64_t otherwise,
                    int32_t *units)
{
    UnitFinder unit(clock, bounds);
    for (size_t row = 0; row < calls.count; row++)
        units[row] = unit(calls.call[row] < 0 ? otherwise : calls.enter[calls.call[row]], bounds.segment[row]);
}

void units_of_moments(const UnitClock &clock, const UnitBounds &bounds, const int64_t *moments, const int32_t *rows,
                      size_t count, int32_t *units)
{
    UnitFinder unit(clock, bounds);
    for (size_t place = 0; place < count; place++)
        units[place] = unit(moments[place], bounds.segment[rows[place]]);
}

} // namespace perfscope
