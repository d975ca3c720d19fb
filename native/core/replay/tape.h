// The rows of a program in an order in which each follows what it depends on, with what that is: whatever rows take,
// the order is the same. It is cut into windows, in whose numbers rows are told.
#pragma once

#include "replay/window.h"

#include <limits>

namespace perfscope {

// A row is a word with its place in the window, and marks: the row before it may belong to another segment, or need
// somebody; the number of places that it waits for follows, and these. A hub that rows need has a place behind those
// of all rows, and a word like theirs, with what its latest arrival is taken of, before the first who needs it.
class Tape {
public:
    static constexpr uint32_t IS_FIRST = 1u << 31, HAS_NEEDS = 1u << 30, IS_HUB = 1u << 29, PLACE = IS_HUB - 1;

    struct Words {
        const uint32_t *first, *behind;

        // Calls each(word of a row or a hub, the places that it waits for, their number).
        template <class Each> void for_each(const Each &each) const
        {
            for (const uint32_t *word = first; word != behind;) {
                const uint32_t one = *word++;
                const uint32_t count = one & HAS_NEEDS ? *word++ : 0;
                each(one, word, count);
                word += count;
            }
        }
    };

    // Whether places, and the words of a window, have numbers.
    static bool can_hold(const ReplayProgram &program)
    {
        return program.rows() + program.hub_count() + program.needs().values.size + program.hubs().values.size <= PLACE;
    }

    explicit Tape(const ReplayProgram &program);

    size_t windows() const { return window_starts_.size() - 1; }
    size_t window_of(size_t segment) const { return segment / segments_at_once_; }
    void enter(Window &window, size_t number) const
    {
        window.enter(number * segments_at_once_, std::min(segment_starts_.size(), (number + 1) * segments_at_once_));
    }
    // Those of all segments of a window, one after the other.
    Words words_of_window(size_t number) const
    {
        return {words_.data() + window_starts_[number], words_.data() + window_starts_[number + 1]};
    }
    Words words(size_t segment) const
    {
        const size_t number = window_of(segment);
        const Words all = words_of_window(number);
        const size_t next = segment + 1;
        const bool is_last = next == segment_starts_.size() || window_of(next) != number;
        return {all.first + segment_starts_[segment], is_last ? all.behind : all.first + segment_starts_[next]};
    }
    // Calls each(segment, its words) for the segments of a window.
    template <class Each> void for_segments(size_t number, const Each &each) const
    {
        const Words all = words_of_window(number);
        const size_t first = number * segments_at_once_, last = std::min(segment_starts_.size(), first + segments_at_once_) - 1;
        for (size_t segment = first; segment < last; segment++)
            each(segment, Words{all.first + segment_starts_[segment], all.first + segment_starts_[segment + 1]});
        each(last, Words{all.first + segment_starts_[last], all.behind});
    }
    // Of the rows and hubs of a window.
    size_t places(size_t number) const { return window_places_[number]; }
    // Whether a row needs something that lies in front of the cut before it, which counts for nothing here.
    bool reaches_over_cuts() const { return reaches_over_cuts_; }

private:
    friend class TapeWriter;

    size_t segments_at_once_;
    std::vector<uint32_t> words_;
    std::vector<size_t> window_starts_;
    std::vector<uint32_t> segment_starts_; // of each segment in the words of its window
    std::vector<size_t> window_places_;
    bool reaches_over_cuts_ = false;
};

// Makes a tape, window by window; several threads may write windows of their own.
class TapeWriter {
public:
    explicit TapeWriter(const ReplayProgram &program)
        : program_(program), tape_(program), words_(tape_.windows()), places_(tape_.windows()), reaches_over_cuts_(tape_.windows()),
          hubs_(program.hub_count())
    {
    }

    const Tape &made() const { return tape_; } // its windows, yet without words

    // Writes the next segment of a window: its rows in order, each behind what it depends on.
    void write(const Window &window, size_t segment, const std::vector<int64_t> &order);
    std::shared_ptr<const Tape> done();

private:
    bool is_here(int64_t need, size_t segment) const;
    uint32_t hub_place(const Window &window, size_t segment, int64_t hub);
    void write_hub(const Window &window, size_t segment, int64_t hub);
    uint32_t row_place(const Window &window, int64_t row) const
    {
        return static_cast<uint32_t>(window.place(program_.rank_of(row), row));
    }

    const ReplayProgram &program_;
    Tape tape_;
    std::vector<std::vector<uint32_t>> words_; // of each window
    std::vector<uint32_t> places_;             // of each window: hubs that have one
    std::vector<uint8_t> reaches_over_cuts_;   // of each window: whether a row of it does
    std::vector<uint32_t> hubs_;               // place of each hub, 0 none yet: it belongs to one window alone
};

// One thread's hands: replays the windows of a tape. They are as large as the largest window that they have met: of a
// run that has one large segment, one thread's.
class TapePlayer {
public:
    TapePlayer(const ReplayProgram &program, const Tape &tape) : program_(program), tape_(tape), window_(program) {}

    const Window &window() const { return window_; }
    const double *gap() const { return gap_.data(); }
    const double *transfer() const { return transfer_.data(); }
    const double *times() const { return time_.data(); }

    // Goes to a window, with nanoseconds before each row of the program, which `gaps(window, to)` writes, and in it.
    template <class Gaps> void enter(size_t number, const Gaps &gaps, const double *transfer)
    {
        number_ = number;
        tape_.enter(window_, number);
        if (const size_t places = tape_.places(number); places > time_.size())
            for (std::vector<double> *const one : {&gap_, &transfer_, &time_})
                *one = std::vector<double>(places);
        gaps(window_, gap_.data());
        window_.take(transfer, transfer_.data());
    }

