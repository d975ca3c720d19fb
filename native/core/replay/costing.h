// What the waits of segments are charged to, one segment after the other.
#pragma once

#include "replay/charging.h"
#include "replay/round_trip.h"
#include "replay/segment_links.h"

namespace perfscope {

constexpr int64_t ROWS_LOOKED_BACK = 4096; // for the last moment at which two ranks met

// Explains the waits of one segment after the other.
class Costing {
public:
    // `arrivals` are those of the run, where its segments have been replayed.
    Costing(const DelayRun &run, const Arrivals &arrivals)
        : run_(run), program_(*run.program), arrivals_(arrivals), links_(program_),
          chain_(program_, run_.costs, arrivals)
    {
        for (const Tags &tags : run_.tags)
            charging_.emplace_back(run_, tags);
    }

    // Adds what the waits of a segment cost, whose rows come in this order, to the sums of each kind of tags, and who waited
    // for whom; only some wait at the end of the last one.
    void explain(size_t segment, bool is_last, const std::vector<int64_t> &order, std::vector<DelayCost> &sums,
                 std::vector<PairSums::Own> &pairs)
    {
        segment_ = segment;
        links_.enter(segment);
        chain_.enter(segment);
        is_linked_ = false;
        const size_t found = find_waits(), at_end = waits_at_end_;
        if (found == 0)
            return;
        for (size_t kind = 0; kind < charging_.size(); kind++)
            charging_[kind].enter(links_.rows(), sums[kind], pairs[kind]);
        if (at_end > 0)
            for (size_t rank = 0; rank < program_.ranks(); rank++)
                if (!is_last || run_.waiting.at_end[rank])
                    explain(program_.cut_row(segment + 1, rank));
        if (found > at_end)
            for (auto row = order.rbegin(); row != order.rend(); ++row)
                explain(*row - 1); // a row is left when the next one of its rank is on its way
        for (Charging &one : charging_)
            one.leave();
    }

private:
    // How many rows wait; those at the end of the segment are counted by themselves, too.
    size_t find_waits()
    {
        waited_.assign(links_.rows(), 0.0);
        causes_.assign(links_.rows(), -1);
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
                waited_[number] = ns;
                causes_[number] = latest.row;
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
        const auto number = [this](int64_t at) { return links_.number(at); };
        const size_t own = number(row);
        const int64_t cause = causes_[own];
        if (cause < 0)
            return;
        const double ns = waited_[own];
        const Meeting met = last_meeting(row, cause);
        const auto waited_for = [this](int64_t at) { return causes_[links_.number(at)]; };
        const double since = arrivals_[row];
        if (!chain_.comes_back(row, cause, met.waiter, waited_for))
            for (Charging &one : charging_)
                one.charge(row, cause, ns, met, number, waited_);
        else
            for (Charging &one : charging_)
                one.charge_turns(row, cause, ns, own, arrivals_[cause] - since,
                                 [&](const auto &each) { chain_.walk(cause, since, waited_for, each); });
    }

    // When a row has all that it waits for.
    double leaves(int64_t row) const
    {
        const int64_t cause = causes_[links_.number(row)];
        return arrivals_[cause >= 0 ? cause : row];
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
    size_t segment_ = 0;
    bool is_linked_ = false;
    size_t waits_at_end_ = 0;
    std::vector<double> waited_;  // by number of the row
    std::vector<int64_t> causes_; // by number of the row: for whose arrival it waited, -1 nobody
    std::vector<Charging> charging_;
};

} // namespace perfscope
