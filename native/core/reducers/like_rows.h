// Rows of a replay that repeat from step to step, and what they usually cost.
#pragma once

#include "reducers/small_codes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Rows have the same number, below `count`, where their rank does the same at the same place of a unit of time.
struct LikeRows {
    std::vector<int32_t> numbers; // of each row
    size_t count = 0;
};

// `units`: of each row, as a step is one, below `unit_count`; rows of a rank lie together.
LikeRows like_rows(const SmallCodes &ranks, const int32_t *units, const SmallCodes &ops, size_t rows, size_t unit_count);

// By number: how many values, their median (of an even number the lower one), and that of the distances from it.
struct Medians {
    std::vector<int64_t> sizes;
    std::vector<double> values, deviations;
};

Medians medians(const double *values, const int32_t *numbers, size_t rows, size_t count);

} // namespace perfscope
