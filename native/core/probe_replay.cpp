#include "probe_replay.h"

#include "replay/critical_path.h"
#include "replay/delay_cost.h"
#include "replay/leveling.h"
#include "replay/times.h"
#include "reducers/like_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <random>

namespace perfscope {

namespace {

constexpr unsigned THREADS = 3;
constexpr double CLOSE_NS = 1e-6;

enum class Kind { CUT, MESSAGE, MEETING, SCAN, COUNT };

struct Event {
    Kind kind;
    std::vector<size_t> ranks;
};

template <class Number> NumbersOf<Number> view(const std::vector<Number> &values)
{
    return {values.data(), values.size()};
}

// One list of events that every rank follows, so that nobody can wait in a circle.
class RandomProgram {
public:
    explicit RandomProgram(std::mt19937 &chance)
        : chance_(chance), ranks_(chance() % 8 ? 1 + chance() % 6 : 60 + chance() % 20), has_hubs_(chance() % 2)
    {
        for (unsigned left = chance() % 60; left; left--)
            events_.push_back(event());
        std::vector<int64_t> next(ranks_);
        for (size_t rank = 0; rank < ranks_; rank++) {
            cuts_.push_back(rows_);
            next[rank] = rows_ + 1;
            rows_ += 2;
            for (const Event &event : events_)
                rows_ += std::count(event.ranks.begin(), event.ranks.end(), rank);
        }
        wanted_.resize(static_cast<size_t>(rows_));
        for (const Event &event : events_) {
            std::vector<int64_t> rows;
            for (const size_t rank : event.ranks)
                rows.push_back(next[rank]++);
            place(event.kind, rows);
        }
        cuts_.insert(cuts_.end(), next.begin(), next.end());
        for (const auto &needs : wanted_) {
            for (const int64_t need : needs)
                needs_.push_back(static_cast<int32_t>(need));
            need_starts_.push_back(static_cast<int32_t>(needs_.size()));
        }
        for (int64_t row = 0; row < rows_; row++) {
            gap_.push_back(chance() % 1000);
            transfer_.push_back(chance() % 100);
        }
        for (size_t rank = 0; rank < ranks_; rank++)
            transfer_[static_cast<size_t>(cuts_[rank])] = 0;
    }

    void check() const
    {
        const ReplayProgram program = made();
        check_order(program, THREADS);
        const Costs costs{gap_.data(), transfer_.data()};
        const std::vector<double> lengths = segment_lengths(program, costs, THREADS);
        const double length = std::accumulate(lengths.begin(), lengths.end(), 0.0);
        double on_path = 0.0;
        const CriticalPath path = critical_path(program, costs, THREADS);
        for (const int64_t row : path.work_rows)
            on_path += gap_[static_cast<size_t>(row)];
        for (const int64_t row : path.transfer_rows)
            on_path += transfer_[static_cast<size_t>(row)];
        expect(on_path, length, "the critical path is not as long as the run");
        std::vector<int64_t> starts(gap_.size() + 1);
        const std::vector<int32_t> none(gap_.size());
        std::vector<int32_t> odd(gap_.size());
        for (size_t row = 0; row < odd.size(); row++)
            odd[row] = static_cast<int32_t>(row % 2);
        std::iota(starts.begin(), starts.end(), 0);
        const Waiting waiting{std::vector<uint8_t>(ranks_, 1), nullptr};
        const Pieces pieces{starts.data(), starts.size(), gap_.data()};
        const Tags tags{none.data(), 2}, others{odd.data(), 3, none.data()};
        const std::vector<size_t> edges{0, program.segments() / 2, program.segments()};
        const DelayCost cost = delay_cost(program, costs, pieces, waiting, {others, tags}, edges, THREADS)[1];
        const DelayCost plain = delay_cost(made(), costs, pieces, waiting, {tags}, edges, THREADS)[0]; // that knows no order yet
        if (plain.waiting != cost.waiting || plain.direct != cost.direct || plain.indirect != cost.indirect || plain.ns != cost.ns)
            throw ReplayError("a program that keeps an order has other delay costs");
        double in_parts = cost.unattributed;
        for (const auto *part : {&cost.parts.direct, &cost.parts.indirect})
            in_parts = std::accumulate(part->begin(), part->end(), in_parts);
        expect(in_parts, cost.waiting, "the parts of a run do not add up to its waiting");
        double explained = cost.unattributed;
        for (const auto *part : {&cost.direct, &cost.indirect})
            explained = std::accumulate(part->begin(), part->end(), explained);
        expect(explained, cost.waiting, "delay costs do not add up to the waiting");
        usual_rows(program);
        without_transfer(program, costs);
        on_networks(program, costs);
        between_kept_cuts(program, costs);
        const Times times = replay_times(program, costs, THREADS);
        const std::vector<int32_t> one_unit(program.rows());
        const double last = last_arrivals(program, costs, one_unit.data(), 1, THREADS)[0];
        if (last != *std::max_element(times.arrival.begin(), times.arrival.end()))
            throw ReplayError("the last arrival is not the last one");
        double waited = 0.0;
        for (size_t row = 0; row < gap_.size(); row++)
            waited += times.cause[row] < 0 ? 0.0 : times.need[row] - times.arrival[row];
        expect(waited, cost.waiting, "the waits of the calls do not add up");
    }

private:
    ReplayProgram made() const
    {
        return {ranks_, view(cuts_), {view(hub_starts_), view(hub_rows_)}, view(parents_), {view(need_starts_), view(needs_)}};
    }

