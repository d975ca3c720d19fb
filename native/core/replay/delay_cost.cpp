#include "replay/delay_cost.h"

#include "parallel.h"
#include "replay/segment_links.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

namespace {

constexpr int64_t ROWS_LOOKED_BACK = 4096; // for the last moment at which two ranks met
constexpr size_t MOST_PARTS = 64;          // of the program, each with sums of its own
constexpr size_t NOWHERE = static_cast<size_t>(-1);

// Two rows at which two ranks met last: what lies behind them explains the wait.
struct Meeting {
    int64_t waiter;
    int64_t cause;
};

// The waits of one segment after the other, added to one sum.
class Costing {
public:
    Costing(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals, const Pieces &pieces,
            const std::vector<uint8_t> &waits_at_end, const double *measured)
        : program_(program), costs_(costs), arrivals_(arrivals), pieces_(pieces), waits_at_end_(waits_at_end),
          measured_(measured), sweep_(program, costs, arrivals), links_(program), late_(pieces.tags),
          place_(program.ranks() * pieces.tags, NOWHERE)
    {
        sum.direct.assign(program.ranks() * pieces.tags, 0.0);
        sum.indirect.assign(program.ranks() * pieces.tags, 0.0);
    }

    void segment(size_t segment)
    {
        segment_ = segment;
        order_.clear();
        sweep_.segment(segment, &order_);
        links_.enter(segment);
        find_waits();
        const bool is_last = segment + 1 == program_.segments();
        for (size_t rank = 0; rank < program_.ranks(); rank++)
            if (!is_last || waits_at_end_[rank])
                explain(program_.cut_row(segment + 1, rank));
        for (auto row = order_.rbegin(); row != order_.rend(); ++row)
            explain(*row - 1); // a row is left when the next one of its rank is on its way
        note_charges();
    }

    DelayCost sum; // without the pairs of ranks
    std::unordered_map<uint64_t, double> pairs;

private:
    struct Wait {
        double ns = 0.0;
        int64_t cause = -1;
        double inherited = 0.0; // cost of later waits that it made longer
    };

    void find_waits()
    {
        waits_.assign(links_.rows(), {});
        const Latest last = arrivals_.last_at_end(segment_);
        for (size_t rank = 0; rank < program_.ranks(); rank++) {
            const int64_t closing = program_.cut_row(segment_ + 1, rank);
            for (int64_t row = program_.cut_row(segment_, rank) + 1; row <= closing; row++) {
                const Latest latest = row == closing ? last : arrivals_.need(row);
                if (latest.row == row || latest.time <= arrivals_[row])
                    continue;
                const double ns = measured_ ? measured_[row] : latest.time - arrivals_[row];
                if (ns > 0)
                    waits_[links_.number(row)] = {ns, latest.row, 0.0};
            }
        }
    }

    // Causes of a wait are attributed after those of every wait that inherits from it.
    void explain(int64_t row)
    {
        if (program_.segment_of(row) != static_cast<int64_t>(segment_))
            return;
        const Wait &wait = waits_[links_.number(row)];
        if (wait.cause < 0)
            return;
        const uint32_t waiter_rank = program_.rank_of(row), cause_rank = program_.rank_of(wait.cause);
        pairs[static_cast<uint64_t>(waiter_rank) * program_.ranks() + cause_rank] += wait.ns;
        sum.waiting += wait.ns;
        const Meeting met = last_meeting(row, wait.cause);
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
        for (size_t tag = 0; tag < pieces_.tags; tag++) {
            const size_t cell = cause_rank * pieces_.tags + tag;
            sum.direct[cell] += direct * late_[tag];
            sum.indirect[cell] += indirect * late_[tag];
            if (late_[tag] > 0)
                charge(cell, (direct + indirect) * late_[tag]);
        }
        for (Wait *earlier = first; earlier < behind; earlier++)
            earlier->inherited += (direct + indirect) * earlier->ns;
        sum.unattributed += wait.ns - direct * total;
    }

    void charge(size_t cell, double ns)
    {
        if (place_[cell] == NOWHERE) {
            place_[cell] = charges_.size();
            charges_.emplace_back(cell, 0.0);
        }
        charges_[place_[cell]].second += ns;
    }