    // Writes the length of each of its segments, with the transfer that `transfer(place, as it is)` tells.
    template <class Transfer> void play(double *lengths, const Transfer &transfer)
    {
        tape_.for_segments(number_, [&](size_t segment, const Tape::Words &words) {
            run<false>(words, transfer);
            *lengths++ = last_at(segment + 1, [&](size_t place) { return time_[place]; });
        });
    }
    void play(double *lengths)
    {
        play(lengths, [](size_t, double ns) { return ns; });
    }

    // Answers some questions beside each other, which share the rows and whom they wait for: writes the lengths for the
    // first, those for the next one `apart` behind them, and so on, `asked` in all. `transfers(place, as it is, to)`
    // tells the transfer of each.
    template <size_t LANES, class Transfers>
    void play_beside(double *lengths, size_t apart, size_t asked, const Transfers &transfers)
    {
        if (const size_t room = LANES * tape_.places(number_); room > beside_.size())
            beside_ = std::vector<double>(room);
        tape_.for_segments(number_, [&](size_t segment, const Tape::Words &words) {
            run_beside<LANES>(words, transfers);
            for (size_t lane = 0; lane < asked; lane++)
                lengths[lane * apart] = last_at(segment + 1, [&](size_t place) { return beside_[place * LANES + lane]; });
            lengths++;
        });
    }

    // Goes on with what ranks had come to at the end of the window before, and calls each(cut, when the last rank comes
    // to it) for those that are kept: at the others nobody waits.
    template <class Each> void play_joined(const uint8_t *is_kept, const Each &each)
    {
        for (size_t rank = 0; rank < carried_.size(); rank++)
            time_[window_.place(rank, program_.cut_row(window_.first(), rank))] = carried_[rank];
        tape_.for_segments(number_, [&](size_t segment, const Tape::Words &words) {
            const auto as_it_is = [](size_t, double ns) { return ns; };
            if (is_kept[segment])
                run<false>(words, as_it_is);
            else
                run<true>(words, as_it_is);
            if (is_kept[segment + 1])
                each(segment + 1, last_at(segment + 1, [&](size_t place) { return time_[place]; }));
        });
        carried_.resize(program_.ranks());
        for (size_t rank = 0; rank < carried_.size(); rank++)
            carried_[rank] = time_[window_.place(rank, program_.cut_row(window_.behind(), rank))];
    }

private:
    // What is the last of all ranks at a cut.
    template <class At> double last_at(size_t cut, const At &at) const
    {
        double last = -std::numeric_limits<double>::infinity();
        for (size_t rank = 0; rank < program_.ranks(); rank++)
            last = std::max(last, at(window_.place(rank, program_.cut_row(cut, rank))));
        return last;
    }

    template <size_t LANES, class Transfers> void run_beside(const Tape::Words &words, const Transfers &transfers)
    {
        double *const time = beside_.data();
        words.for_each([&](uint32_t one, const uint32_t *needs, uint32_t count) {
            const size_t place = one & Tape::PLACE;
            double latest[LANES], moved[LANES];
            if (one & (Tape::IS_HUB | Tape::IS_FIRST))
                std::fill_n(latest, LANES, one & Tape::IS_HUB ? -std::numeric_limits<double>::infinity() : 0.0);
            else
                std::copy_n(time + (place - 1) * LANES, LANES, latest);
            for (const uint32_t *need = needs; need != needs + count; ++need) {
                const double *const other = time + *need * LANES;
                for (size_t lane = 0; lane < LANES; lane++)
                    latest[lane] = std::max(latest[lane], other[lane]);
            }
            if (!(one & Tape::IS_HUB)) {
                transfers(place - 1, transfer_[place - 1], moved);
                for (size_t lane = 0; lane < LANES; lane++)
                    latest[lane] = latest[lane] + moved[lane] + gap_[place];
            }
            std::copy_n(latest, LANES, time + place * LANES);
        });
    }

    template <bool GOES_ON, class Transfer> void run(const Tape::Words &words, const Transfer &transfer)
    {
        double *const time = time_.data();
        size_t last_place = SIZE_MAX - 1; // of the row before: mostly the same rank's, whose time need not be loaded
        double last = 0.0;
        words.for_each([&](uint32_t one, const uint32_t *needs, uint32_t count) {
            const size_t place = one & Tape::PLACE;
            const bool is_hub = one & Tape::IS_HUB;
            double latest = -std::numeric_limits<double>::infinity();
            if (!is_hub)
                latest = !GOES_ON && one & Tape::IS_FIRST ? 0.0 : place == last_place + 1 ? last : time[place - 1];
            for (const uint32_t *need = needs; need != needs + count; ++need)
                latest = std::max(latest, time[*need]);
            if (!is_hub) {
                latest += transfer(place - 1, transfer_[place - 1]);
                latest += gap_[place];
            }
            time[place] = latest;
            last_place = place;
            last = latest;
        });
    }

    const ReplayProgram &program_;
    const Tape &tape_;
    size_t number_ = 0;
    Window window_;
    std::vector<double> gap_, transfer_, time_;
    std::vector<double> beside_;  // of each place, lane by lane
    std::vector<double> carried_; // of each rank, what it had come to
};

// About this many segments are a thread's next piece of work.
size_t segments_at_once(const ReplayProgram &program);

} // namespace perfscope