    // A program that keeps an order and a new one of the same rows tell the same.
    void without_transfer(const ReplayProgram &program, const Costs &costs) const
    {
        std::vector<int32_t> codes;
        for (size_t row = 0; row < program.rows(); row++)
            codes.push_back(static_cast<int32_t>(chance_() % 3));
        const std::vector<double> found = lengths_without(program, costs, codes.data(), {0, 2}, THREADS);
        for (const int32_t code : {0, 2}) {
            std::vector<double> transfer = transfer_;
            for (size_t row = 0; row < transfer.size(); row++)
                if (codes[row] == code)
                    transfer[row] = 0.0;
            const std::vector<double> own = segment_lengths(made(), {costs.gap, transfer.data()}, THREADS);
            const auto first = found.begin() + (code ? static_cast<std::ptrdiff_t>(own.size()) : 0);
            if (!std::equal(own.begin(), own.end(), first))
                throw ReplayError("without an operation's transfer segments have other lengths");
        }
    }

    void on_networks(const ReplayProgram &program, const Costs &costs) const
    {
        const std::vector<double> divisors{2.0, 1e9, 3.0, 1.0, 0.5};
        const std::vector<double> found = lengths_of_networks(program, costs, divisors, THREADS);
        for (size_t place = 0; place < divisors.size(); place++) {
            std::vector<double> transfer = transfer_;
            for (double &one : transfer)
                one /= divisors[place];
            const std::vector<double> own = segment_lengths(made(), {costs.gap, transfer.data()}, THREADS);
            if (!std::equal(own.begin(), own.end(), found.begin() + static_cast<std::ptrdiff_t>(place * own.size())))
                throw ReplayError("on several networks at once segments have other lengths");
        }
    }

    // As a program without the other cuts tells.
    void between_kept_cuts(const ReplayProgram &program, const Costs &costs) const
    {
        std::vector<uint8_t> is_kept(program.segments() + 1);
        std::vector<int64_t> cuts;
        for (size_t cut = 0; cut < is_kept.size(); cut++) {
            is_kept[cut] = cut == 0 || cut + 1 == is_kept.size() || chance_() % 2;
            for (size_t rank = 0; is_kept[cut] && rank < ranks_; rank++)
                cuts.push_back(program.cut_row(cut, rank));
        }
        std::vector<int32_t> rows(gap_.size());
        std::iota(rows.begin(), rows.end(), 0);
        const PiecesOfWork work{rows.data(), gap_.data(), rows.size()}, none{nullptr, nullptr, 0};
        const auto found = joined_lengths(program, work, none, costs.transfer, is_kept.data(), THREADS);
        const ReplayProgram joined(ranks_, view(cuts), {view(hub_starts_), view(hub_rows_)}, view(parents_),
                                   {view(need_starts_), view(needs_)});
        if (!found)
            throw ReplayError("nothing is told between some cuts, though nobody needs what lies in front of one");
        if (*found != segment_lengths(joined, costs, THREADS))
            throw ReplayError("between some cuts segments have other lengths");
    }

    void usual_rows(const ReplayProgram &program) const
    {
        std::vector<int32_t> units, ranks, ops;
        for (size_t row = 0; row < program.rows(); row++) {
            ranks.push_back(static_cast<int32_t>(program.rank_of(static_cast<int64_t>(row))));
            units.push_back(static_cast<int32_t>(static_cast<int64_t>(gap_[row]) % 3));
            ops.push_back(units.back());
        }
        const LikeRows alike = like_rows(SmallCodes(ranks.data()), units.data(), SmallCodes(ops.data()), program.rows(), 3);
        const Medians usual = medians(gap_.data(), alike.numbers.data(), program.rows(), alike.count);
        expect(std::accumulate(usual.sizes.begin(), usual.sizes.end(), 0.0), static_cast<double>(program.rows()),
               "rows that are alike are not all rows");
    }

