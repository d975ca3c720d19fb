// The work of a program, which is told in pieces: chosen, changed and added up, before rows and between cuts.
#pragma once

#include "replay/row_cells.h"
#include "replay/window.h"
#include "reducers/small_codes.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Pieces of work, each before a row.
struct PiecesOfWork {
    const int32_t *row;
    const double *ns;
    size_t size;
};

// Whether a number is a place below a bound: looked at where it is used, as a walk of its own over a long column costs
// as much as what is asked. Throws ReplayError if not.
inline size_t place_below(int32_t number, size_t bound)
{
    const auto place = static_cast<size_t>(static_cast<uint32_t>(number)); // one below 0 is a large one
    if (place >= bound)
        throw ReplayError("the work does not fit the rows");
    return place;
}

// The ranks of rows.
struct RowPlaces {
    SmallCodes rank;
    size_t rows, ranks;

    size_t rank_of(int32_t row) const { return place_below(rank[place_below(row, rows)], ranks); }
};

// The work before the rows of windows, of pieces in the order of their rows.
class GapsOfPieces {
public:
    GapsOfPieces(const PiecesOfWork &work, const PiecesOfWork &fixed) : work_(work), fixed_(fixed) {}

    // Whether both are in order, and looking them up so often, once for each window and rank, takes less than adding up
    // what stands before all of so many rows.
    static bool is_worth_it(const PiecesOfWork &work, const PiecesOfWork &fixed, size_t rows, size_t looks);

    void operator()(const Window &window, double *to) const
    {
        std::fill_n(to, window.rows(), 0.0);
        window.for_ranks([&](size_t place, int64_t row, size_t count) {
            add(work_, row, count, to + place);
            add(fixed_, row, count, to + place);
        });
    }

private:
    static void add(const PiecesOfWork &work, int64_t row, size_t count, double *to)
    {
        const auto first = static_cast<int32_t>(row), behind = static_cast<int32_t>(row + static_cast<int64_t>(count));
        const int32_t *const end = work.row + work.size;
        for (const int32_t *piece = std::lower_bound(work.row, end, first); piece != end && *piece < behind; ++piece)
            to[*piece - first] += work.ns[piece - work.row];
    }

    const PiecesOfWork work_, fixed_;
};

// What pieces must be of to be chosen.
constexpr int64_t ANY_PHASE = -2;
struct Choice {
    const uint8_t *ranks;    // by rank, whether it is chosen
    const uint8_t *accounts; // by account, whether it is chosen
    const uint8_t *account;  // of each piece
    SmallCodes phases;       // of the first pieces; those behind `known_phases` are of none
    size_t known_phases;
    int64_t phase; // or ANY_PHASE
};

std::vector<uint8_t> chosen_pieces(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice);

// All pieces, the chosen ones times a factor.
std::vector<double> scaled(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice, double factor);

// The work before each row, and what comes before some of them beside it.
std::vector<double> gaps_of(const PiecesOfWork &work, const PiecesOfWork &fixed, size_t rows);

// Chosen work by cell.
std::vector<double> work_by_cell(const PiecesOfWork &work, const uint8_t *chosen, CellFinder cells);

// All work by rank.
std::vector<double> work_by_rank(const PiecesOfWork &work, const RowPlaces &places);

// Chosen pieces scaled so that those of each cell, which are `totals` together, become `targets`; the others as they are.
std::vector<double> rescaled(const PiecesOfWork &work, const uint8_t *chosen, CellFinder cells, const double *totals,
                             const double *targets);

// How long rows take with the work before them, and their transfer alone, by unit of time and rank: those two numbers
// of cell unit * ranks + rank.
std::vector<double> sums_by_unit(const double *gap, const double *transfer, const int32_t *unit, const RowPlaces &places,
                                 size_t units);

// Some rows of so many, each once, and what is told of each.
struct SomeRows {
    const int64_t *row;
    size_t size, all;
};

// The work before some rows.
std::vector<double> work_before(const PiecesOfWork &work, const SomeRows &rows);

// All pieces, those before some rows times what `factor` has for the row.
std::vector<double> times_before(const PiecesOfWork &work, const SomeRows &rows, const double *factor);

// What stands at some rows by the key of each, below `count`; a key below 0 counts for none. Where there are keys of
// keys, `of_key`, these are meant.
std::vector<double> sums_by_key(const double *values, const int64_t *rows, size_t size, const SmallCodes &keys,
                                const int64_t *of_key, size_t count);

// The work before some rows by phase, of which there are so many; what is of none stands behind them.
std::vector<double> work_by_phase(const PiecesOfWork &work, const SmallCodes &phases, const int64_t *rows,
                                  size_t row_count, size_t all_rows, size_t phase_count);

} // namespace perfscope
