// Where moments belong among others that are in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace perfscope {

// Writes for each of `count` moments the first place in `ordered` whose value is not below it (`behind_equal`: above it),
// as numpy.searchsorted does. A moment is looked for from the place of the one before, in steps that double: where the
// moments ascend, nearly all are found in the next few values.
inline void places_of(const int64_t *ordered, size_t size, const int64_t *moments, size_t count, bool behind_equal,
                      int64_t *places)
{
    const auto stands_before = [&](size_t place, int64_t moment) {
        return behind_equal ? ordered[place] <= moment : ordered[place] < moment;
    };
    size_t low = 0; // all values before it stand before the moment
    for (size_t i = 0; i < count; i++) {
        const int64_t moment = moments[i];
        if (low && !stands_before(low - 1, moment))
            low = 0;
        size_t high = low, step = 1;
        while (high < size && stands_before(high, moment)) {
            low = high + 1;
            high = std::min(size, high + step);
            step *= 2;
        }
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (stands_before(middle, moment))
                low = middle + 1;
            else
                high = middle;
        }
        places[i] = static_cast<int64_t>(low);
    }
}

} // namespace perfscope