    static void expect(double found, double wanted, const char *otherwise)
    {
        if (std::abs(found - wanted) > CLOSE_NS)
            throw ReplayError(otherwise);
    }

    Event event()
    {
        auto kind = static_cast<Kind>(chance_() % static_cast<unsigned>(Kind::COUNT));
        if (!has_hubs_ && kind != Kind::CUT)
            kind = Kind::MESSAGE;
        if (ranks_ == 1 && kind == Kind::MESSAGE)
            kind = Kind::CUT;
        Event made{kind, {}};
        const size_t sender = chance_() % ranks_;
        if (kind == Kind::MESSAGE)
            made.ranks = {sender, (sender + 1 + chance_() % (ranks_ - 1)) % ranks_};
        else
            for (size_t rank = 0; rank < ranks_; rank++)
                if (kind == Kind::CUT || rank == sender || chance_() % 2)
                    made.ranks.push_back(rank);
        return made;
    }

    void place(Kind kind, const std::vector<int64_t> &rows)
    {
        if (kind == Kind::CUT) {
            cuts_.insert(cuts_.end(), rows.begin(), rows.end());
        } else if (kind == Kind::MESSAGE) {
            wanted_[static_cast<size_t>(rows[1])].push_back(rows[0]);
        } else {
            for (size_t i = 0; i < rows.size(); i++) {
                const bool begins = i == 0 || kind == Kind::SCAN;
                if (begins) {
                    parents_.push_back(i == 0 ? -1 : static_cast<int64_t>(parents_.size()) - 1);
                    hub_starts_.push_back(0);
                }
                hub_rows_.push_back(rows[i]);
                hub_starts_.back() = static_cast<int64_t>(hub_rows_.size());
                wanted_[static_cast<size_t>(rows[i])].push_back(~(static_cast<int64_t>(parents_.size()) - 1));
            }
        }
    }

    std::mt19937 &chance_;
    size_t ranks_;
    bool has_hubs_;
    int64_t rows_ = 0;
    std::vector<Event> events_;
    std::vector<std::vector<int64_t>> wanted_; // by row
    std::vector<int64_t> cuts_, hub_starts_{0}, hub_rows_, parents_;
    std::vector<int32_t> need_starts_{0}, needs_;
    std::vector<double> gap_, transfer_;
};

// Work that is dealt out evenly in a group is all there, and that made as long as the others' is no more than it was.
void level_random_work(std::mt19937 &chance)
{
    const size_t segments = chance() % 200, ranks = 1 + chance() % 5;
    std::vector<double> work(segments * ranks);
    for (double &one : work)
        one = chance() % 4 ? chance() % 1'000'000 : 0;
    std::vector<uint8_t> chosen(ranks);
    for (uint8_t &one : chosen)
        one = chance() % 2;
    SegmentGroups kinds;
    for (size_t segment = 0; segment < segments; segment++) {
        kinds.segments.push_back(static_cast<int64_t>(segment));
        if (segment + 1 == segments || chance() % 50 == 0)
            kinds.starts.push_back(static_cast<int64_t>(segment) + 1);
    }
    const WorkTable table{work.data(), segments, ranks};
    const std::vector<uint8_t> all(ranks, 1);
    const SegmentGroups groups = groups_of_like(table, kinds, {all.data(), chance() % 2 == 0, 1.5, 0.1, 8, 1e-6});
    const std::vector<double> even = evened(table, groups, chosen.data());
    const std::vector<double> others = made_as_others(table, groups, chosen.data());
    double before = 0.0, after = 0.0;
    for (size_t place = 0; place < work.size(); place++) {
        before += work[place];
        after += even[place];
        if (!chosen[place % ranks] && (even[place] != work[place] || others[place] != work[place]))
            throw ReplayError("work of a rank was leveled that was not chosen");
    }
    if (std::abs(after - before) > 1e-9 * before)
        throw ReplayError("leveling lost work");
    std::vector<double> bounds;
    for (const LowValues &one : low_values(table, groups, 0.05, 0.25))
        bounds.push_back(one.around[3]);
    bounds.resize((groups.starts.size() - 1) * ranks);
    const std::vector<double> usual = within_bounds(table, groups, chosen.data(), bounds.data());
    for (size_t place = 0; place < work.size(); place++)
        if (usual[place] > work[place] || (!chosen[place % ranks] && usual[place] != work[place]))
            throw ReplayError("work within bounds is longer than it was");
}

} // namespace

void replay_random_programs(unsigned count)
{
    std::mt19937 chance(20261121);
    for (unsigned i = 0; i < count; i++) {
        RandomProgram(chance).check();
        level_random_work(chance);
    }
    std::printf("replay: %u programs\n", count);
}

} // namespace perfscope
