// Neighboring segments of a program, whose rows are numbered anew: rank after rank, each with the row at which it enters
// the first segment. The rows of many ranks lie far apart in the columns of a run, and together in those of a window,
// which fit a processor's cache.
#pragma once

#include "replay/program.h"

#include <algorithm>

namespace perfscope {

class Window {
public:
    explicit Window(const ReplayProgram &program) : program_(program), place_(program.ranks() + 1) {}

    // Goes to the segments [first, behind).
    void enter(size_t first, size_t behind)
    {
        first_ = first;
        behind_ = behind;
        for (size_t rank = 0; rank < program_.ranks(); rank++)
            place_[rank + 1] = place_[rank] + program_.cut_row(behind, rank) - opening(rank) + 1;
    }

    size_t first() const { return first_; }
    size_t behind() const { return behind_; }
    size_t rows() const { return static_cast<size_t>(place_.back()); }
    size_t place(size_t rank, int64_t row) const { return static_cast<size_t>(place_[rank] + row - opening(rank)); }

    // Calls each(place of the rank's first row, that row, their number) for each rank.
    template <class Each> void for_ranks(const Each &each) const
    {
        for (size_t rank = 0; rank < program_.ranks(); rank++)
            each(static_cast<size_t>(place_[rank]), opening(rank), static_cast<size_t>(place_[rank + 1] - place_[rank]));
    }

    // Copies what stands at its rows.
    template <class Number> void take(const Number *column, Number *own) const
    {
        for_ranks([&](size_t place, int64_t row, size_t count) { std::copy_n(column + row, count, own + place); });
    }

    // Copies what belongs to the rows of its segments back.
    template <class Number> void give(const Number *own, Number *column) const
    {
        for_ranks([&](size_t place, int64_t row, size_t count) {
            std::copy_n(own + place + 1, count - 1, column + row + 1);
        });
    }

private:
    int64_t opening(size_t rank) const { return program_.cut_row(first_, rank); }

    const ReplayProgram &program_;
    size_t first_ = 0, behind_ = 0;
    std::vector<int64_t> place_; // of the first row of each rank, and behind the last one
};

// What stands before each row of a run.
struct GapColumn {
    const double *ns;

    void operator()(const Window &window, double *to) const { window.take(ns, to); }
};

} // namespace perfscope
