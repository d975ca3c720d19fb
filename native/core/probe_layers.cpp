#include "probe_layers.h"

#include "reducers/free_time.h"
#include "reducers/rank_timeline.h"
#include "reducers/timeline_sums.h"
#include "reducers/work_pieces.h"

#include <cstdio>
#include <random>
#include <stdexcept>

namespace perfscope {

namespace {

constexpr int64_t KINDS = 13, LONGEST = 60;

struct RandomRank {
    std::vector<int64_t> starts, ends, values;
    std::vector<uint16_t> kinds;
    std::vector<int64_t> enter, need, leave, after;
    std::vector<uint16_t> op;
    std::vector<uint32_t> tid;
    std::vector<int32_t> comm;
    std::vector<int64_t> sent, received;

    explicit RandomRank(std::mt19937 &chance)
    {
        for (unsigned left = chance() % 12; left; left--) {
            starts.push_back(moment(chance));
            ends.push_back(starts.back() + moment(chance) / 2 - 3);
            values.push_back(chance() % 4);
            kinds.push_back(static_cast<uint16_t>(chance() % KINDS));
        }
        int64_t at = moment(chance);
        const bool may_overlap = chance() % 2;
        for (unsigned left = chance() % 12; left; left--) {
            enter.push_back(at);
            need.push_back(at + moment(chance) / 8);
            leave.push_back(need.back() + moment(chance) / 8);
            after.push_back(2);
            op.push_back(static_cast<uint16_t>(chance() % 3));
            tid.push_back(chance() % 4 ? 1 : 2);
            comm.push_back(0);
            sent.push_back(static_cast<int64_t>(static_cast<uint64_t>(chance()) << 32));
            received.push_back(INT64_MAX);
            at = may_overlap ? at + moment(chance) / 9 : leave.back() + moment(chance) / 9;
        }
    }

    static int64_t moment(std::mt19937 &chance) { return static_cast<int64_t>(chance() % LONGEST); }
    CallsOfRank columns() const
    {
        return {enter.size(), enter.data(), leave.data(), op.data(),
                tid.data(),   comm.data(),  sent.data(),  received.data()};
    }
    Intervals intervals() const { return {starts.data(), ends.data(), values.data(), starts.size()}; }
};

AccountRules some_rules()
{
    AccountRules rules{};
    rules.special.assign(KINDS, NOTHING);
    rules.broad.assign(KINDS - 2, NOTHING); // kinds beyond the table say nothing
    rules.special[5] = 5;
    rules.broad[9] = 6;
    rules.broad[1] = rules.training = 7;
    rules.broad_order = {6, 7};
    rules.predict = 7;
    rules.communication = 11;
    rules.untraced = 8;
    return rules;
}

void check(const RankTimeline &timeline, const Life &life)
{
    const auto &cuts = timeline.boundaries;
    bool is_partition = life.end < life.start ? cuts.empty() : cuts.front() == life.start && cuts.back() == life.end;
    for (size_t i = 1; i < cuts.size(); i++)
        is_partition = is_partition && cuts[i - 1] < cuts[i];
    if (!is_partition || timeline.accounts.size() != (cuts.empty() ? 0 : cuts.size() - 1))
        throw std::runtime_error("a timeline is no partition of a life");
}

} // namespace

void make_random_timelines(unsigned count)
{
    size_t segments = 0, pieces = 0;
    for (unsigned seed = 0; seed < count; seed++) {
        std::mt19937 chance(seed);
        const RandomRank rank(chance), samples(chance);
        const Layer phases = innermost_layer(rank.intervals()), seen = innermost_layer(samples.intervals());
        const Marks marks{rank.starts.data(), rank.ends.data(), rank.values.data(), rank.kinds.data(),
                          rank.starts.size(), samples.intervals()};
        const CallSplit calls{rank.enter.data(), rank.need.data(), rank.leave.data(), rank.after.data(),
                              rank.enter.size(), 1};
        Life life{RandomRank::moment(chance), RandomRank::moment(chance), RandomRank::moment(chance),
                  RandomRank::moment(chance)};
        if (chance() % 2)
            life.detail_end = RandomRank::moment(chance);
        const RankTimeline timeline = rank_timeline(some_rules(), marks, calls, {seen, seen, phases, phases}, life);
        check(timeline, life);
        segments += timeline.accounts.size();
        const TimelineView view{timeline.boundaries.data(), timeline.accounts.data(), timeline.phases.data(),
                                timeline.accounts.size()};
        spent_by_phase(view, life.focus_start, life.focus_end, 2, 5);
        spent_by_bin(view, life.focus_start, life.focus_end, 1 + seed % 7, 5);
        if (!timeline.boundaries.empty())
            pieces += work_pieces({{timeline.boundaries.data(), timeline.accounts.data(), timeline.phases.data(),
                                    timeline.stacks.data(), timeline.accounts.size(), rank.enter.data(),
                                    rank.leave.data(), rank.enter.size(), samples.starts.data(),
                                    samples.starts.size(), life.focus_start, life.focus_end, 1}},
                                  {0, 1}, rank.enter.size() + 2)
                          .rows.size();
        pieces += free_time(rank.columns(), 1, life.start, life.end, phases, true).starts.size();
        longest_free(rank.columns(), 1, life.start, life.end, phases, rank.enter.data(), rank.leave.data(),
                     rank.enter.size());
    }
    std::printf("layers: %u lives of %zu segments and %zu pieces\n", count, segments, pieces);
}

} // namespace perfscope
