// Where moments belong among others that are in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace perfscope {

// Where moments stand among others that are in order, moment after moment: each is looked for from the place of the one
// before, in steps that double, so that where moments ascend nearly all are found in the next few values.
class PlaceFinder {
public:
    PlaceFinder(const int64_t *ordered, size_t size, bool behind_equal)
        : ordered_(ordered), size_(size), behind_equal_(behind_equal)
    {
    }

    // The first place whose value is not below the moment (`behind_equal`: above it).
    size_t operator()(int64_t moment)
    {
        if (low_ && !stands_before(low_ - 1, moment))
            low_ = 0;
        size_t high = low_, step = 1;
        while (high < size_ && stands_before(high, moment)) {
            low_ = high + 1;
            high = std::min(size_, high + step);
            step *= 2;
        }
        while (low_ < high) {
            const size_t middle = low_ + (high - low_) / 2;
            if (stands_before(middle, moment))
                low_ = middle + 1;
            else
                high = middle;
        }
        return low_;
    }

private:
    bool stands_before(size_t place, int64_t moment) const
    {
        return behind_equal_ ? ordered_[place] <= moment : ordered_[place] < moment;
    }

    const int64_t *ordered_;
    size_t size_;
    bool behind_equal_;
    size_t low_ = 0; // all values before it stand before the moment
};

// Writes for each of `count` moments its place, as numpy.searchsorted does.
inline void places_of(const int64_t *ordered, size_t size, const int64_t *moments, size_t count, bool behind_equal,
                      int64_t *places)
{
    PlaceFinder place(ordered, size, behind_equal);
    for (size_t i = 0; i < count; i++)
        places[i] = static_cast<int64_t>(place(moments[i]));
}

// How much of some of the segments between `size` boundaries, two at least, lies before each boundary.
inline void time_before(const int64_t *boundaries, size_t size, const uint8_t *chosen, int64_t *before)
{
    before[0] = 0;
    for (size_t i = 0; i + 1 < size; i++)
        before[i + 1] = before[i] + (chosen[i] ? boundaries[i + 1] - boundaries[i] : 0);
}

// How much of them lies before each of `count` moments; beyond the boundaries lies nothing.
inline void time_until(const int64_t *boundaries, size_t size, const uint8_t *chosen, const int64_t *before,
                       const int64_t *moments, size_t count, int64_t *until)
{
    PlaceFinder place(boundaries, size, true);
    for (size_t i = 0; i < count; i++) {
        const int64_t moment = std::clamp(moments[i], boundaries[0], boundaries[size - 1]);
        const size_t segment = std::clamp<size_t>(place(moment), 1, size - 1) - 1;
        until[i] = before[segment] + (chosen[segment] ? moment - boundaries[segment] : 0);
    }
}

} // namespace perfscope
