#include "replay/row_work.h"

#include <algorithm>

namespace perfscope {

std::vector<double> gaps_of(const PiecesOfWork &work, const PiecesOfWork &fixed, size_t rows)
{
    std::vector<double> gaps(rows);
    for (const PiecesOfWork *part : {&work, &fixed})
        for (size_t piece = 0; piece < part->size; piece++)
            gaps[place_below(part->row[piece], rows)] += part->ns[piece];
    return gaps;
}

bool GapsOfPieces::is_worth_it(const PiecesOfWork &work, const PiecesOfWork &fixed, size_t rows, size_t looks)
{
    constexpr size_t PIECES_OF_A_LOOK = 64;
    if (looks * PIECES_OF_A_LOOK >= work.size)
        return false;
    for (const PiecesOfWork *part : {&work, &fixed}) {
        if (!std::is_sorted(part->row, part->row + part->size))
            return false;
        if (part->size) {
            place_below(part->row[0], rows);
            place_below(part->row[part->size - 1], rows);
        }
    }
    return true;
}

// Calls set(piece, whether it is chosen) for each piece; of whole programs nothing is looked up that all have.
template <class Set>
static void for_pieces(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice, const Set &set)
{
    const bool is_any_rank = std::all_of(choice.ranks, choice.ranks + places.ranks, [](uint8_t one) { return one; });
    const auto walk = [&](const auto &is_of_rank) {
        for (size_t piece = 0; piece < work.size; piece++) {
            const bool is_of_phase = choice.phase == ANY_PHASE ||
                                     (piece < choice.known_phases && choice.phases[piece] == choice.phase);
            set(piece, is_of_phase & (choice.accounts[choice.account[piece]] != 0) & is_of_rank(piece));
        }
    };
    if (is_any_rank)
        walk([](size_t) { return true; });
    else
        walk([&](size_t piece) { return choice.ranks[places.rank_of(work.row[piece])] != 0; });
}

std::vector<uint8_t> chosen_pieces(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice)
{
    std::vector<uint8_t> chosen(work.size);
    for_pieces(work, places, choice, [&](size_t piece, bool is_chosen) { chosen[piece] = is_chosen; });
    return chosen;
}

std::vector<double> scaled(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice, double factor)
{
    std::vector<double> ns(work.ns, work.ns + work.size);
    for_pieces(work, places, choice, [&](size_t piece, bool is_chosen) {
        if (is_chosen)
            ns[piece] *= factor;
    });
    return ns;
}

std::vector<double> work_by_cell(const PiecesOfWork &work, const uint8_t *chosen, CellFinder cells)
{
    std::vector<double> sums(cells.cells());
    size_t last = 0; // pieces of a cell mostly follow each other
    double sum = 0.0;
    for (size_t piece = 0; piece < work.size; piece++) {
        if (!chosen[piece])
            continue;
        if (const size_t cell = cells(work.row[piece]); cell != last) {
            sums[last] = sum;
            last = cell;
            sum = sums[cell];
        }
        sum += work.ns[piece];
    }
    if (!sums.empty())
        sums[last] = sum;
    return sums;
}

std::vector<double> work_by_rank(const PiecesOfWork &work, const RowPlaces &places)
{
    std::vector<double> sums(places.ranks);
    for (size_t piece = 0; piece < work.size;) {
        const size_t rank = places.rank_of(work.row[piece]);
        double sum = sums[rank]; // most of a rank's pieces follow each other
        for (; piece < work.size && places.rank_of(work.row[piece]) == rank; piece++)
            sum += work.ns[piece];
        sums[rank] = sum;
    }
    return sums;
}

std::vector<double> rescaled(const PiecesOfWork &work, const uint8_t *chosen, CellFinder cells, const double *totals,
                             const double *targets)
{
    std::vector<double> ns(work.ns, work.ns + work.size);
    size_t last = cells.cells();
    double factor = 1.0;
    for (size_t piece = 0; piece < work.size; piece++) {
        if (!chosen[piece])
            continue;
        if (const size_t cell = cells(work.row[piece]); cell != last) {
            last = cell;
            factor = totals[cell] > 0 ? targets[cell] / totals[cell] : 1.0;
        }
        ns[piece] *= factor;
    }
    return ns;
}

std::vector<double> sums_by_unit(const double *gap, const double *transfer, const int32_t *unit, const RowPlaces &places,
                                 size_t units)
{
    std::vector<double> sums(2 * units * places.ranks);
    for (size_t row = 0; row < places.rows;) {
        const int32_t rank = places.rank[row], own = unit[row];
        double *const cell = &sums[2 * (place_below(own, units) * places.ranks + place_below(rank, places.ranks))];
        double whole = cell[0], moved = cell[1]; // most rows of a rank and unit follow each other
        for (; row < places.rows && unit[row] == own && places.rank[row] == rank; row++) {
            whole += gap[row] + transfer[row];
            moved += transfer[row];
        }
        cell[0] = whole;
        cell[1] = moved;
    }
    return sums;
}

// Calls each(piece, place among the rows) for the pieces before some rows.
template <class Each> static void for_pieces_before(const PiecesOfWork &work, const SomeRows &rows, const Each &each)
{
    std::vector<int32_t> place_of(rows.all, -1);
    for (size_t place = 0; place < rows.size; place++)
        place_of[static_cast<size_t>(rows.row[place])] = static_cast<int32_t>(place);
    for (size_t piece = 0; piece < work.size; piece++)
        if (const int32_t place = place_of[place_below(work.row[piece], rows.all)]; place >= 0)
            each(piece, static_cast<size_t>(place));
}

std::vector<double> work_before(const PiecesOfWork &work, const SomeRows &rows)
{
    std::vector<double> found(rows.size);
    for_pieces_before(work, rows, [&](size_t piece, size_t place) { found[place] += work.ns[piece]; });
    return found;
}

std::vector<double> times_before(const PiecesOfWork &work, const SomeRows &rows, const double *factor)
{
    std::vector<double> ns(work.ns, work.ns + work.size);
    for_pieces_before(work, rows, [&](size_t piece, size_t place) { ns[piece] *= factor[place]; });
    return ns;
}

std::vector<double> sums_by_key(const double *values, const int64_t *rows, size_t size, const SmallCodes &keys,
                                const int64_t *of_key, size_t count)
{
    std::vector<double> sums(count);
    for (size_t place = 0; place < size; place++) {
        const int32_t key = keys[rows[place]];
        if (key >= 0)
            sums[static_cast<size_t>(of_key ? of_key[key] : key)] += values[place];
    }
    return sums;
}

std::vector<double> work_by_phase(const PiecesOfWork &work, const SmallCodes &phases, const int64_t *rows,
                                  size_t row_count, size_t all_rows, size_t phase_count)
{
    std::vector<uint8_t> is_meant(all_rows);
    for (size_t place = 0; place < row_count; place++)
        is_meant[static_cast<size_t>(rows[place])] = 1;
    std::vector<double> sums(phase_count + 1);
    for (size_t piece = 0; piece < work.size; piece++)
        if (is_meant[static_cast<size_t>(work.row[piece])])
            sums[phases[piece] < 0 ? phase_count : static_cast<size_t>(phases[piece])] += work.ns[piece];
    return sums;
}

} // namespace perfscope
