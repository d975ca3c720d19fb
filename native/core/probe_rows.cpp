#include "probe_rows.h"

#include "replay/layout.h"
#include "replay/program.h"
#include "replay/row_collectives.h"
#include "replay/row_times.h"
#include "replay/row_work.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>

namespace perfscope {

namespace {

class RandomRows {
public:
    explicit RandomRows(std::mt19937 &chance) : chance_(chance), calls_(chance() % 50), rows_(chance() % 60)
    {
        for (size_t call = 0; call < calls_; call++) {
            enter_.push_back(pick(1000));
            exit_.push_back(enter_.back() + pick(50));
            rank_.push_back(static_cast<int32_t>(call * 3 / calls_));
        }
        std::sort(enter_.begin(), enter_.end());
        std::sort(exit_.begin(), exit_.end());
        for (size_t row = 0; row < rows_; row++) {
            call_.push_back(calls_ ? static_cast<int32_t>(pick(calls_ + 1)) - 1 : -1);
            segment_.push_back(static_cast<int32_t>(pick(SEGMENTS)));
        }
    }

    void waits() const
    {
        std::vector<int64_t> boundaries{0};
        std::vector<uint8_t> accounts;
        for (size_t left = pick(40); left; left--) {
            boundaries.push_back(boundaries.back() + 1 + pick(60));
            accounts.push_back(static_cast<uint8_t>(pick(3)));
        }
        std::vector<int32_t> in_order(calls_);
        std::iota(in_order.begin(), in_order.end(), 0);
        const RowWaits found = row_waits({boundaries.data(), boundaries.size(), accounts.data(), 1},
                                         {in_order.data(), calls_, enter_.data(), exit_.data()}, 0, boundaries.back());
        double waited = 0.0;
        for (size_t segment = 0; segment < accounts.size(); segment++)
            waited += accounts[segment] == 1 ? static_cast<double>(boundaries[segment + 1] - boundaries[segment]) : 0.0;
        expect(std::accumulate(found.before.begin(), found.before.end(),
                               std::accumulate(found.inside.begin(), found.inside.end(), 0.0)) == waited,
               "the waits of rows do not add up");
    }

    void units() const
    {
        std::vector<int64_t> starts, numbers;
        for (size_t left = 1 + pick(20); left; left--) {
            starts.push_back(pick(1000));
            numbers.push_back(static_cast<int64_t>(numbers.size()));
        }
        std::sort(starts.begin(), starts.end());
        std::vector<int32_t> first, units(rows_), again(rows_);
        for (size_t segment = 0; segment <= SEGMENTS; segment++)
            first.push_back(static_cast<int32_t>(pick(20)));
        std::sort(first.begin(), first.end());
        const UnitClock clock{starts.data(), numbers.data(), starts.size()};
        const UnitBounds bounds{segment_.data(), first.data()};
        units_of_calls(clock, bounds, {call_.data(), rows_, enter_.data(), nullptr}, 5, units.data());
        std::vector<int64_t> moments;
        for (const int32_t call : call_)
            moments.push_back(call < 0 ? 5 : enter_[static_cast<size_t>(call)]);
        std::vector<int32_t> own(rows_);
        std::iota(own.begin(), own.end(), 0);
        units_of_moments(clock, bounds, moments.data(), own.data(), rows_, again.data());
        expect(units == again, "rows and moments lie in different units");
    }

    void collectives() const
    {
        std::vector<int64_t> members(calls_), starts{0}, carried, comm, order;
        std::iota(members.begin(), members.end(), 0);
        std::shuffle(members.begin(), members.end(), chance_);
        while (static_cast<size_t>(starts.back()) < calls_) {
            starts.push_back(std::min<int64_t>(starts.back() + 1 + pick(4), static_cast<int64_t>(calls_)));
            order.push_back(static_cast<int64_t>(carried.size()));
            carried.push_back(1 + pick(100));
            comm.push_back(pick(2));
        }
        const InstanceMembers instances{members.data(), starts.data(), carried.size()};
        const RowCollectives found = collectives_of_rows(instances, carried.data(), call_.data(), rows_, calls_);
        for (size_t row = 0; row < rows_; row++)
            expect((found.size[row] > 0) == (call_[row] >= 0) && (found.ranks[row] > 0) == (call_[row] >= 0),
                   "a call of a collective carries nothing");
        const auto follows = follow_closely(instances, {comm.data(), order.data(), comm.data()},
                                            {enter_.data(), exit_.data(), rank_.data()}, order.data(), order.size(), 200);
        expect(follows.empty() || !follows[0], "the first collective follows one");
    }

