// Work leveled over like segments: compared value by value in sorted order, as replay/leveling.py says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Work by segment and rank: that of a segment lies together.
struct WorkTable {
    const double *ns;
    size_t segments, ranks;

    const double *of(size_t segment) const { return ns + segment * ranks; }
};

// Groups of segments, one after the other: group i is segments[starts[i]] up to segments[starts[i + 1]].
struct SegmentGroups {
    std::vector<int64_t> segments, starts{0};
};

// What a segment usually takes, and when segments that differ in it are no longer alike.
struct Likeness {
    const uint8_t *ranks;  // by rank, whether it counts
    bool is_lower;         // of two in the middle the lower one counts, and not their mean
    double factor;         // by which neighbors of different groups differ at least
    double least_share;    // of the segments of a kind in each group, and at least
    double least;          // so many
    double nothing;        // of the most work of a kind: less counts as that much
};

// The segments of each kind, by what they usually take and in groups of about as much. Kinds without work are left
// out. `kinds` holds each segment at most once.
SegmentGroups groups_of_like(const WorkTable &work, const SegmentGroups &kinds, const Likeness &likeness);

// In each group every chosen rank gets the mean of their sorted values, in the order of its own work.
std::vector<double> evened(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen);

// In each group the chosen ranks that work longer than the others get the median of the others' sorted values.
std::vector<double> made_as_others(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen);

// Of some values above 0: how many there are, and around two quantiles of them the value below and that above.
struct LowValues {
    int64_t count = 0;
    double around[4] = {1.0, 1.0, 1.0, 1.0}; // of the lower quantile first
};

// Of each group those of each rank, and behind them those of all ranks together.
std::vector<LowValues> low_values(const WorkTable &work, const SegmentGroups &groups, double lower, double upper);

// Work of the chosen ranks beyond the bound of its rank (`bounds` has a line of ranks for each group) becomes no more
// than the median of the others' in its segment that is within theirs, the least one where none is.
std::vector<double> within_bounds(const WorkTable &work, const SegmentGroups &groups, const uint8_t *chosen,
                                  const double *bounds);

} // namespace perfscope
