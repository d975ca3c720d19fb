#include "replay/row_work.h"

namespace perfscope {

std::vector<double> gaps_of(const PiecesOfWork &work, const PiecesOfWork &fixed, size_t rows)
{
    std::vector<double> gaps(rows);
    for (size_t piece = 0; piece < work.size; piece++)
        gaps[static_cast<size_t>(work.row[piece])] += work.ns[piece];
    for (size_t piece = 0; piece < fixed.size; piece++)
        gaps[static_cast<size_t>(fixed.row[piece])] += fixed.ns[piece];
    return gaps;
}

std::vector<uint8_t> chosen_pieces(const PiecesOfWork &work, const RowPlaces &places, const Choice &choice)
{
    std::vector<uint8_t> chosen(work.size);
    for (size_t piece = 0; piece < work.size; piece++) {
        const bool is_of_phase =
            choice.phase == ANY_PHASE || (piece < choice.known_phases && choice.phases[piece] == choice.phase);
        chosen[piece] = is_of_phase && choice.accounts[choice.account[piece]] &&
                        choice.ranks[static_cast<size_t>(places.rank[work.row[piece]])];
    }
    return chosen;
}

std::vector<double> work_by_cell(const PiecesOfWork &work, const uint8_t *chosen, const RowPlaces &places, size_t cells)
{
    std::vector<double> sums(cells);
    for (size_t piece = 0; piece < work.size; piece++)
        if (chosen[piece])
            sums[places.cell(work.row[piece])] += work.ns[piece];
    return sums;
}

std::vector<double> work_by_rank(const PiecesOfWork &work, const RowPlaces &places)
{
    std::vector<double> sums(places.ranks);
    for (size_t piece = 0; piece < work.size; piece++)
        sums[static_cast<size_t>(places.rank[work.row[piece]])] += work.ns[piece];
    return sums;
}

std::vector<double> rescaled(const PiecesOfWork &work, const uint8_t *chosen, const RowPlaces &places,
                             const double *factor)
{
    std::vector<double> ns(work.ns, work.ns + work.size);
    for (size_t piece = 0; piece < work.size; piece++)
        if (chosen[piece])
            ns[piece] *= factor[places.cell(work.row[piece])];
    return ns;
}

std::vector<double> sums_by_unit(const double *one, const double *other, const int32_t *unit, const RowPlaces &places,
                                 size_t units)
{
    std::vector<double> sums(units * places.ranks);
    for (size_t row = 0; row < places.rows; row++)
        sums[static_cast<size_t>(unit[row]) * places.ranks + static_cast<size_t>(places.rank[row])] +=
            one[row] + other[row];
    return sums;
}

} // namespace perfscope
