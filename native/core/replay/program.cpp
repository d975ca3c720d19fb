#include "replay/program.h"

#include <algorithm>

namespace perfscope {

static const char *const DIFFERENT_ORDERS = "the ranks enter the same operations in different orders";

Lists Lists::of(size_t count, const std::vector<std::pair<int64_t, int64_t>> &pairs)
{
    Lists lists;
    lists.starts.assign(count + 1, 0);
    for (const auto &pair : pairs)
        lists.starts[pair.first + 1]++;
    for (size_t i = 0; i < count; i++)
        lists.starts[i + 1] += lists.starts[i];
    lists.values.resize(pairs.size());
    std::vector<int64_t> next(lists.starts.begin(), lists.starts.end() - 1);
    for (const auto &pair : pairs)
        lists.values[next[pair.first]++] = pair.second;
    return lists;
}

static void check_lists(const Lists &lists, const char *name)
{
    const bool framed = !lists.starts.empty() && lists.starts.front() == 0 &&
                        lists.starts.back() == static_cast<int64_t>(lists.values.size()) &&
                        std::is_sorted(lists.starts.begin(), lists.starts.end());
    if (!framed)
        throw ReplayError(std::string(name) + " are not lists");
}

ReplayProgram::ReplayProgram(size_t ranks, std::vector<int64_t> cut_rows, Lists hubs, std::vector<int64_t> hub_parent,
                             Lists needs)
    : ranks_(ranks), cut_rows_(std::move(cut_rows)), hub_parent_(std::move(hub_parent))
{
    if (ranks_ == 0 || cut_rows_.size() < 2 * ranks_ || cut_rows_.size() % ranks_)
        throw ReplayError("cut_rows is not a table with a line for the starts and one for the ends");
    check_lists(hubs, "hubs");
    check_lists(needs, "needs");
    if (hub_parent_.size() != hubs.count())
        throw ReplayError("hub_parent does not fit the hubs");
    lay_out_rows(needs.count());
    keep_inside_segments(hubs, needs);
    sort();
}

void ReplayProgram::lay_out_rows(size_t expected)
{
    const size_t cuts = cut_rows_.size() / ranks_;
    const auto last = cut_rows_.end() - static_cast<std::ptrdiff_t>(ranks_);
    int64_t next = 0;
    for (size_t rank = 0; rank < ranks_; rank++) {
        if (cut_row(0, rank) != next)
            throw ReplayError("the rows of the ranks do not follow each other");
        for (size_t cut = 0; cut + 1 < cuts; cut++)
            if (cut_row(cut + 1, rank) <= cut_row(cut, rank))
                throw ReplayError(DIFFERENT_ORDERS);
        next = last[rank] + 1;
    }
    if (next != static_cast<int64_t>(expected))
        throw ReplayError("needs do not fit the rows");
    segment_.resize(next);
    rank_.resize(next);
    for (size_t rank = 0; rank < ranks_; rank++) {
        std::fill(rank_.begin() + cut_row(0, rank), rank_.begin() + last[rank] + 1, rank);
        segment_[cut_row(0, rank)] = -1; // where everything begins
        for (size_t cut = 0; cut + 1 < cuts; cut++)
            std::fill(segment_.begin() + cut_row(cut, rank) + 1, segment_.begin() + cut_row(cut + 1, rank) + 1, cut);
    }
}

void ReplayProgram::keep_inside_segments(const Lists &hubs, const Lists &needs)
{
    const auto row_count = static_cast<int64_t>(rows());
    const auto hub_count = static_cast<int64_t>(hubs.count());
    hub_segment_.assign(hub_count, -1);
    for (const int64_t row : hubs.values)
        if (row < 0 || row >= row_count)
            throw ReplayError("a hub has a member that is no row");
    for (int64_t hub = 0; hub < hub_count; hub++) {
        if (hub_parent_[hub] != -1 && hub_parent_[hub] != hub - 1)
            throw ReplayError("a hub follows another than the one before it");
        for (auto row = hubs.begin_of(hub); row != hubs.end_of(hub); ++row)
            hub_segment_[hub] = std::max(hub_segment_[hub], segment_[*row]);
        if (hub_parent_[hub] >= 0)
            hub_segment_[hub] = std::max(hub_segment_[hub], hub_segment_[hub_parent_[hub]]);
    }
    std::vector<std::pair<int64_t, int64_t>> members, memberships, kept, row_users, hub_users;
    for (int64_t hub = 0; hub < hub_count; hub++) {
        if (hub_parent_[hub] >= 0 && hub_segment_[hub_parent_[hub]] != hub_segment_[hub])
            hub_parent_[hub] = -1;
        for (auto row = hubs.begin_of(hub); row != hubs.end_of(hub); ++row)
            if (segment_[*row] == hub_segment_[hub]) {
                members.emplace_back(hub, *row);
                memberships.emplace_back(*row, hub);
            }
    }
    for (int64_t row = 0; row < row_count; row++) {
        const bool is_cut = row + 1 == row_count || segment_[row + 1] != segment_[row];
        for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need) {
            const bool is_hub = *need < 0;
            if (is_hub ? ~*need >= hub_count : *need >= row_count)
                throw ReplayError("a row needs what is not there");
            const int64_t segment = is_hub ? hub_segment_[~*need] : segment_[*need];
            if (segment > segment_[row])
                throw ReplayError(DIFFERENT_ORDERS);
            if (segment < segment_[row] || segment < 0 || is_cut)
                continue;
            kept.emplace_back(row, *need);
            (is_hub ? hub_users : row_users).emplace_back(is_hub ? ~*need : *need, row);
        }
    }
    hubs_ = Lists::of(hub_count, members);
    hubs_of_ = Lists::of(row_count, memberships);
    needs_ = Lists::of(row_count, kept);
    needed_by_ = Lists::of(row_count, row_users);
    waiting_for_ = Lists::of(hub_count, hub_users);
}

