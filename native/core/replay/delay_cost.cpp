#include "replay/delay_cost.h"

#include "parallel.h"
#include "replay/round_trip.h"
#include "replay/segment_links.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace perfscope {

namespace {

constexpr int64_t ROWS_LOOKED_BACK = 4096; // for the last moment at which two ranks met
constexpr size_t MOST_PARTS = 64;          // of the program, each with sums of its own

// Two rows at which two ranks met last: what lies behind them explains the wait.
struct Meeting {
    int64_t waiter;
    int64_t cause;
};

// The waits of one segment after the other, added to one sum.
class Costing {
public:
    Costing(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals, const Pieces &pieces,
            const Waiting &waiting)
        : program_(program), costs_(costs), arrivals_(arrivals), pieces_(pieces), waiting_(waiting), sweep_(program, costs, arrivals), links_(program),
          chain_(program, costs, arrivals), late_(pieces.tags)
    {
        begin();
    }

    // Sums of nothing.
    void begin()
    {
        sum = {};
        sum.direct.assign(program_.ranks() * pieces_.tags, 0.0);
        sum.indirect.assign(program_.ranks() * pieces_.tags, 0.0);
        many_pairs_.clear();
        const bool is_few = waiting_.tells_pairs && program_.ranks() <= FEW_RANKS;
        few_pairs_.assign(is_few ? program_.ranks() * program_.ranks() : 0, 0.0);
    }

    void segment(size_t segment)
    {
        segment_ = segment;
        order_.clear();
        sweep_.segment(segment, &order_);
        links_.enter(segment);
        chain_.enter(segment);
        is_linked_ = false;
        const size_t found = find_waits(), at_end = waits_at_end_;
        if (found == 0)
            return;
        const bool is_last = segment + 1 == program_.segments();
        if (at_end > 0)
            for (size_t rank = 0; rank < program_.ranks(); rank++)
                if (!is_last || waiting_.at_end[rank])
                    explain(program_.cut_row(segment + 1, rank));
        if (found > at_end)
            for (auto row = order_.rbegin(); row != order_.rend(); ++row)
                explain(*row - 1); // a row is left when the next one of its rank is on its way
        note_charges();
    }

    // Calls take(key, ns) for each pair of ranks of which one waited for the other, waiter * ranks + cause.
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
                const double ns = waiting_.measured ? waiting_.measured[row] : latest.time - arrivals_[row];
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
        if (waiting_.tells_pairs) {
            const uint64_t pair = static_cast<uint64_t>(program_.rank_of(row)) * program_.ranks() + cause_rank;
            (few_pairs_.empty() ? many_pairs_[pair] : few_pairs_[pair]) += wait.ns;
        }
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
        for (size_t tag = 0; tag < pieces_.tags; tag++) {
            if (!(late_[tag] > 0))
                continue;
            const size_t cell = cause_rank * pieces_.tags + tag;
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
        const auto charge_part = [&](int64_t at, size_t tag, double ns) {
            const uint32_t rank = program_.rank_of(at);
            const size_t cell = rank * pieces_.tags + tag;
            const bool is_direct = rank == program_.rank_of(wait.cause);
            (is_direct ? sum.direct : sum.indirect)[cell] += direct * ns;
            sum.indirect[cell] += indirect * ns;
            charge(at, cell, (direct + indirect) * ns);
            left -= (direct + indirect) * ns;
        };
        chain_.walk(wait.cause, arrivals_[row], waited_for, [&](int64_t at, double work, double transfer) {
            const double part = work > 0 ? work / costs_.gap[at] : 0.0;
            for (int64_t piece = pieces_.starts[at]; part > 0 && piece < pieces_.starts[at + 1]; piece++)
                charge_part(at, static_cast<size_t>(pieces_.tag[piece]), part * pieces_.ns[piece]);
            if (transfer > 0)
                charge_part(at, pieces_.tags - 1, transfer);
        });
        sum.unattributed += left;
    }

    void charge(int64_t row, size_t cell, double ns)
    {
        if (waiting_.units)
            charges_.push_back({waiting_.units[row], cell, ns});
    }

    // The charges of the segment, those of a unit, rank and tag together.
    void note_charges()
    {
        if (!std::is_sorted(charges_.begin(), charges_.end())) // of most segments there are few, and sorting takes room
            std::stable_sort(charges_.begin(), charges_.end());
        for (size_t place = 0; place < charges_.size(); place++) {
            const Charge &one = charges_[place];
            if (place && !(charges_[place - 1] < one)) {
                sum.charges.ns.back() += one.ns;
                continue;
            }
            sum.charges.unit.push_back(one.unit);
            sum.charges.rank.push_back(static_cast<int64_t>(one.cell / pieces_.tags));
            sum.charges.tag.push_back(static_cast<int64_t>(one.cell % pieces_.tags));
            sum.charges.ns.push_back(one.ns);
        }
        charges_.clear();
    }

