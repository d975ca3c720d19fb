#include "replay/program.h"

#include <algorithm>
#include <string>
#include <utility>

namespace perfscope {

template <class Number> static void check_lists(const ListsOf<Number> &lists, const char *name)
{
    const NumbersOf<Number> &starts = lists.starts;
    const bool framed = starts.size && starts[0] == 0 && static_cast<size_t>(starts[starts.size - 1]) == lists.values.size &&
                        std::is_sorted(starts.data, starts.data + starts.size);
    if (!framed)
        throw ReplayError(std::string(name) + " are not lists");
}

ReplayProgram::ReplayProgram(size_t ranks, Numbers cut_rows, Lists hubs, Numbers hub_parent, SmallLists needs)
    : ranks_(ranks), cut_rows_(cut_rows), hubs_(hubs), hub_parent_(hub_parent), needs_(needs)
{
    if (ranks_ == 0 || cut_rows_.size < 2 * ranks_ || cut_rows_.size % ranks_ || ranks_ > UINT32_MAX ||
        segments() > INT32_MAX)
        throw ReplayError("cut_rows is not a table with a line for the starts and one for the ends");
    check_lists(hubs_, "hubs");
    check_lists(needs_, "needs");
    if (hub_parent_.size != hubs_.count())
        throw ReplayError("hub_parent does not fit the hubs");
    lay_out_rows();
    place_hubs();
    check_needs();
}

void ReplayProgram::lay_out_rows()
{
    const size_t last = segments();
    int64_t next = 0;
    for (size_t rank = 0; rank < ranks_; rank++) {
        if (first_row(rank) != next)
            throw ReplayError("the rows of the ranks do not follow each other");
        next = cut_row(last, rank) + 1;
    }
    for (size_t place = 0; place + ranks_ < cut_rows_.size; place++)
        if (cut_rows_[place + ranks_] <= cut_rows_[place])
            throw ReplayError(DIFFERENT_ORDERS);
    if (next != static_cast<int64_t>(needs_.count()))
        throw ReplayError("needs do not fit the rows");
    segments_.resize(static_cast<size_t>(next));
    block_ranks_.reserve(segments_.size() / BLOCK_ROWS + 1);
    for (size_t rank = 0; rank < ranks_; rank++) {
        int64_t row = first_row(rank);
        segments_[row++] = -1; // where everything begins
        for (size_t cut = 1; cut <= last; cut++)
            for (const int64_t end = cut_row(cut, rank); row <= end; row++)
                segments_[row] = static_cast<int32_t>(cut - 1);
        while (block_ranks_.size() * BLOCK_ROWS < static_cast<size_t>(row))
            block_ranks_.push_back(static_cast<uint32_t>(rank));
    }
}

void ReplayProgram::place_hubs()
{
    const auto row_count = static_cast<int64_t>(rows());
    for (size_t i = 0; i < hubs_.values.size; i++)
        if (hubs_.values[i] < 0 || hubs_.values[i] >= row_count)
            throw ReplayError("a hub has a member that is no row");
    const auto hub_count = static_cast<int64_t>(hubs_.count());
    hub_segment_.assign(static_cast<size_t>(hub_count), -1);
    for (int64_t hub = 0; hub < hub_count; hub++) {
        int32_t &segment = hub_segment_[hub];
        if (hub_parent_[hub] != -1 && hub_parent_[hub] != hub - 1)
            throw ReplayError("a hub follows another than the one before it");
        for (auto row = hubs_.begin_of(hub); row != hubs_.end_of(hub); ++row)
            segment = std::max(segment, segments_[*row]);
        if (hub_parent_[hub] >= 0)
            segment = std::max(segment, hub_segment_[hub - 1]);
    }
}

void ReplayProgram::check_needs() const
{
    const auto row_count = static_cast<int64_t>(rows()), hub_count = static_cast<int64_t>(hubs_.count());
    for (int64_t row = 0; row < row_count; row++)
        for (auto need = needs_.begin_of(row); need != needs_.end_of(row); ++need) {
            if (*need < 0 ? ~*need >= hub_count : *need >= row_count)
                throw ReplayError("a row needs what is not there");
            if ((*need < 0 ? segment_of_hub(~*need) : segment_of(*need)) > segment_of(row))
                throw ReplayError(DIFFERENT_ORDERS);
        }
}

std::shared_ptr<const Tape> ReplayProgram::tape() const
{
    const std::lock_guard<std::mutex> hold(kept_->lock);
    return kept_->tape;
}

void ReplayProgram::keep(std::shared_ptr<const Tape> tape) const
{
    const std::lock_guard<std::mutex> hold(kept_->lock);
    kept_->tape = std::move(tape);
}

} // namespace perfscope
