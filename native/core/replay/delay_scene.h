// The segments of a run whose waits are explained: as they stand in the run, or window by window in copies of all that
// is known of their rows, which lie far apart where there are many ranks.
#pragma once

#include "replay/delay_cost.h"
#include "replay/tape.h"

#include <optional>

namespace perfscope {

// What is known of a run, or of a window of it.
struct DelayRun {
    const ReplayProgram *program;
    Costs costs;
    Pieces pieces;
    Waiting waiting;
    std::vector<Tags> tags;
};

// A window as a run of its own.
class DelayWindow {
public:
    DelayWindow(const DelayRun &whole, const Tape &tape)
        : whole_(whole), tape_(tape), player_(*whole.program, tape), waiting_(whole.waiting), tags_(whole.tags),
          of_pieces_(whole.tags.size()), units_(whole.tags.size())
    {
    }

    // Goes to a window, and replays it.
    void enter(size_t number);
    size_t first() const { return player_.window().first(); }

    DelayRun run() const;
    Arrivals arrivals() const;

private:
    void take_cuts();
    void take_needs(size_t number);
    void take_pieces();

    const DelayRun &whole_;
    const Tape &tape_;
    TapePlayer player_;
    Waiting waiting_;
    std::vector<Tags> tags_;
    std::vector<std::vector<int32_t>> of_pieces_, units_; // of each kind of tags
    std::vector<double> lengths_;
    std::vector<int64_t> cut_rows_, piece_starts_;
    std::vector<int32_t> need_starts_, needs_;
    std::vector<double> ns_, measured_;
    std::optional<ReplayProgram> program_;
};

} // namespace perfscope
