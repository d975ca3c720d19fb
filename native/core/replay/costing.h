// What the waits of segments are charged to, one segment after the other.
#pragma once

#include "replay/delay_scene.h"
#include "replay/round_trip.h"
#include "replay/segment_links.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

constexpr int64_t ROWS_LOOKED_BACK = 4096; // for the last moment at which two ranks met

// Two rows at which two ranks met last: what lies behind them explains the wait.
struct Meeting {
    int64_t waiter;
    int64_t cause;
};

// What is added up of some segments: costs, and apart from them the pairs of ranks of which one waited for the other.
class DelaySums {
public:
    DelaySums(size_t ranks, size_t tags, bool tells_pairs) : ranks_(ranks)
    {
        sum.direct.assign(ranks * tags, 0.0);
        sum.indirect.assign(ranks * tags, 0.0);
        few_pairs_.assign(tells_pairs && ranks <= FEW_RANKS ? ranks * ranks : 0, 0.0);
    }

    void add_pair(size_t waiter, size_t cause, double ns)
    {
        const uint64_t pair = static_cast<uint64_t>(waiter) * ranks_ + cause;
        (few_pairs_.empty() ? many_pairs_[pair] : few_pairs_[pair]) += ns;
    }

    // Calls take(key, ns) for each pair, waiter * ranks + cause.
    template <class Take> void take_pairs(const Take &take)
    {
        for (size_t key = 0; key < few_pairs_.size(); key++)
            if (few_pairs_[key] > 0)
                take(key, few_pairs_[key]);
        for (const auto &[key, ns] : many_pairs_)
            take(key, ns);
    }

    DelayCost sum; // without the pairs of ranks

private:
    static constexpr size_t FEW_RANKS = 16; // whose pairs have a place each

    size_t ranks_;
    std::vector<double> few_pairs_; // by waiter and cause, nanoseconds
    std::unordered_map<uint64_t, double> many_pairs_;
};

// Explains the waits of one segment after the other.
class Costing {
public:
    // `arrivals` are those of the run, where its segments have been replayed.
    Costing(const DelayRun &run, const Arrivals &arrivals)
        : run_(run), program_(*run.program), arrivals_(arrivals), links_(program_),
          chain_(program_, run_.costs, arrivals), late_(run.pieces.tags)
    {
    }

    // Adds what the waits of a segment cost, whose rows come in this order; only some wait at the end of the last one.
    void explain(size_t segment, bool is_last, const std::vector<int64_t> &order, DelaySums &sums)
    {
        segment_ = segment;
        sums_ = &sums;
        links_.enter(segment);
        chain_.enter(segment);
        is_linked_ = false;
        const size_t found = find_waits(), at_end = waits_at_end_;
        if (found == 0)
            return;
        if (at_end > 0)
            for (size_t rank = 0; rank < program_.ranks(); rank++)
                if (!is_last || run_.waiting.at_end[rank])
                    explain(program_.cut_row(segment + 1, rank));
        if (found > at_end)
            for (auto row = order.rbegin(); row != order.rend(); ++row)
                explain(*row - 1); // a row is left when the next one of its rank is on its way
        note_charges();
    }

private:
    struct Wait {
        double ns = 0.0;
        int64_t cause = -1;
        double inherited = 0.0; // cost of later waits that it made longer
    };

    struct Charge {
        int32_t unit;
        size_t cell; // of a rank and tag
        double ns;

        bool operator<(const Charge &other) const
        {
            return unit != other.unit ? unit < other.unit : cell < other.cell;
        }
    };

    // How many rows wait; those at the end of the segment are counted by themselves, too.
    size_t find_waits()
    {
        waits_.assign(links_.rows(), {});
        waits_at_end_ = 0;
        size_t found = 0, number = 0;
        const Latest last = arrivals_.last_at_end(segment_);
        for (size_t rank = 0; rank < program_.ranks(); rank++) {
            const int64_t closing = program_.cut_row(segment_ + 1, rank);
            number++; // of the opening cut
            for (int64_t row = program_.cut_row(segment_, rank) + 1; row <= closing; row++, number++) {
                const Latest latest = row == closing ? last : arrivals_.need(row);
                if (latest.row == row || latest.time <= arrivals_[row])
                    continue;
                const double ns = run_.waiting.measured ? run_.waiting.measured[row] : latest.time - arrivals_[row];
                if (!(ns > 0))
                    continue;
                waits_[number] = {ns, latest.row, 0.0};
                waits_at_end_ += row == closing;
                found++;
            }
        }
        return found;
    }

