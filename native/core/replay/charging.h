// What waits are charged to, told in one way: by a tag for each piece of work.
#pragma once

#include "replay/delay_scene.h"
#include "replay/pair_sums.h"
#include "replay/round_trip.h"
#include "replay/segment_links.h"

#include <algorithm>

namespace perfscope {

// Two rows at which two ranks met last: what lies behind them explains the wait.
struct Meeting {
    int64_t waiter;
    int64_t cause;
};

// Charges the waits of one segment after the other.
class Charging {
public:
    Charging(const DelayRun &run, const Tags &tags) : run_(run), tags_(tags), late_(tags.count) {}

    // Goes to a segment of so many rows.
    void enter(size_t rows, DelayCost &sum, PairSums::Own &pairs)
    {
        sum_ = &sum;
        pairs_ = &pairs;
        inherited_.assign(rows, 0.0);
    }

    // Charges a wait of `row` for `cause` to what both did since they met, and to what was waited meanwhile: that stands
    // in `waited`, by the number that `number` tells of a row.
    template <class Number>
    void charge(int64_t row, int64_t cause, double ns, const Meeting &met, const Number &number, const std::vector<double> &waited)
    {
        begin(row, cause, ns);
        std::fill(late_.begin(), late_.end(), 0.0);
        add_work(met.cause, cause, 1.0);
        add_work(met.waiter, row, -1.0);
        double total = 0.0;
        for (double &late : late_) {
            late = std::max(late, 0.0);
            total += late;
        }
        const size_t first = number(met.cause) + 1, behind = number(cause);
        for (size_t earlier = first; earlier < behind; earlier++)
            total += waited[earlier];
        const double inherited = inherited_[number(row)];
        if (total <= 0) {
            sum_->unattributed += ns + inherited;
            return;
        }
        const double direct = std::min(ns / total, 1.0), indirect = inherited / total;
        for (size_t tag = 0; tag < tags_.count; tag++)
            if (late_[tag] > 0)
                charge_to(cause, tag, late_[tag], direct, indirect);
        for (size_t earlier = first; earlier < behind; earlier++)
            inherited_[earlier] += (direct + indirect) * waited[earlier];
        sum_->unattributed += ns - direct * total;
    }

    // A wait for what its own rank has set going is charged to who worked meanwhile, one after the other: `walk` calls
    // each(row, its work, its transfer) for them. That took `length`.
    template <class Walk>
    void charge_turns(int64_t row, int64_t cause, double ns, size_t number, double length, const Walk &walk)
    {
        begin(row, cause, ns);
        const double inherited = inherited_[number];
        const double direct = ns / length, indirect = inherited / length;
        double left = ns + inherited;
        const auto charge_part = [&](int64_t at, size_t tag, double part) {
            const bool is_own = rank_of(at) == rank_of(cause);
            charge_to(at, tag, part, is_own ? direct : 0.0, is_own ? indirect : direct + indirect);
            left -= (direct + indirect) * part;
        };
        walk([&](int64_t at, double work, double transfer) {
            const double part = work > 0 ? work / run_.costs.gap[at] : 0.0;
            for (int64_t piece = run_.pieces.starts[at]; part > 0 && piece < run_.pieces.starts[at + 1]; piece++)
                charge_part(at, static_cast<size_t>(tags_.of_piece[piece]), part * run_.pieces.ns[piece]);
            if (transfer > 0)
                charge_part(at, tags_.count - 1, transfer);
        });
        sum_->unattributed += left;
    }

    // What the segment was charged to goes to its sums, that of a unit, rank and tag together.
    void leave()
    {
        if (!std::is_sorted(charges_.begin(), charges_.end())) // of most segments there are few, and sorting takes room
            std::stable_sort(charges_.begin(), charges_.end());
        Charges &noted = sum_->charges;
        for (size_t place = 0; place < charges_.size(); place++) {
            const Charge &one = charges_[place];
            if (place && !(charges_[place - 1] < one)) {
                noted.ns.back() += one.ns;
                continue;
            }
            noted.unit.push_back(one.unit);
            noted.rank.push_back(static_cast<int64_t>(one.cell / tags_.count));
            noted.tag.push_back(static_cast<int64_t>(one.cell % tags_.count));
            noted.ns.push_back(one.ns);
        }
        charges_.clear();
    }

private:
    struct Charge {
        int32_t unit;
        size_t cell; // of a rank and tag
        double ns;

        bool operator<(const Charge &other) const
        {
            return unit != other.unit ? unit < other.unit : cell < other.cell;
        }
    };

    // The wait is told, whatever it will be charged to.
    void begin(int64_t row, int64_t cause, double ns)
    {
        if (!tags_.units)
            pairs_->add(rank_of(row), rank_of(cause), ns);
        sum_->waiting += ns;
    }

    size_t rank_of(int64_t row) const { return run_.program->rank_of(row); }

    // Charges so much for each nanosecond that a row of some tag was late.
    void charge_to(int64_t row, size_t tag, double late, double direct, double indirect)
    {
        const size_t cell = rank_of(row) * tags_.count + tag;
        if (tags_.units) {
            charges_.push_back({tags_.units[row], cell, (direct + indirect) * late});
            return;
        }
        sum_->direct[cell] += direct * late;
        sum_->indirect[cell] += indirect * late;
    }

    void add_work(int64_t after, int64_t until, double sign)
    {
        for (int64_t piece = run_.pieces.starts[after + 1]; piece < run_.pieces.starts[until + 1]; piece++)
            late_[static_cast<size_t>(tags_.of_piece[piece])] += sign * run_.pieces.ns[piece];
        for (int64_t row = after; row < until; row++)
            late_[tags_.count - 1] += sign * run_.costs.transfer[row];
    }

    const DelayRun &run_;
    const Tags tags_;
    DelayCost *sum_ = nullptr;
    PairSums::Own *pairs_ = nullptr;
    std::vector<double> inherited_; // by number of the row: cost of later waits that its wait made longer
    std::vector<double> late_;
    std::vector<Charge> charges_; // of the segment, in the order in which they were made
};

} // namespace perfscope