    void sums() const
    {
        std::vector<double> ns(rows_);
        for (double &one : ns)
            one = static_cast<double>(pick(1000));
        std::vector<int64_t> rows(rows_);
        std::vector<int32_t> own(rows_);
        std::iota(rows.begin(), rows.end(), 0);
        std::iota(own.begin(), own.end(), 0);
        const double all = std::accumulate(ns.begin(), ns.end(), 0.0);
        const auto by_segment = sums_by_key(ns.data(), rows.data(), rows_, SmallCodes(segment_.data()), nullptr, SEGMENTS);
        expect(std::accumulate(by_segment.begin(), by_segment.end(), 0.0) == all, "sums by key are not all");
        const auto by_phase = work_by_phase({own.data(), ns.data(), rows_}, segment_.data(), rows.data(), rows_, rows_,
                                            SEGMENTS);
        expect(std::accumulate(by_phase.begin(), by_phase.end(), 0.0) == all, "work by phase is not all");
    }

    // Meetings of all calls, one after the other.
    void laid_out() const
    {
        std::vector<uint8_t> some(calls_);
        std::vector<int64_t> ends(calls_), all(calls_), starts{0}, kind, root;
        std::vector<uint16_t> op(calls_);
        for (size_t call = 0; call < calls_; call++) {
            some[call] = static_cast<uint8_t>(pick(2));
            all[call] = static_cast<int64_t>(call);
            ends[call] = pick(calls_ + 1) - 1;
            if (call + 1 < calls_ && pick(3))
                continue;
            root.push_back(pick(4) ? starts.back() : -1);
            kind.push_back(pick(4));
            starts.push_back(static_cast<int64_t>(call) + 1);
        }
        const ChosenCalls chosen =
            choose_calls({enter_.data(), exit_.data(), rank_.data(), op.data(), calls_, 3}, some.data(), 100, 900);
        for (size_t place = 0; place < chosen.call.size(); place++)
            expect(chosen.place[static_cast<size_t>(chosen.call[place])] == static_cast<int64_t>(place),
                   "a chosen call does not stand in its place");
        const NeedsOfMeetings needs = needs_of_meetings({{starts.data(), starts.size()},
                                                         {all.data(), all.size()},
                                                         {kind.data(), kind.size()},
                                                         {root.data(), root.size()},
                                                         some.data(),
                                                         ends.data()});
        const Lists hubs{{needs.hub_starts.data(), needs.hub_starts.size()}, {needs.hub_rows.data(), needs.hub_rows.size()}};
        const std::vector<int64_t> before = needed_before({enter_.data(), enter_.size()}, hubs, needs.hub_parent.data(),
                                                          {needs.row.data(), needs.row.size()}, needs.on.data());
        for (size_t call = 0; call < calls_; call++)
            expect(before[call] >= enter_[call], "a call needs nothing as late as its own arrival");
    }

private:
    static constexpr size_t SEGMENTS = 6;

    int64_t pick(size_t below) const { return static_cast<int64_t>(chance_() % below); }

    static void expect(bool holds, const char *otherwise)
    {
        if (!holds)
            throw ReplayError(otherwise);
    }

    std::mt19937 &chance_;
    size_t calls_, rows_;
    std::vector<int64_t> enter_, exit_;
    std::vector<int32_t> rank_, call_, segment_;
};

} // namespace

void probe_random_rows(unsigned count)
{
    std::mt19937 chance(20261127);
    for (unsigned i = 0; i < count; i++) {
        const RandomRows rows(chance);
        rows.waits();
        rows.units();
        rows.collectives();
        rows.sums();
        rows.laid_out();
    }
    std::printf("rows: %u runs\n", count);
}

} // namespace perfscope