void ReplayProgram::sort()
{
    order_starts_.assign(segments() + 1, 0);
    for (const int64_t segment : segment_)
        if (segment >= 0)
            order_starts_[segment + 1]++;
    for (const int64_t segment : hub_segment_)
        if (segment >= 0)
            order_starts_[segment + 1]++;
    for (size_t segment = 0; segment < segments(); segment++)
        order_starts_[segment + 1] += order_starts_[segment];
    order_.resize(order_starts_.back());
    std::vector<int64_t> missing(rows()), absent(hub_count());
    std::vector<uint8_t> arrived(rows());
    for (size_t row = 0; row < rows(); row++)
        missing[row] = needs_.starts[row + 1] - needs_.starts[row];
    for (size_t hub = 0; hub < hub_count(); hub++)
        absent[hub] = hubs_.starts[hub + 1] - hubs_.starts[hub] + (hub_parent_[hub] >= 0);
    for (size_t segment = 0; segment < segments(); segment++)
        sort_segment(segment, missing, absent, arrived);
}

void ReplayProgram::sort_segment(size_t segment, std::vector<int64_t> &missing, std::vector<int64_t> &absent,
                                 std::vector<uint8_t> &arrived)
{
    int64_t place = order_starts_[segment];
    const int64_t end = order_starts_[segment + 1];
    std::vector<int64_t> coming, complete;
    auto satisfied = [&](int64_t row) {
        if (--missing[row] == 0 && arrived[row])
            coming.push_back(row + 1);
    };
    for (size_t rank = 0; rank < ranks_; rank++)
        coming.push_back(cut_row(segment, rank) + 1);
    while (!coming.empty()) {
        const int64_t row = coming.back();
        coming.pop_back();
        order_[place++] = row;
        arrived[row] = 1;
        // asked before its own arrival satisfies it: a row may be a member of the hub that it needs
        const bool free = missing[row] == 0;
        for (auto user = needed_by_.begin_of(row); user != needed_by_.end_of(row); ++user)
            satisfied(*user);
        for (auto hub = hubs_of_.begin_of(row); hub != hubs_of_.end_of(row); ++hub)
            if (--absent[*hub] == 0)
                complete.push_back(*hub);
        while (!complete.empty()) {
            const int64_t hub = complete.back();
            complete.pop_back();
            order_[place++] = ~hub;
            for (auto user = waiting_for_.begin_of(hub); user != waiting_for_.end_of(hub); ++user)
                satisfied(*user);
            const auto child = static_cast<size_t>(hub) + 1;
            if (child < hub_count() && hub_parent_[child] == hub && --absent[child] == 0)
                complete.push_back(hub + 1);
        }
        if (free && row != cut_row(segment + 1, static_cast<size_t>(rank_[row])))
            coming.push_back(row + 1);
    }
    if (place != end)
        throw ReplayError(DIFFERENT_ORDERS);
}

} // namespace perfscope
