// A run as a (max,+) system: what each rank did before each call, and for whom the call waits.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace perfscope {

// The calls cannot be brought into an order, or the arrays do not describe a program.
class ReplayError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Lists one after the other: list i is values[starts[i]] up to values[starts[i + 1]].
struct Lists {
    std::vector<int64_t> starts{0};
    std::vector<int64_t> values;

    size_t count() const { return starts.size() - 1; }
    const int64_t *begin_of(size_t list) const { return values.data() + starts[list]; }
    const int64_t *end_of(size_t list) const { return values.data() + starts[list + 1]; }

    // From (list, value) pairs in any order; values keep the order of the pairs.
    static Lists of(size_t count, const std::vector<std::pair<int64_t, int64_t>> &pairs);
};

// Rows of a rank are contiguous: its start, its calls in program order, its end. exit(row) =
// max(arrival(row), needs) + transfer(row) and arrival(row) = exit(row - 1) + gap(row). What a row needs is the
// arrival of another row (value >= 0) or of all rows of a hub (value ~hub).
//
// A cut is a meeting of all ranks that nobody leaves before all have come. Rows in front of a cut arrived before
// everything behind it, so a need from behind a cut is void, and the segments between cuts replay independently.
class ReplayProgram {
public:
    // `cut_rows` has one line of `ranks` rows for each cut, the first being the starts and the last the ends.
    ReplayProgram(size_t ranks, std::vector<int64_t> cut_rows, Lists hubs, std::vector<int64_t> hub_parent,
                  Lists needs);

    size_t ranks() const { return ranks_; }
    size_t rows() const { return segment_.size(); }
    size_t segments() const { return cut_rows_.size() / ranks_ - 1; }
    size_t hub_count() const { return hubs_.count(); }
    int64_t cut_row(size_t cut, size_t rank) const { return cut_rows_[cut * ranks_ + rank]; }
    int64_t segment_of(int64_t row) const { return segment_[row]; }
    int64_t rank_of(int64_t row) const { return rank_[row]; }
    int64_t first_row(int64_t rank) const { return cut_rows_[rank]; }

    const Lists &hubs() const { return hubs_; }
    const Lists &needs() const { return needs_; }
    const Lists &needed_by() const { return needed_by_; }   // row -> rows that need its arrival
    const Lists &hubs_of() const { return hubs_of_; }       // row -> hubs that it is a member of
    const Lists &waiting_for() const { return waiting_for_; } // hub -> rows that need it
    // The hub before it, whose members count as its own, or -1.
    int64_t hub_parent(size_t hub) const { return hub_parent_[hub]; }

    // Rows (value >= 0) and hubs (value ~hub) in an order in which each follows all that it depends on.
    const std::vector<int64_t> &order() const { return order_; }
    int64_t order_begin(size_t segment) const { return order_starts_[segment]; }
    int64_t order_end(size_t segment) const { return order_starts_[segment + 1]; }

private:
    void lay_out_rows(size_t expected);
    void keep_inside_segments(const Lists &hubs, const Lists &needs);
    void sort();
    void sort_segment(size_t segment, std::vector<int64_t> &missing, std::vector<int64_t> &absent,
                      std::vector<uint8_t> &arrived);

    size_t ranks_;
    std::vector<int64_t> cut_rows_;
    std::vector<int64_t> hub_parent_;
    std::vector<int64_t> segment_, rank_, hub_segment_;
    Lists hubs_, needs_, needed_by_, hubs_of_, waiting_for_;
    std::vector<int64_t> order_, order_starts_;
};

} // namespace perfscope
