// Moments of many rows in half as many bits: neighbors lie close together in time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

constexpr size_t PACKED_BLOCK = 64;        // rows that share a base
constexpr uint32_t FAR_AFTER = UINT32_MAX; // stands where a moment is too far behind its base

// Moment i is base[i / 64] + after[i], or where that says FAR_AFTER what stands beside its place, which ascend.
struct PackedTimes {
    std::vector<int64_t> base;
    std::vector<uint32_t> after;
    std::vector<int64_t> far_places, far_times;
};

PackedTimes packed_times(const int64_t *times, size_t count);

// The same, kept by somebody else.
struct PackedView {
    const int64_t *base;
    const uint32_t *after;
    const int64_t *far_places, *far_times;
    size_t far_count;
};

// Moments [first, first + count).
void unpack_times(const PackedView &packed, size_t first, size_t count, int64_t *times);

// Those of some rows.
void unpack_rows(const PackedView &packed, const int64_t *rows, size_t count, int64_t *times);

} // namespace perfscope
