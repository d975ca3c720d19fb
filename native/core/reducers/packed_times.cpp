#include "reducers/packed_times.h"

#include <algorithm>

namespace perfscope {

PackedTimes packed_times(const int64_t *times, size_t count)
{
    PackedTimes found;
    found.base.resize((count + PACKED_BLOCK - 1) / PACKED_BLOCK);
    found.after.resize(count);
    for (size_t block = 0; block < found.base.size(); block++) {
        const size_t first = block * PACKED_BLOCK, end = std::min(first + PACKED_BLOCK, count);
        const int64_t base = *std::min_element(times + first, times + end);
        found.base[block] = base;
        for (size_t row = first; row < end; row++) {
            // of any two moments: their distance has room in 64 bits without a sign
            const uint64_t after = static_cast<uint64_t>(times[row]) - static_cast<uint64_t>(base);
            if (after < FAR_AFTER) {
                found.after[row] = static_cast<uint32_t>(after);
                continue;
            }
            found.after[row] = FAR_AFTER;
            found.far_places.push_back(static_cast<int64_t>(row));
            found.far_times.push_back(times[row]);
        }
    }
    return found;
}

void unpack_times(const PackedView &packed, size_t first, size_t count, int64_t *times)
{
    for (size_t row = first; row < first + count; row++)
        times[row - first] = packed.base[row / PACKED_BLOCK] + packed.after[row];
    const int64_t *const behind = packed.far_places + packed.far_count;
    const auto end = static_cast<int64_t>(first + count);
    for (const int64_t *place = std::lower_bound(packed.far_places, behind, static_cast<int64_t>(first));
         place != behind && *place < end; place++)
        times[static_cast<size_t>(*place) - first] = packed.far_times[place - packed.far_places];
}

void unpack_rows(const PackedView &packed, const int64_t *rows, size_t count, int64_t *times)
{
    for (size_t i = 0; i < count; i++) {
        const auto row = static_cast<size_t>(rows[i]);
        const uint32_t after = packed.after[row];
        if (after != FAR_AFTER) {
            times[i] = packed.base[row / PACKED_BLOCK] + after;
            continue;
        }
        const int64_t *const place = std::lower_bound(packed.far_places, packed.far_places + packed.far_count, rows[i]);
        times[i] = packed.far_times[place - packed.far_places];
    }
}

} // namespace perfscope