    // The charges of the segment, those of a rank and tag together.
    void note_charges()
    {
        std::sort(charges_.begin(), charges_.end());
        for (const auto &[cell, ns] : charges_) {
            sum.charges.segment.push_back(static_cast<int64_t>(segment_));
            sum.charges.rank.push_back(static_cast<int64_t>(cell / pieces_.tags));
            sum.charges.tag.push_back(static_cast<int64_t>(cell % pieces_.tags));
            sum.charges.ns.push_back(ns);
            place_[cell] = NOWHERE;
        }
        charges_.clear();
    }

    void add_work(int64_t after, int64_t until, double sign)
    {
        for (int64_t piece = pieces_.starts[after + 1]; piece < pieces_.starts[until + 1]; piece++)
            late_[pieces_.tag[piece]] += sign * pieces_.ns[piece];
        for (int64_t row = after; row < until; row++)
            late_[pieces_.tags - 1] += sign * costs_.transfer[row];
    }

    Meeting last_meeting(int64_t row, int64_t before) const
    {
        const uint32_t other = program_.rank_of(before);
        const Meeting cut{program_.cut_row(segment_, program_.rank_of(row)), program_.cut_row(segment_, other)};
        const int64_t first = std::max(cut.waiter, row - ROWS_LOOKED_BACK);
        for (int64_t earlier = row - 1; earlier > first; earlier--) {
            const int64_t partner = links_.partner_on(earlier, other);
            if (partner >= 0 && partner < before)
                return {earlier, partner};
        }
        return cut;
    }

    const ReplayProgram &program_;
    const Costs &costs_;
    Arrivals &arrivals_;
    const Pieces &pieces_;
    const std::vector<uint8_t> &waits_at_end_;
    const double *measured_;
    Sweep sweep_;
    SegmentLinks links_;
    size_t segment_ = 0;
    std::vector<int64_t> order_;
    std::vector<Wait> waits_; // by number of the row
    std::vector<double> late_;
    std::vector<size_t> place_; // of a rank and tag in the charges of the segment
    std::vector<std::pair<size_t, double>> charges_;
};

void add(std::vector<double> &to, const std::vector<double> &from)
{
    for (size_t i = 0; i < to.size(); i++)
        to[i] += from[i];
}

void append(Charges &to, const Charges &from)
{
    to.segment.insert(to.segment.end(), from.segment.begin(), from.segment.end());
    to.rank.insert(to.rank.end(), from.rank.begin(), from.rank.end());
    to.tag.insert(to.tag.end(), from.tag.begin(), from.tag.end());
    to.ns.insert(to.ns.end(), from.ns.begin(), from.ns.end());
}

} // namespace

DelayCost delay_cost(const ReplayProgram &program, const Costs &costs, const Pieces &pieces,
                     const std::vector<uint8_t> &waits_at_end, const double *waits, unsigned threads)
{
    if (pieces.starts.size != program.rows() + 1 || pieces.tags == 0 || waits_at_end.size() != program.ranks())
        throw ReplayError("the pieces of work do not fit the rows");
    const size_t count = std::min(program.segments(), MOST_PARTS);
    std::vector<DelayCost> sums(count);
    std::vector<std::unordered_map<uint64_t, double>> pairs(count);
    Arrivals arrivals(program);
    parallel_for(count, threads, [&](size_t part) {
        Costing costing(program, costs, arrivals, pieces, waits_at_end, waits);
        for (size_t segment = program.segments() * (part + 1) / count; segment-- > program.segments() * part / count;)
            costing.segment(segment);
        sums[part] = std::move(costing.sum);
        pairs[part] = std::move(costing.pairs);
    });
    DelayCost cost = std::move(sums[0]);
    for (size_t part = 1; part < count; part++) {
        add(cost.direct, sums[part].direct);
        add(cost.indirect, sums[part].indirect);
        append(cost.charges, sums[part].charges);
        cost.unattributed += sums[part].unattributed;
        cost.waiting += sums[part].waiting;
        for (const auto &[key, ns] : pairs[part])
            pairs[0][key] += ns;
    }
    std::vector<std::pair<uint64_t, double>> sorted(pairs[0].begin(), pairs[0].end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto &[key, ns] : sorted) {
        cost.waiter.push_back(static_cast<int64_t>(key / program.ranks()));
        cost.cause.push_back(static_cast<int64_t>(key % program.ranks()));
        cost.ns.push_back(ns);
    }
    return cost;
}

} // namespace perfscope
