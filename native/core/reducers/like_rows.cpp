#include "reducers/like_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace perfscope {

namespace {

// The rows that a rank had in a unit of time so far; of another rank they do not count.
struct Passed {
    int64_t rank = -1;
    size_t rows = 0;
};

double lower_median(double *first, double *end)
{
    double *const middle = first + (end - first - 1) / 2;
    std::nth_element(first, middle, end);
    return *middle;
}

} // namespace

LikeRows like_rows(const SmallCodes &ranks, const int32_t *units, const SmallCodes &ops, size_t rows, size_t unit_count)
{
    LikeRows found;
    found.numbers.resize(rows);
    std::vector<Passed> passed(unit_count);
    std::vector<std::vector<std::pair<int32_t, int32_t>>> known; // of the rank: operations and numbers, by place
    for (size_t row = 0; row < rows; row++) {
        if (row && ranks[row] != ranks[row - 1])
            known.clear();
        Passed &here = passed[static_cast<size_t>(units[row])];
        if (here.rank != ranks[row])
            here = {ranks[row], 0};
        const size_t place = here.rows++;
        if (place >= known.size())
            known.resize(place + 1);
        auto &own = known[place];
        const int32_t op = ops[row];
        auto same = std::find_if(own.begin(), own.end(), [op](const auto &one) { return one.first == op; });
        if (same == own.end())
            same = own.insert(own.end(), {op, static_cast<int32_t>(found.count++)});
        found.numbers[row] = same->second;
    }
    return found;
}

Medians medians(const double *values, const int32_t *numbers, size_t rows, size_t count)
{
    Medians found{std::vector<int64_t>(count), std::vector<double>(count), std::vector<double>(count)};
    for (size_t row = 0; row < rows; row++)
        found.sizes[static_cast<size_t>(numbers[row])]++;
    std::vector<size_t> next(count + 1, 0);
    for (size_t number = 0; number < count; number++)
        next[number + 1] = next[number] + static_cast<size_t>(found.sizes[number]);
    std::vector<double> sorted(rows);
    for (size_t row = 0; row < rows; row++)
        sorted[next[static_cast<size_t>(numbers[row])]++] = values[row];
    double *first = sorted.data();
    for (size_t number = 0; number < count; number++) {
        double *const end = first + found.sizes[number];
        if (first == end)
            continue;
        const double median = lower_median(first, end);
        for (double *value = first; value != end; ++value)
            *value = std::abs(*value - median);
        found.values[number] = median;
        found.deviations[number] = lower_median(first, end);
        first = end;
    }
    return found;
}

} // namespace perfscope
