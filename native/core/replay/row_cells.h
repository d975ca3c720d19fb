// In which segment, and on which rank, a row lies: told by the cuts, so that no column of all rows is needed for it.
#pragma once

#include "replay/program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace perfscope {

// Cell segment * ranks + rank of one row after the other. Most come in order, and lie in the cell of the row before or
// in the next one of its rank. A cut that closes a segment belongs to it, and so does what begins the first one.
class CellFinder {
public:
    // `cuts` has the rows of each cut, two at least, which ascend on each rank and from rank to rank.
    CellFinder(NumbersOf<int64_t> cuts, size_t ranks) : cuts_(cuts), ranks_(ranks), segments_(cuts.size / ranks - 1)
    {
        enter(0, 0);
    }

    size_t cells() const { return segments_ * ranks_; }
    // Throws ReplayError if there is no such row.
    size_t operator()(int32_t row)
    {
        if (row > last_ || row < first_)
            look_for(row);
        return segment_ * ranks_ + rank_;
    }

private:
    int64_t cut(size_t number, size_t rank) const { return cuts_[number * ranks_ + rank]; }

    void enter(size_t segment, size_t rank)
    {
        segment_ = segment;
        rank_ = rank;
        first_ = cut(segment, rank) + (segment > 0);
        last_ = cut(segment + 1, rank);
    }

    void look_for(int64_t row)
    {
        constexpr size_t NEAR = 8;
        for (size_t next = 0; next < NEAR && row > last_ && segment_ + 1 < segments_; next++)
            enter(segment_ + 1, rank_);
        if (row >= first_ && row <= last_)
            return;
        const int64_t *const starts = cuts_.data;
        if (row < starts[0] || row > cut(segments_, ranks_ - 1))
            throw ReplayError("the work does not fit the rows");
        const auto rank = static_cast<size_t>(std::upper_bound(starts, starts + ranks_, row) - starts) - 1;
        size_t low = 0, high = segments_ - 1; // the first segment that ends at the row or behind it
        while (low < high) {
            const size_t middle = low + (high - low) / 2;
            if (cut(middle + 1, rank) < row)
                low = middle + 1;
            else
                high = middle;
        }
        enter(low, rank);
    }

    const NumbersOf<int64_t> cuts_;
    const size_t ranks_, segments_;
    size_t segment_ = 0, rank_ = 0;
    int64_t first_ = 0, last_ = 0;
};

} // namespace perfscope