    // Causes of a wait are attributed after those of every wait that inherits from it.
    void explain(int64_t row)
    {
        if (program_.segment_of(row) != static_cast<int64_t>(segment_))
            return;
        const Wait &wait = waits_[links_.number(row)];
        if (wait.cause < 0)
            return;
        const uint32_t cause_rank = program_.rank_of(wait.cause);
        if (run_.waiting.tells_pairs)
            sums_->add_pair(program_.rank_of(row), cause_rank, wait.ns);
        DelayCost &sum = sums_->sum;
        sum.waiting += wait.ns;
        const Meeting met = last_meeting(row, wait.cause);
        const auto waited_for = [this](int64_t at) { return waits_[links_.number(at)].cause; };
        if (chain_.comes_back(row, wait.cause, met.waiter, waited_for)) {
            explain_turns(row, wait, waited_for);
            return;
        }
        std::fill(late_.begin(), late_.end(), 0.0);
        add_work(met.cause, wait.cause, 1.0);
        add_work(met.waiter, row, -1.0);
        double total = 0.0;
        for (double &late : late_) {
            late = std::max(late, 0.0);
            total += late;
        }
        Wait *const first = waits_.data() + links_.number(met.cause) + 1;
        Wait *const behind = waits_.data() + links_.number(wait.cause);
        for (const Wait *earlier = first; earlier < behind; earlier++)
            total += earlier->ns;
        if (total <= 0) {
            sum.unattributed += wait.ns + wait.inherited;
            return;
        }
        const double direct = std::min(wait.ns / total, 1.0), indirect = wait.inherited / total;
        for (size_t tag = 0; tag < run_.pieces.tags; tag++) {
            if (!(late_[tag] > 0))
                continue;
            const size_t cell = cause_rank * run_.pieces.tags + tag;
            sum.direct[cell] += direct * late_[tag];
            sum.indirect[cell] += indirect * late_[tag];
            charge(wait.cause, cell, (direct + indirect) * late_[tag]);
        }
        for (Wait *earlier = first; earlier < behind; earlier++)
            earlier->inherited += (direct + indirect) * earlier->ns;
        sum.unattributed += wait.ns - direct * total;
    }

    // A wait for what its own rank has set going is charged to who worked meanwhile, one after the other.
    template <class WaitedFor> void explain_turns(int64_t row, const Wait &wait, const WaitedFor &waited_for)
    {
        const double length = arrivals_[wait.cause] - arrivals_[row];
        const double direct = wait.ns / length, indirect = wait.inherited / length;
        double left = wait.ns + wait.inherited;
        DelayCost &sum = sums_->sum;
        const auto charge_part = [&](int64_t at, size_t tag, double ns) {
            const uint32_t rank = program_.rank_of(at);
            const size_t cell = rank * run_.pieces.tags + tag;
            const bool is_direct = rank == program_.rank_of(wait.cause);
            (is_direct ? sum.direct : sum.indirect)[cell] += direct * ns;
            sum.indirect[cell] += indirect * ns;
            charge(at, cell, (direct + indirect) * ns);
            left -= (direct + indirect) * ns;
        };
        chain_.walk(wait.cause, arrivals_[row], waited_for, [&](int64_t at, double work, double transfer) {
            const double part = work > 0 ? work / run_.costs.gap[at] : 0.0;
            for (int64_t piece = run_.pieces.starts[at]; part > 0 && piece < run_.pieces.starts[at + 1]; piece++)
                charge_part(at, static_cast<size_t>(run_.pieces.tag[piece]), part * run_.pieces.ns[piece]);
            if (transfer > 0)
                charge_part(at, run_.pieces.tags - 1, transfer);
        });
        sum.unattributed += left;
    }

    void charge(int64_t row, size_t cell, double ns)
    {
        if (run_.waiting.units)
            charges_.push_back({run_.waiting.units[row], cell, ns});
    }

    // The charges of the segment, those of a unit, rank and tag together.
    void note_charges()
    {
        if (!std::is_sorted(charges_.begin(), charges_.end())) // of most segments there are few, and sorting takes room
            std::stable_sort(charges_.begin(), charges_.end());
        Charges &noted = sums_->sum.charges;
        for (size_t place = 0; place < charges_.size(); place++) {
            const Charge &one = charges_[place];
            if (place && !(charges_[place - 1] < one)) {
                noted.ns.back() += one.ns;
                continue;
            }
            noted.unit.push_back(one.unit);
            noted.rank.push_back(static_cast<int64_t>(one.cell / run_.pieces.tags));
            noted.tag.push_back(static_cast<int64_t>(one.cell % run_.pieces.tags));
            noted.ns.push_back(one.ns);
        }
        charges_.clear();
    }

    void add_work(int64_t after, int64_t until, double sign)
    {
        for (int64_t piece = run_.pieces.starts[after + 1]; piece < run_.pieces.starts[until + 1]; piece++)
            late_[static_cast<size_t>(run_.pieces.tag[piece])] += sign * run_.pieces.ns[piece];
        for (int64_t row = after; row < until; row++)
            late_[run_.pieces.tags - 1] += sign * run_.costs.transfer[row];
    }

    // When a row has all that it waits for.
    double leaves(int64_t row) const
    {
        const Wait &wait = waits_[links_.number(row)];
        return arrivals_[wait.cause >= 0 ? wait.cause : row];
    }

    // One that leaves a call later than its partner is late already: what made it late lies further back.
    Meeting last_meeting(int64_t row, int64_t before)
    {
        const uint32_t other = program_.rank_of(before);
        const Meeting cut{program_.cut_row(segment_, program_.rank_of(row)), program_.cut_row(segment_, other)};
        const int64_t first = std::max(cut.waiter, row - ROWS_LOOKED_BACK);
        if (row - 1 > first && !is_linked_) {
            links_.link();
            is_linked_ = true;
        }
        for (int64_t earlier = row - 1; earlier > first; earlier--) {
            const int64_t partner = links_.partner_on(earlier, other);
            if (partner >= 0 && partner < before && leaves(partner) <= leaves(earlier))
                return {earlier, partner};
        }
        return cut;
    }

    const DelayRun run_;
    const ReplayProgram &program_;
    const Arrivals &arrivals_;
    SegmentLinks links_;
    Chain chain_;
    DelaySums *sums_ = nullptr;
    size_t segment_ = 0;
    bool is_linked_ = false;
    size_t waits_at_end_ = 0;
    std::vector<Wait> waits_; // by number of the row
    std::vector<double> late_;
    std::vector<Charge> charges_; // of the segment, in the order in which they were made
};

} // namespace perfscope
