// A run as a (max,+) system: what each rank did before each call, and for whom the call waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace perfscope {

// The calls cannot be brought into an order, or the arrays do not describe a program.
class ReplayError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

constexpr const char *DIFFERENT_ORDERS = "the ranks enter the same operations in different orders";

class Tape;

// Numbers that somebody else keeps.
template <class Number> struct NumbersOf {
    const Number *data = nullptr;
    size_t size = 0;

    Number operator[](size_t place) const { return data[place]; }
};
using Numbers = NumbersOf<int64_t>;

// Lists one after the other: list i is values[starts[i]] up to values[starts[i + 1]].
template <class Number> struct ListsOf {
    NumbersOf<Number> starts, values;

    size_t count() const { return starts.size - 1; }
    const Number *begin_of(size_t list) const { return values.data + starts[list]; }
    const Number *end_of(size_t list) const { return values.data + starts[list + 1]; }
};
using Lists = ListsOf<int64_t>;
using SmallLists = ListsOf<int32_t>; // of rows, of which a long run has many

// Rows of a rank are contiguous: its start, its calls in program order, its end. exit(row) =
// max(arrival(row), needs) + transfer(row) and arrival(row) = exit(row - 1) + gap(row). What a row needs is the
// arrival of another row (value >= 0) or of all rows of a hub (value ~hub).
//
// A cut is a meeting of all ranks that nobody leaves before all have come. Rows in front of a cut arrived before
// everything behind it, so a need from behind a cut is void, and the segments between cuts replay independently.
// A program may therefore be one window of a longer run: its starts are then the cut at which the window begins.
class ReplayProgram {
public:
    // `cut_rows` has one line of `ranks` rows for each cut, the first being the starts and the last the ends. The
    // numbers must outlive the program: only five bytes a row are kept beside them.
    ReplayProgram(size_t ranks, Numbers cut_rows, Lists hubs, Numbers hub_parent, SmallLists needs);

    size_t ranks() const { return ranks_; }
    size_t rows() const { return segments_.size(); }
    size_t segments() const { return cut_rows_.size / ranks_ - 1; }
    size_t hub_count() const { return hubs_.count(); }
    int64_t cut_row(size_t cut, size_t rank) const { return cut_rows_[cut * ranks_ + rank]; }
    int64_t first_row(size_t rank) const { return cut_rows_[rank]; }
    int64_t segment_of(int64_t row) const { return segments_[row]; } // -1 of starts
    uint32_t rank_of(int64_t row) const
    {
        uint32_t rank = block_ranks_[static_cast<size_t>(row) / BLOCK_ROWS];
        while (rank + 1 < ranks_ && first_row(rank + 1) <= row)
            rank++;
        return rank;
    }
    int64_t segment_of_hub(int64_t hub) const { return hub_segment_[hub]; }
    // Whether every call is a cut, so that the rows of a rank and its cuts are the same.
    bool has_only_cuts() const { return rows() == cut_rows_.size; }

    const Lists &hubs() const { return hubs_; }
    const SmallLists &needs() const { return needs_; }
    // The hub before it, whose members count as its own, or -1.
    int64_t hub_parent(size_t hub) const { return hub_parent_[hub]; }

    // Whether an order of its rows is kept, for whoever asks next.
    bool keeps_order() const { return keeps_order_; }
    void keep_no_order() { keeps_order_ = false; }
    // Its rows in order, null until that is kept.
    std::shared_ptr<const Tape> tape() const;
    void keep(std::shared_ptr<const Tape> tape) const;

private:
    static constexpr size_t BLOCK_ROWS = 16;

    void lay_out_rows();
    void place_hubs();
    void check_needs() const;

    size_t ranks_;
    Numbers cut_rows_;
    Lists hubs_;
    Numbers hub_parent_;
    SmallLists needs_;
    std::vector<int32_t> segments_;     // of each row
    std::vector<uint32_t> block_ranks_; // of the first of every BLOCK_ROWS rows
    std::vector<int32_t> hub_segment_;
    bool keeps_order_ = true;

    struct Kept {
        std::mutex lock;
        std::shared_ptr<const Tape> tape;
    };
    std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

} // namespace perfscope
