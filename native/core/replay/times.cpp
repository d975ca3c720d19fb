#include "replay/times.h"

#include "parallel.h"

#include <algorithm>
#include <memory>
#include <numeric>
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

// Calls work(player, window) for each window of a tape, once; players are used again.
template <class Work>
void for_hands(const ReplayProgram &program, const Tape &tape, unsigned threads, const Work &work)
{
    SharedHands<TapePlayer> players;
    parallel_for(tape.windows(), threads, [&](size_t window) {
        players.with([&] { return std::make_unique<TapePlayer>(program, tape); },
                     [&](TapePlayer &player) { work(player, window); });
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

// In the order that the program keeps; `take` gets the hands of a thread with each window once it has been replayed.
template <class Gaps, class Take>
std::vector<double> play(const ReplayProgram &program, const Tape &tape, const Gaps &gaps, const double *transfer,
                         unsigned threads, const Take &take)
{
    std::vector<double> lengths(program.segments());
    for_hands(program, tape, threads, [&](TapePlayer &player, size_t window) {
        player.enter(window, gaps, transfer);
        player.play(lengths.data() + player.window().first());
        take(player);
    });
    return lengths;
}

// Runs each rank until it needs somebody, and keeps the order of the rows that this gives.
std::vector<double> find_order(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals, unsigned threads)
{
    std::vector<double> lengths(program.segments());
    TapeWriter writer(program);
    parallel_for(writer.made().windows(), threads, [&](size_t number) {
        Window window(program);
        writer.made().enter(window, number);
        Sweep sweep(program, costs, arrivals);
        std::vector<int64_t> order;
        for (size_t segment = window.first(); segment < window.behind(); segment++) {
            lengths[segment] = sweep.segment(segment, &order);
            writer.write(window, segment, order);
            order.clear();
        }
    });
    program.keep(writer.done());
    return lengths;
}

// By a tape; where there is none yet, the order is found and kept, as far as its places have numbers.
std::vector<double> arrivals_by(const Tape *tape, const ReplayProgram &program, const Costs &costs, Arrivals &arrivals,
                                unsigned threads)
{
    if (tape && program.hub_count() == 0)
        return play(program, *tape, GapColumn{costs.gap}, costs.transfer, threads,
                    [&](const TapePlayer &player) { arrivals.note(player.window(), player.times()); });
    if (!tape && program.keeps_order() && Tape::can_hold(program))
        return find_order(program, costs, arrivals, threads);
    std::vector<double> lengths(program.segments());
    for_segments(program, segments_at_once(program), threads, [&](size_t first, size_t end) {
        Sweep sweep(program, costs, arrivals);
        for (size_t segment = first; segment < end; segment++)
            lengths[segment] = sweep.segment(segment);
    });
    return lengths;
}

} // namespace

std::vector<double> replay_arrivals(const ReplayProgram &program, const Costs &costs, Arrivals &arrivals,
                                    unsigned threads)
{
    return arrivals_by(program.tape().get(), program, costs, arrivals, threads);
}

std::vector<double> segment_lengths(const ReplayProgram &program, const Costs &costs, unsigned threads)
{
    if (program.has_only_cuts())
        return lengths_of_cuts(program, costs, threads);
    if (const std::shared_ptr<const Tape> tape = program.tape())
        return play(program, *tape, GapColumn{costs.gap}, costs.transfer, threads, [](const TapePlayer &) {});
    Arrivals arrivals(program);
    return replay_arrivals(program, costs, arrivals, threads);
}

std::vector<double> segment_lengths(const ReplayProgram &program, const PiecesOfWork &work, const PiecesOfWork &fixed,
                                    const double *transfer, unsigned threads)
{
    const std::shared_ptr<const Tape> tape = program.has_only_cuts() ? nullptr : program.tape();
    if (tape && GapsOfPieces::is_worth_it(work, fixed, program.rows(), program.ranks() * tape->windows()))
        return play(program, *tape, GapsOfPieces(work, fixed), transfer, threads, [](const TapePlayer &) {});
    std::vector<double> gaps = gaps_of(work, fixed, program.rows());
    if (tape || program.has_only_cuts())
        return segment_lengths(program, {gaps.data(), transfer}, threads);
    // Nobody needs the gaps any more, and the arrivals take their room: a tape that another thread has kept meanwhile
    // would be played from gaps that are written over.
    Arrivals arrivals(program, std::move(gaps));
    return arrivals_by(nullptr, program, {arrivals.data(), transfer}, arrivals, threads);
}

std::vector<double> lengths_without(const ReplayProgram &program, const Costs &costs, const int32_t *codes_of_rows,
                                    const std::vector<int32_t> &codes, unsigned threads)
{
    const size_t segments = program.segments();
    std::vector<double> lengths(codes.size() * segments);
    if (const std::shared_ptr<const Tape> tape = program.tape(); tape && !program.has_only_cuts()) {
        for_hands(program, *tape, threads, [&](TapePlayer &player, size_t number) {
            player.enter(number, GapColumn{costs.gap}, costs.transfer);
            std::vector<int32_t> own(player.window().rows());
            player.window().take(codes_of_rows, own.data());
            for (size_t place = 0; place < codes.size(); place++)
                player.play(lengths.data() + place * segments + player.window().first(), [&, code = codes[place]](size_t row, double ns) {
                    return own[row] == code ? 0.0 : ns;
                });
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
    segment_lengths(program, {nothing.data(), nothing.data()}, threads);
}

std::vector<double> last_arrivals(const ReplayProgram &program, const Costs &costs, const int32_t *units, size_t count,
                                  unsigned threads)
{
    Arrivals arrivals(program);
    const std::vector<double> lengths = replay_arrivals(program, costs, arrivals, threads);
    std::vector<double> last(count), starts(program.segments());
    std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
    const auto rows = static_cast<int64_t>(program.rows());
    for (int64_t row = 0; row < rows; row++)
        if (const int64_t segment = program.segment_of(row); segment >= 0) {
            double &own = last[static_cast<size_t>(units[row])];
            own = std::max(own, starts[static_cast<size_t>(segment)] + arrivals[row]);
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
