#include "replay/times.h"

#include "parallel.h"

#include <algorithm>
#include <utility>

namespace perfscope {

namespace {

// Calls work(first, end) for stretches of segments, each once.
template <class Work>
void for_segments(const ReplayProgram &program, size_t at_once, unsigned threads, Work &&work)
{
    const size_t segments = program.segments();
    parallel_for((segments + at_once - 1) / at_once, threads, [&](size_t batch) {
        work(batch * at_once, std::min(segments, (batch + 1) * at_once));
    });
}

// Nothing but cuts: what lies between two of them is on each rank one transfer and one gap. Ranks are taken one by
// one, so that their rows are read in the order in which they lie.
std::vector<double> lengths_of_cuts(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    std::vector<double> lengths(program.segments());
    for_segments(program, std::max<size_t>(256, segments_at_once(program)), threads, [&](size_t first, size_t end) {
        double *const length = lengths.data();
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const double *transfer = costs.transfer + program.first_row(rank);
            const double *gap = costs.gap + program.first_row(rank) + 1;
            if (rank == 0)
                for (size_t segment = first; segment < end; segment++)
                    length[segment] = transfer[segment] + gap[segment];
            else
                for (size_t segment = first; segment < end; segment++) {
                    const double own = transfer[segment] + gap[segment];
                    length[segment] = own > length[segment] ? own : length[segment];
                }
        }
    });
    return lengths;
}

} // namespace

std::vector<double> replay_arrivals(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals,
                                    unsigned threads)
{
    std::vector<double> lengths(program.segments());
    const bool is_new = program.can_keep_order() && !program.order();
    ReplayProgram::Order found(is_new ? program.rows() - program.ranks() : 0);
    for_segments(program, segments_at_once(program), threads, [&](size_t first, size_t end) {
        Sweep sweep(program, costs, arrivals);
        std::vector<int64_t> order;
        uint32_t *place = is_new ? found.data() + program.place_in_order(first) : nullptr;
        for (size_t segment = first; segment < end; segment++) {
            lengths[segment] = sweep.segment(segment, is_new ? &order : nullptr);
            for (const int64_t row : order)
                *place++ = program.ordered(row);
            order.clear();
        }
    });
    if (is_new)
        program.keep_order(std::move(found));
    return lengths;
}

std::vector<double> segment_lengths(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    if (program.has_only_cuts())
        return lengths_of_cuts(program, costs, threads);
    Arrivals arrivals(program);
    return replay_arrivals(program, costs, arrivals, threads);
}

std::vector<double> segment_lengths(const ReplayProgram &program, std::vector<double> &&gaps, const double *transfer,
                                    unsigned threads)
{
    if (program.has_only_cuts())
        return lengths_of_cuts(program, {gaps.data(), transfer}, threads);
    Arrivals arrivals(program, std::move(gaps));
    return replay_arrivals(program, {arrivals.data(), transfer}, arrivals, threads);
}

std::vector<double> lengths_without(const ReplayProgram &program, const Costs &costs, const int32_t *codes_of_rows,
                                    const std::vector<int32_t> &codes, unsigned threads)
{
    const size_t segments = program.segments();
    std::vector<double> lengths(codes.size() * segments);
    if (program.order() && program.hub_count() == 0 && !program.has_only_cuts()) {
        Arrivals arrivals(program);
        for_segments(program, segments_at_once(program), threads, [&](size_t first, size_t end) {
            Sweep sweep(program, costs, arrivals);
            for (size_t place = 0; place < codes.size(); place++)
                for (size_t segment = first; segment < end; segment++)
                    lengths[place * segments + segment] = sweep.segment_without(segment, codes_of_rows, codes[place]);
        });
        return lengths;
    }
    std::vector<double> transfer(program.rows());
    for (size_t place = 0; place < codes.size(); place++) {
        for (size_t row = 0; row < program.rows(); row++)
            transfer[row] = codes_of_rows[row] == codes[place] ? 0.0 : costs.transfer[row];
        const std::vector<double> own = segment_lengths(program, {costs.gap, transfer.data()}, threads);
        std::copy(own.begin(), own.end(), lengths.begin() + static_cast<std::ptrdiff_t>(place * segments));
    }
    return lengths;
}

void check_order(const ReplayProgram &program, unsigned threads)
{
    if (program.has_only_cuts())
        return;
    const std::vector<double> nothing(program.rows());
    segment_lengths(program, std::vector<double>(program.rows()), nothing.data(), threads);
}

std::vector<double> last_arrivals(const ReplayProgram &program, const Costs &costs, const int32_t *units, size_t count,
                                  unsigned threads)
{
    Arrivals arrivals(program);
    const std::vector<double> lengths = replay_arrivals(program, costs, arrivals, threads);
    std::vector<double> last(count);
    double start = 0.0;
    for (size_t segment = 0; segment < program.segments(); segment++) {
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t closing = program.cut_row(segment + 1, rank);
            for (int64_t row = program.cut_row(segment, rank) + 1; row <= closing; row++) {
                double &own = last[static_cast<size_t>(units[row])];
                own = std::max(own, start + arrivals[row]);
            }
        }
        start += lengths[segment];
    }
    return last;
}

Times replay_times(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    Arrivals arrivals(program);
    const std::vector<double> lengths = replay_arrivals(program, costs, arrivals, threads);
    Times times{std::vector<double>(program.rows()), std::vector<double>(program.rows()),
                std::vector<int64_t>(program.rows(), -1)};
    double start = 0.0;
    for (size_t segment = 0; segment < program.segments(); segment++) {
        const double end = start + lengths[segment];
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t closing = program.cut_row(segment + 1, rank);
            for (int64_t row = program.cut_row(segment, rank) + 1; row < closing; row++) {
                const Latest latest = arrivals.need(row);
                times.arrival[row] = start + arrivals[row];
                times.need[row] = start + latest.time;
                times.cause[row] = latest.row == row ? -1 : latest.row;
            }
            times.arrival[closing] = start + arrivals[closing];
            times.need[closing] = end;
        }
        const Latest last = arrivals.last_at_end(segment);
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t closing = program.cut_row(segment + 1, rank);
            if (arrivals[closing] < last.time)
                times.cause[closing] = last.row;
        }
        start = end;
    }
    return times;
}

} // namespace perfscope
