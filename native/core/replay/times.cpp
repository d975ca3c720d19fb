#include "replay/times.h"

#include "parallel.h"

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

namespace perfscope {

static constexpr size_t LANES = 4; // so many questions share the rows that are looked at

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

// Answers questions that differ in the transfer alone, LANES beside each other: `ask(window, first question)` gives what
// tells the transfer of these and the next ones, as TapePlayer::play_beside asks for it.
template <class Gaps, class Ask>
static std::vector<double> play_questions(const ReplayProgram &program, const Tape &tape, const Gaps &gaps,
                                          const double *transfer, size_t questions, unsigned threads, const Ask &ask)
{
    const size_t segments = program.segments();
    std::vector<double> lengths(questions * segments);
    for_hands(program, tape, threads, [&](TapePlayer &player, size_t number) {
        player.enter(number, gaps, transfer);
        double *const own = lengths.data() + player.window().first();
        for (size_t first = 0; first < questions; first += LANES)
            player.play_beside<LANES>(own + first * segments, segments, std::min(LANES, questions - first),
                                      ask(player.window(), first));
    });
    return lengths;
}

std::vector<double> lengths_without(const ReplayProgram &program, const Costs &costs, const int32_t *codes_of_rows,
                                    const std::vector<int32_t> &codes, unsigned threads)
{
    if (const std::shared_ptr<const Tape> tape = program.tape(); tape && !program.has_only_cuts())
        return play_questions(program, *tape, GapColumn{costs.gap}, costs.transfer, codes.size(), threads,
                              [&](const Window &window, size_t first) {
                                  std::vector<int32_t> own(window.rows());
                                  window.take(codes_of_rows, own.data());
                                  std::array<int32_t, LANES> asked;
                                  for (size_t lane = 0; lane < LANES; lane++)
                                      asked[lane] = codes[std::min(first + lane, codes.size() - 1)];
                                  return [own = std::move(own), asked](size_t place, double ns, double *to) {
                                      for (size_t lane = 0; lane < LANES; lane++)
                                          to[lane] = own[place] == asked[lane] ? 0.0 : ns;
                                  };
                              });
    std::vector<double> lengths, transfer(program.rows());
    for (const int32_t code : codes) {
        for (size_t row = 0; row < program.rows(); row++)
            transfer[row] = codes_of_rows[row] == code ? 0.0 : costs.transfer[row];
        const std::vector<double> own = segment_lengths(program, {costs.gap, transfer.data()}, threads);
        lengths.insert(lengths.end(), own.begin(), own.end());
    }
    return lengths;
}

std::vector<double> lengths_of_networks(const ReplayProgram &program, const Costs &costs,
                                        const std::vector<double> &divisors, unsigned threads)
{
    if (const std::shared_ptr<const Tape> tape = program.tape(); tape && !program.has_only_cuts())
        return play_questions(program, *tape, GapColumn{costs.gap}, costs.transfer, divisors.size(), threads,
                              [&](const Window &, size_t first) {
                                  std::array<double, LANES> asked;
                                  for (size_t lane = 0; lane < LANES; lane++)
                                      asked[lane] = divisors[std::min(first + lane, divisors.size() - 1)];
                                  return [asked](size_t, double ns, double *to) {
                                      for (size_t lane = 0; lane < LANES; lane++)
                                          to[lane] = ns / asked[lane];
                                  };
                              });
    std::vector<double> lengths, transfer(program.rows());
    for (const double divisor : divisors) {
        for (size_t row = 0; row < program.rows(); row++)
            transfer[row] = costs.transfer[row] / divisor;
        const std::vector<double> own = segment_lengths(program, {costs.gap, transfer.data()}, threads);
        lengths.insert(lengths.end(), own.begin(), own.end());
    }
    return lengths;
}

// Each rank goes from cut to cut, and waits at those that are kept.
static std::vector<double> joined_cuts(const ReplayProgram &program, const Costs &costs, const uint8_t *is_kept)
{
    std::vector<double> lengths;
    for (size_t rank = 0; rank < program.ranks(); rank++) {
        const double *const transfer = costs.transfer + program.first_row(rank);
        const double *const gap = costs.gap + program.first_row(rank) + 1;
        size_t number = 0;
        double own = 0.0;
        for (size_t segment = 0; segment < program.segments(); segment++) {
            own += transfer[segment];
            own += gap[segment];
            if (!is_kept[segment + 1])
                continue;
            if (rank == 0)
                lengths.push_back(own);
            else
                lengths[number] = std::max(lengths[number], own);
            number++;
            own = 0.0;
        }
    }
    return lengths;
}

// Windows that begin inside of a segment go on where the one before them has ended: one thread takes them all.
template <class Gaps>
static std::vector<double> play_joined(const ReplayProgram &program, const Tape &tape, const Gaps &gaps,
                                       const double *transfer, const uint8_t *is_kept, unsigned threads)
{
    std::vector<size_t> number(program.segments() + 1), firsts; // of what ends with each cut; windows that begin anew
    for (size_t cut = 1; cut < program.segments(); cut++)
        number[cut + 1] = number[cut] + (is_kept[cut] != 0);
    Window window(program);
    for (size_t one = 0; one < tape.windows(); one++) {
        tape.enter(window, one);
        if (is_kept[window.first()])
            firsts.push_back(one);
    }
    firsts.push_back(tape.windows());
    std::vector<double> lengths(number.back() + 1);
    SharedHands<TapePlayer> players;
    parallel_for(firsts.size() - 1, threads, [&](size_t some) {
        players.with([&] { return std::make_unique<TapePlayer>(program, tape); }, [&](TapePlayer &player) {
            for (size_t one = firsts[some]; one < firsts[some + 1]; one++) {
                player.enter(one, gaps, transfer);
                player.play_joined(is_kept, [&](size_t cut, double last) { lengths[number[cut]] = last; });
            }
        });
    });
    return lengths;
}

std::optional<std::vector<double>> joined_lengths(const ReplayProgram &program, const PiecesOfWork &work,
                                                  const PiecesOfWork &fixed, const double *transfer,
                                                  const uint8_t *is_kept, unsigned threads)
{
    const std::shared_ptr<const Tape> tape = program.has_only_cuts() ? nullptr : program.tape();
    if (!program.has_only_cuts() && (!tape || tape->reaches_over_cuts()))
        return std::nullopt;
    if (tape && GapsOfPieces::is_worth_it(work, fixed, program.rows(), program.ranks() * tape->windows()))
        return play_joined(program, *tape, GapsOfPieces(work, fixed), transfer, is_kept, threads);
    const std::vector<double> gaps = gaps_of(work, fixed, program.rows());
    return tape ? play_joined(program, *tape, GapColumn{gaps.data()}, transfer, is_kept, threads)
                : joined_cuts(program, {gaps.data(), transfer}, is_kept);
}

void check_order(const ReplayProgram &program, unsigned threads)
{
    if (program.has_only_cuts())
        return;
    const std::vector<double> nothing(program.rows());
    segment_lengths(program, {nothing.data(), nothing.data()}, threads);
}

// The last arrival of a segment in a unit of time.
struct LastOfUnit {
    size_t segment;
    int32_t unit;
    double ns; // from the start of the segment
};

// Those of the segments of a window. Most segments lie in one unit.
static void note_last(const ReplayProgram &program, const TapePlayer &player, const int32_t *units,
                      std::vector<LastOfUnit> &found)
{
    const Window &window = player.window();
    for (size_t segment = window.first(); segment < window.behind(); segment++) {
        const size_t first = found.size();
        const auto note = [&](int32_t unit, double ns) {
            for (size_t place = first; place < found.size(); place++)
                if (found[place].unit == unit) {
                    found[place].ns = std::max(found[place].ns, ns);
                    return;
                }
            found.push_back({segment, unit, ns});
        };
        for (size_t rank = 0; rank < program.ranks(); rank++) {
            const int64_t opening = program.cut_row(segment, rank), closing = program.cut_row(segment + 1, rank);
            const double *time = player.times() + window.place(rank, opening);
            for (int64_t row = opening + 1; row <= closing;) {
                const int32_t unit = units[row];
                double ns = *++time;
                for (row++; row <= closing && units[row] == unit; row++)
                    ns = std::max(ns, *++time);
                note(unit, ns);
            }
        }
    }
}

std::vector<double> last_arrivals(const ReplayProgram &program, const Costs &costs, const int32_t *units, size_t count,
                                  unsigned threads)
{
    std::vector<double> last(count), starts(program.segments());
    const auto note = [&](size_t segment, int32_t unit, double ns) {
        double &own = last[static_cast<size_t>(unit)];
        own = std::max(own, starts[segment] + ns);
    };
    const auto start_all = [&](const std::vector<double> &lengths) {
        std::partial_sum(lengths.begin(), lengths.end() - 1, starts.begin() + 1);
    };
    if (const std::shared_ptr<const Tape> tape = program.tape()) {
        std::vector<std::vector<LastOfUnit>> of_windows(tape->windows());
        start_all(play(program, *tape, GapColumn{costs.gap}, costs.transfer, threads, [&](const TapePlayer &player) {
            note_last(program, player, units, of_windows[tape->window_of(player.window().first())]);
        }));
        for (const std::vector<LastOfUnit> &window : of_windows)
            for (const LastOfUnit &one : window)
                note(one.segment, one.unit, one.ns);
        return last;
    }
    Arrivals arrivals(program);
    start_all(replay_arrivals(program, costs, arrivals, threads));
    const auto rows = static_cast<int64_t>(program.rows());
    for (int64_t row = 0; row < rows; row++)
        if (const int64_t segment = program.segment_of(row); segment >= 0)
            note(static_cast<size_t>(segment), units[row], arrivals[row]);
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