    void add_work(int64_t after, int64_t until, double sign)
    {
        for (int64_t piece = pieces_.starts[after + 1]; piece < pieces_.starts[until + 1]; piece++)
            late_[static_cast<size_t>(pieces_.tag[piece])] += sign * pieces_.ns[piece];
        for (int64_t row = after; row < until; row++)
            late_[pieces_.tags - 1] += sign * costs_.transfer[row];
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

    const ReplayProgram &program_;
    const Costs &costs_;
    Arrivals &arrivals_;
    const Pieces &pieces_;
    const Waiting &waiting_;
    Sweep sweep_;
    SegmentLinks links_;
    Chain chain_;
    size_t segment_ = 0;
    bool is_linked_ = false;
    size_t waits_at_end_ = 0;
    std::vector<double> few_pairs_; // by waiter and cause, nanoseconds
    std::unordered_map<uint64_t, double> many_pairs_;
    std::vector<int64_t> order_;
    std::vector<Wait> waits_; // by number of the row
    std::vector<double> late_;
    std::vector<Charge> charges_; // of the segment, in the order in which they were made
};

void add(std::vector<double> &to, const std::vector<double> &from)
{
    for (size_t i = 0; i < to.size(); i++)
        to[i] += from[i];
}

void append(Charges &to, const Charges &from)
{
    to.unit.insert(to.unit.end(), from.unit.begin(), from.unit.end());
    to.rank.insert(to.rank.end(), from.rank.begin(), from.rank.end());
    to.tag.insert(to.tag.end(), from.tag.begin(), from.tag.end());
    to.ns.insert(to.ns.end(), from.ns.begin(), from.ns.end());
}

// Costings are used again: many ranks make them large.
class Costings {
public:
    Costings(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting)
        : program_(program), costs_(costs), arrivals_(program), pieces_(pieces), waiting_(waiting)
    {
    }

    // Calls use(costing) with one that begins with nothing and that no other thread has.
    template <class Use> void with(const Use &use)
    {
        std::unique_ptr<Costing> costing = idle();
        if (costing)
            costing->begin();
        else
            costing = std::make_unique<Costing>(program_, costs_, arrivals_, pieces_, waiting_);
        use(*costing);
        const std::lock_guard<std::mutex> hold(lock_);
        idle_.push_back(std::move(costing));
    }

private:
    std::unique_ptr<Costing> idle()
    {
        const std::lock_guard<std::mutex> hold(lock_);
        if (idle_.empty())
            return nullptr;
        std::unique_ptr<Costing> last = std::move(idle_.back());
        idle_.pop_back();
        return last;
    }

    const ReplayProgram &program_;
    const Costs &costs_;
    Arrivals arrivals_;
    const Pieces &pieces_;
    const Waiting &waiting_;
    std::mutex lock_;
    std::vector<std::unique_ptr<Costing>> idle_;
};

// The segments [first, behind), cut into parts for the threads.
DelayCost cost_between(const ReplayProgram &program, Costings &costings, size_t first, size_t behind, unsigned threads)
{
    const size_t segments = behind - first, count = std::max<size_t>(std::min(segments, MOST_PARTS), 1);
    std::vector<DelayCost> sums(count);
    std::vector<std::vector<std::pair<uint64_t, double>>> pairs(count);
    parallel_for(count, threads, [&](size_t part) {
        costings.with([&](Costing &costing) {
            const size_t begin = first + segments * part / count;
            for (size_t segment = first + segments * (part + 1) / count; segment-- > begin;)
                costing.segment(segment);
            sums[part] = std::move(costing.sum);
            costing.take_pairs([&](uint64_t key, double ns) { pairs[part].emplace_back(key, ns); });
        });
    });
    DelayCost cost = std::move(sums[0]);
    std::unordered_map<uint64_t, double> together(pairs[0].begin(), pairs[0].end());
    for (size_t part = 1; part < count; part++) {
        add(cost.direct, sums[part].direct);
        add(cost.indirect, sums[part].indirect);
        append(cost.charges, sums[part].charges);
        cost.unattributed += sums[part].unattributed;
        cost.waiting += sums[part].waiting;
        for (const auto &[key, ns] : pairs[part])
            together[key] += ns;
    }
    std::vector<std::pair<uint64_t, double>> sorted(together.begin(), together.end());
    std::sort(sorted.begin(), sorted.end());
    for (const auto &[key, ns] : sorted) {
        cost.waiter.push_back(static_cast<int64_t>(key / program.ranks()));
        cost.cause.push_back(static_cast<int64_t>(key % program.ranks()));
        cost.ns.push_back(ns);
    }
    return cost;
}

} // namespace

DelayCost delay_cost(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting,
                     unsigned threads)
{
    DelayCost cost;
    delay_costs(program, costs, pieces, waiting, {0, program.segments()}, threads,
                [&](DelayCost &&whole) { cost = std::move(whole); });
    return cost;
}

void delay_costs(const ReplayProgram &program, const Costs &costs, const Pieces &pieces, const Waiting &waiting,
                 const std::vector<size_t> &edges, unsigned threads, const std::function<void(DelayCost &&)> &take)
{
    if (pieces.starts.size != program.rows() + 1 || pieces.tags == 0 || waiting.at_end.size() != program.ranks())
        throw ReplayError("the pieces of work do not fit the rows");
    if (!std::is_sorted(edges.begin(), edges.end()) || (!edges.empty() && edges.back() > program.segments()))
        throw ReplayError("the parts of the run do not fit its segments");
    Costings costings(program, costs, pieces, waiting);
    for (size_t part = 1; part < edges.size(); part++)
        take(cost_between(program, costings, edges[part - 1], edges[part], threads));
}

} // namespace perfscope
