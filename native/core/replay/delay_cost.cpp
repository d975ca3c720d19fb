#include "replay/delay_cost.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

namespace {

constexpr int64_t ROWS_LOOKED_BACK = 4096; // for the last moment at which two ranks met

// Two rows at which two ranks met last: what lies behind them explains the wait.
struct Meeting {
    int64_t waiter;
    int64_t cause;
};

class Costing {
public:
    Costing(const ReplayProgram &program, const Costs &costs, const Times &times, const Pieces &pieces, DelayCost &cost)
        : program_(program), costs_(costs), times_(times), pieces_(pieces), cost_(cost), inherited_(program.rows()),
          late_(pieces.tags)
    {
        cost_.direct.assign(program.ranks() * pieces.tags, 0.0);
        cost_.indirect.assign(program.ranks() * pieces.tags, 0.0);
    }

    // Causes of a wait are attributed after those of every wait that inherits from it.
    void wait(int64_t row)
    {
        const double waited = times_.need[row] - times_.arrival[row];
        const int64_t cause = times_.cause[row];
        if (cause < 0 || waited <= 0)
            return;
        const int64_t waiter_rank = program_.rank_of(row), cause_rank = program_.rank_of(cause);
        pairs_[static_cast<uint64_t>(waiter_rank) * program_.ranks() + static_cast<uint64_t>(cause_rank)] += waited;
        cost_.waiting += waited;
        const Meeting met = last_meeting(row, cause);
        std::fill(late_.begin(), late_.end(), 0.0);
        add_work(met.cause, cause, 1.0);
        add_work(met.waiter, row, -1.0);
        double excess = 0.0, own_waits = 0.0;
        for (double &late : late_) {
            late = std::max(late, 0.0);
            excess += late;
        }
        for (int64_t earlier = met.cause + 1; earlier < cause; earlier++)
            own_waits += waited_at(earlier);
        const double total = excess + own_waits;
        if (total <= 0) {
            cost_.unattributed += waited + inherited_[row];
            return;
        }
        const double direct = std::min(waited / total, 1.0), indirect = inherited_[row] / total;
        for (size_t tag = 0; tag < pieces_.tags; tag++) {
            cost_.direct[cause_rank * pieces_.tags + tag] += direct * late_[tag];
            cost_.indirect[cause_rank * pieces_.tags + tag] += indirect * late_[tag];
        }
        for (int64_t earlier = met.cause + 1; earlier < cause; earlier++)
            inherited_[earlier] += (direct + indirect) * waited_at(earlier);
        cost_.unattributed += waited - direct * total;
    }

    void write_pairs()
    {
        std::vector<std::pair<uint64_t, double>> sorted(pairs_.begin(), pairs_.end());
        std::sort(sorted.begin(), sorted.end());
        for (const auto &pair : sorted) {
            cost_.waiter.push_back(static_cast<int64_t>(pair.first / program_.ranks()));
            cost_.cause.push_back(static_cast<int64_t>(pair.first % program_.ranks()));
            cost_.ns.push_back(pair.second);
        }
    }

private:
    double waited_at(int64_t row) const { return times_.cause[row] < 0 ? 0.0 : times_.need[row] - times_.arrival[row]; }

    void add_work(int64_t after, int64_t until, double sign)
    {
        for (int64_t piece = pieces_.starts[after + 1]; piece < pieces_.starts[until + 1]; piece++)
            late_[pieces_.tag[piece]] += sign * pieces_.ns[piece];
        for (int64_t row = after; row < until; row++)
            late_[pieces_.tags - 1] += sign * costs_.transfer[row];
    }

    Meeting last_meeting(int64_t row, int64_t before) const
    {
        const int64_t other = program_.rank_of(before);
        const auto segment = static_cast<size_t>(program_.segment_of(row));
        const Meeting cut{program_.cut_row(segment, program_.rank_of(row)), program_.cut_row(segment, other)};
        const int64_t first = std::max(cut.waiter, row - ROWS_LOOKED_BACK);
        for (int64_t earlier = row - 1; earlier > first; earlier--) {
            const int64_t partner = partner_on(earlier, other);
            if (partner >= 0 && partner < before)
                return {earlier, partner};
        }
        return cut;
    }

    // The row of another rank that met this one, -1 none.
    int64_t partner_on(int64_t row, int64_t other) const
    {
        const Lists &needs = program_.needs(), &users = program_.needed_by(), &hubs = program_.hubs_of();
        for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need) {
            const int64_t partner = *need < 0 ? member_on(~*need, other) : *need;
            if (partner >= 0 && program_.rank_of(partner) == other)
                return partner;
        }
        for (auto user = users.begin_of(row); user != users.end_of(row); ++user)
            if (program_.rank_of(*user) == other)
                return *user;
        for (auto hub = hubs.begin_of(row); hub != hubs.end_of(row); ++hub) {
            const int64_t user = on_rank(program_.waiting_for(), *hub, other);
            if (user >= 0)
                return user;
        }
        return -1;
    }

    int64_t member_on(int64_t hub, int64_t other) const { return on_rank(program_.hubs(), hub, other); }

    // Rows of a list are in order, and with them their ranks.
    int64_t on_rank(const Lists &lists, int64_t list, int64_t other) const
    {
        const auto end = lists.end_of(list);
        const auto found = std::lower_bound(lists.begin_of(list), end, program_.first_row(other));
        return found != end && program_.rank_of(*found) == other ? *found : -1;
    }

    const ReplayProgram &program_;
    const Costs &costs_;
    const Times &times_;
    const Pieces &pieces_;
    DelayCost &cost_;
    std::vector<double> inherited_; // of each row: cost of later waits that its wait made longer
    std::vector<double> late_;
    std::unordered_map<uint64_t, double> pairs_;
};

} // namespace

DelayCost delay_cost(const ReplayProgram &program, const Costs &costs, const Times &times, const Pieces &pieces,
                     const std::vector<uint8_t> &waits_at_end)
{
    if (pieces.starts.size() != program.rows() + 1 || pieces.tags == 0 || waits_at_end.size() != program.ranks())
        throw ReplayError("the pieces of work do not fit the rows");
    DelayCost cost;
    Costing costing(program, costs, times, pieces, cost);
    for (size_t rank = 0; rank < program.ranks(); rank++)
        if (waits_at_end[rank])
            costing.wait(program.cut_row(program.segments(), rank));
    const auto &order = program.order();
    for (auto what = order.rbegin(); what != order.rend(); ++what)
        if (*what >= 0)
            costing.wait(*what - 1); // a row is left when the next one of its rank is on its way
    costing.write_pairs();
    return cost;
}

} // namespace perfscope
