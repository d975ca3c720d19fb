#include "replay/times.h"

#include "parallel.h"

#include <algorithm>

namespace perfscope {

namespace {

constexpr size_t SEGMENTS_AT_ONCE = 256; // a thread takes so many: most are very short

struct Latest {
    double time;
    int64_t row;

    void meet(double other_time, int64_t other_row)
    {
        if (other_time > time) {
            time = other_time;
            row = other_row;
        }
    }
};

// Replays segments into shared columns; times are relative to the last arrival at the segment's first cut.
class Sweep {
public:
    Sweep(const ReplayProgram &program, const Costs &costs)
        : program_(program), costs_(costs), arrival_(program.rows()), hub_(program.hub_count())
    {
    }

    double segment(size_t segment)
    {
        const auto &order = program_.order();
        for (int64_t place = program_.order_begin(segment); place < program_.order_end(segment); place++) {
            const int64_t what = order[place];
            if (what < 0)
                hub_[~what] = complete(~what);
            else
                arrival_[what] = exit_before(what) + costs_.gap[what];
        }
        double last = arrival_[program_.cut_row(segment + 1, 0)];
        for (size_t rank = 1; rank < program_.ranks(); rank++)
            last = std::max(last, arrival_[program_.cut_row(segment + 1, rank)]);
        return last;
    }

    double arrival(int64_t row) const { return arrival_[row]; }

    // The latest arrival that a row inside its segment needs, its own included.
    Latest need(int64_t row) const
    {
        Latest latest{arrival_[row], row};
        const auto &needs = program_.needs();
        for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need)
            if (*need < 0)
                latest.meet(hub_[~*need].time, hub_[~*need].row);
            else
                latest.meet(arrival_[*need], *need);
        return latest;
    }

private:
    double exit_before(int64_t row) const
    {
        const int64_t before = row - 1;
        if (program_.segment_of(before) != program_.segment_of(row))
            return costs_.transfer[before];
        return need(before).time + costs_.transfer[before];
    }

    Latest complete(int64_t hub) const
    {
        const auto &hubs = program_.hubs();
        const int64_t parent = program_.hub_parent(hub);
        auto row = hubs.begin_of(hub);
        Latest latest = parent >= 0 ? hub_[parent] : Latest{arrival_[*row], *row};
        for (; row != hubs.end_of(hub); ++row)
            latest.meet(arrival_[*row], *row);
        return latest;
    }

    const ReplayProgram &program_;
    const Costs &costs_;
    std::vector<double> arrival_;
    std::vector<Latest> hub_;
};

std::vector<double> sweep_all(const ReplayProgram &program, Sweep &sweep, unsigned threads)
{
    std::vector<double> lengths(program.segments());
    const size_t batches = (lengths.size() + SEGMENTS_AT_ONCE - 1) / SEGMENTS_AT_ONCE;
    parallel_for(batches, threads, [&](size_t batch) {
        const size_t end = std::min(lengths.size(), (batch + 1) * SEGMENTS_AT_ONCE);
        for (size_t segment = batch * SEGMENTS_AT_ONCE; segment < end; segment++)
            lengths[segment] = sweep.segment(segment);
    });
    return lengths;
}

} // namespace

std::vector<double> segment_lengths(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    Sweep sweep(program, costs);
    return sweep_all(program, sweep, threads);
}

Times replay_times(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    Sweep sweep(program, costs);
    const std::vector<double> lengths = sweep_all(program, sweep, threads);
    Times times{std::vector<double>(program.rows()), std::vector<double>(program.rows()),
                std::vector<int64_t>(program.rows(), -1)};
    double start = 0.0;
    for (size_t segment = 0; segment < program.segments(); segment++) {
        const double end = start + lengths[segment];
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t closing = program.cut_row(segment + 1, rank);
            for (int64_t row = program.cut_row(segment, rank) + 1; row < closing; row++) {
                const Latest latest = sweep.need(row);
                times.arrival[row] = start + sweep.arrival(row);
                times.need[row] = start + latest.time;
                times.cause[row] = latest.row == row ? -1 : latest.row;
            }
            times.arrival[closing] = start + sweep.arrival(closing);
            times.need[closing] = end;
        }
        Latest last{times.arrival[program.cut_row(segment + 1, 0)], program.cut_row(segment + 1, 0)};
        for (size_t rank = 1; rank < program.ranks(); rank++)
            last.meet(times.arrival[program.cut_row(segment + 1, rank)], program.cut_row(segment + 1, rank));
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t closing = program.cut_row(segment + 1, rank);
            if (times.arrival[closing] < last.time)
                times.cause[closing] = last.row;
        }
        start = end;
    }
    return times;
}

} // namespace perfscope
