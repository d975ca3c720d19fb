#include "replay/delay_scene.h"

namespace perfscope {

void DelayWindow::enter(size_t number)
{
    player_.enter(number, GapColumn{whole_.costs.gap}, whole_.costs.transfer);
    const Window &window = player_.window();
    lengths_.resize(window.behind() - window.first());
    player_.play(lengths_.data());
    take_cuts();
    take_needs(number);
    take_pieces();
    if (whole_.waiting.measured) {
        measured_.resize(window.rows());
        window.take(whole_.waiting.measured, measured_.data());
        waiting_.measured = measured_.data();
    }
    static constexpr int64_t NO_HUBS = 0;
    program_.emplace(whole_.program->ranks(), Numbers{cut_rows_.data(), cut_rows_.size()},
                     Lists{{&NO_HUBS, 1}, {nullptr, 0}}, Numbers{nullptr, 0},
                     SmallLists{{need_starts_.data(), need_starts_.size()}, {needs_.data(), needs_.size()}});
}

DelayRun DelayWindow::run() const
{
    return {&*program_,
            {player_.gap(), player_.transfer()},
            {piece_starts_.data(), piece_starts_.size(), ns_.data()},
            waiting_,
            tags_};
}

Arrivals DelayWindow::arrivals() const
{
    return {*program_, {player_.times(), player_.times() + player_.window().rows()}};
}

void DelayWindow::take_cuts()
{
    const Window &window = player_.window();
    cut_rows_.clear();
    for (size_t cut = window.first(); cut <= window.behind(); cut++)
        for (size_t rank = 0; rank < whole_.program->ranks(); rank++)
            cut_rows_.push_back(static_cast<int64_t>(window.place(rank, whole_.program->cut_row(cut, rank))));
}

// What a row needs stands on the tape with the next row of its rank.
void DelayWindow::take_needs(size_t number)
{
    const Window &window = player_.window();
    need_starts_.assign(window.rows() + 1, 0);
    const auto for_needs = [&](const auto &each) {
        tape_.words_of_window(number).for_each([&](uint32_t one, const uint32_t *needs, uint32_t count) {
            if (count)
                each((one & Tape::PLACE) - 1, needs, count);
        });
    };
    for_needs([&](size_t row, const uint32_t *, uint32_t count) { need_starts_[row + 1] = static_cast<int32_t>(count); });
    for (size_t row = 0; row < window.rows(); row++)
        need_starts_[row + 1] += need_starts_[row];
    needs_.resize(static_cast<size_t>(need_starts_.back()));
    for_needs([&](size_t row, const uint32_t *needs, uint32_t count) {
        std::copy_n(needs, count, needs_.begin() + need_starts_[row]);
    });
}

void DelayWindow::take_pieces()
{
    const Window &window = player_.window();
    const Pieces &pieces = whole_.pieces;
    piece_starts_.assign(1, 0);
    ns_.clear();
    for (std::vector<int32_t> &own : of_pieces_)
        own.clear();
    window.for_ranks([&](size_t, int64_t row, size_t count) {
        const auto begin = static_cast<size_t>(row);
        const int64_t first = pieces.starts[begin], behind = pieces.starts[begin + count], before = piece_starts_.back();
        for (size_t place = begin + 1; place <= begin + count; place++)
            piece_starts_.push_back(before + pieces.starts[place] - first);
        ns_.insert(ns_.end(), pieces.ns + first, pieces.ns + behind);
        for (size_t kind = 0; kind < of_pieces_.size(); kind++) {
            const SmallCodes &all = whole_.tags[kind].of_piece;
            for (int64_t piece = first; piece < behind; piece++)
                of_pieces_[kind].push_back(all[piece]);
        }
    });
    for (size_t kind = 0; kind < tags_.size(); kind++) {
        tags_[kind].of_piece = of_pieces_[kind].data();
        if (!whole_.tags[kind].units)
            continue;
        units_[kind].resize(window.rows());
        window.take(whole_.tags[kind].units, units_[kind].data());
        tags_[kind].units = units_[kind].data();
    }
}

} // namespace perfscope
