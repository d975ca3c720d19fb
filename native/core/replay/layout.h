// The calls that are replayed, and for whom each waits: what the rows of a program are laid out from.
#pragma once

#include "reducers/small_codes.h"
#include "replay/program.h"

namespace perfscope {

// Calls of all ranks, rank after rank.
struct CallsOfRanks {
    const int64_t *enter, *exit;
    SmallCodes rank; // below `ranks`, ascending
    const uint16_t *op;
    size_t count, ranks;
};

// Some of them, in their order.
struct ChosenCalls {
    std::vector<int32_t> call;
    std::vector<int64_t> enter, exit;
    std::vector<int32_t> rank;
    std::vector<uint16_t> op;
    std::vector<int64_t> starts; // of each rank, and behind the last one
    std::vector<int32_t> place;  // of each call among the chosen ones, -1 none; one more at the end, -1
};

// Times are clipped to [start, end]. There are fewer calls than numbers of 32 bits.
ChosenCalls choose_calls(const CallsOfRanks &calls, const uint8_t *is_chosen, int64_t start, int64_t end);

// The segment of each row: a cut that closes one belongs to it, and so does what begins the first one. `cuts` has the rows
// of each cut, which ascend on each rank, from the starts of the ranks to their ends.
std::vector<int32_t> row_segments(NumbersOf<int64_t> cuts, size_t ranks, size_t rows);

// Who waits for whom in a meeting; numbers as in replay/meetings.py.
enum class MeetingKind : int64_t { ALL, FROM_ROOT, TO_ROOT, SCAN };

// Meeting i has the rows starts[i] up to starts[i + 1]. A root that is not known is -1: nobody waits
// for it. So is an end: who would complete there waits for nobody.
struct MeetingRows {
    NumbersOf<int64_t> starts, rows, kind, root; // kind and root by meeting
    const uint8_t *silent;                       // by row: nobody waits for it
    const int64_t *ends;                         // by row: the one in which it completes
};

// Rows with what they need, an arrival or that of all members of a hub (~hub), as a program has them.
struct NeedsOfMeetings {
    std::vector<int64_t> hub_starts{0}, hub_rows, hub_parent, row, on;
};

NeedsOfMeetings needs_of_meetings(const MeetingRows &meetings);

// Before what time no row can complete that is arrived at then. The pairs are rows and what they need; numbers fit.
std::vector<int64_t> needed_before(NumbersOf<int64_t> arrival, const Lists &hubs, const int64_t *hub_parent,
                                   NumbersOf<int64_t> row, const int64_t *on);

// What each row needs, row after row: row r has needs[starts[r]] up to starts[r + 1], in the order of the pairs.
struct NeedsOfRows {
    std::vector<int32_t> starts, needs;
};

// The pairs are calls and what they need, a call or ~hub; call c is row row_of[c], below `rows`. There are fewer pairs
// than numbers of 32 bits.
NeedsOfRows needs_of_rows(NumbersOf<int64_t> call, const int64_t *on, const int32_t *row_of, size_t rows);

} // namespace perfscope
