#include "replay/segment_links.h"

#include <algorithm>

namespace perfscope {

void SegmentLinks::Table::fill(size_t keys, const Pairs &pairs)
{
    starts.assign(keys + 1, 0);
    for (const auto &pair : pairs)
        starts[pair.first + 1]++;
    for (size_t key = 0; key < keys; key++)
        starts[key + 1] += starts[key];
    values.resize(pairs.size());
    next.assign(starts.begin(), starts.end() - 1);
    for (const auto &pair : pairs)
        values[next[pair.first]++] = pair.second;
}

// Cuts in front of the segment fulfil what lies behind them.
bool SegmentLinks::is_here(int64_t need) const
{
    const auto segment = static_cast<int64_t>(segment_);
    return need < 0 ? program_.segment_of_hub(~need) == segment : program_.segment_of(need) == segment;
}

void SegmentLinks::enter(size_t segment)
{
    segment_ = segment;
    int64_t number = 0;
    for (size_t rank = 0; rank < program_.ranks(); rank++) {
        const int64_t opening = program_.cut_row(segment, rank), closing = program_.cut_row(segment + 1, rank);
        base_[rank] = number;
        number += closing - opening + 1;
    }
    base_.back() = number;
}

void SegmentLinks::link()
{
    const SmallLists &needs = program_.needs();
    row_users_.clear();
    hub_users_.clear();
    for (size_t rank = 0; rank < program_.ranks(); rank++)
        for (int64_t row = program_.cut_row(segment_, rank) + 1; row < program_.cut_row(segment_ + 1, rank); row++)
            for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need)
                if (!is_here(*need))
                    continue;
                else if (*need < 0)
                    hub_users_.emplace_back(~*need, row);
                else
                    row_users_.emplace_back(static_cast<int64_t>(this->number(*need)), row);
    is_plain_ = row_users_.empty() && hub_users_.empty();
    if (is_plain_)
        return;
    needed_by_.fill(rows(), row_users_);
    has_hubs_ = !hub_users_.empty();
    if (has_hubs_)
        find_hubs();
}

void SegmentLinks::find_hubs()
{
    hubs_.clear();
    for (const auto &[hub, row] : hub_users_)
        hubs_.push_back(hub);
    std::sort(hubs_.begin(), hubs_.end());
    hubs_.erase(std::unique(hubs_.begin(), hubs_.end()), hubs_.end());
    pairs_.clear();
    const Lists &members = program_.hubs();
    for (size_t place = 0; place < hubs_.size(); place++)
        for (auto row = members.begin_of(hubs_[place]); row != members.end_of(hubs_[place]); ++row)
            if (program_.segment_of(*row) == static_cast<int64_t>(segment_))
                pairs_.emplace_back(static_cast<int64_t>(number(*row)), static_cast<int64_t>(place));
    hubs_of_.fill(rows(), pairs_);
    pairs_.clear();
    for (const auto &[hub, row] : hub_users_)
        pairs_.emplace_back(std::lower_bound(hubs_.begin(), hubs_.end(), hub) - hubs_.begin(), row);
    waiting_for_.fill(hubs_.size(), pairs_);
}

int64_t SegmentLinks::partner_on(int64_t row, uint32_t other) const
{
    if (is_plain_)
        return -1;
    const SmallLists &needs = program_.needs();
    const Lists &members = program_.hubs();
    for (auto need = needs.begin_of(row); need != needs.end_of(row); ++need) {
        if (!is_here(*need))
            continue;
        const int64_t partner =
            *need < 0 ? on_rank(members.begin_of(~*need), members.end_of(~*need), other) : *need;
        if (partner >= 0 && program_.rank_of(partner) == other && is_here(partner))
            return partner;
    }
    const size_t place = number(row);
    for (auto user = needed_by_.begin_of(place); user != needed_by_.end_of(place); ++user)
        if (program_.rank_of(*user) == other)
            return *user;
    if (!has_hubs_)
        return -1;
    for (auto hub = hubs_of_.begin_of(place); hub != hubs_of_.end_of(place); ++hub) {
        const auto list = static_cast<size_t>(*hub);
        const int64_t user = on_rank(waiting_for_.begin_of(list), waiting_for_.end_of(list), other);
        if (user >= 0)
            return user;
    }
    return -1;
}

// Rows of a list are in order, and with them their ranks.
int64_t SegmentLinks::on_rank(const int64_t *begin, const int64_t *end, uint32_t rank) const
{
    const auto found = std::lower_bound(begin, end, program_.first_row(rank));
    return found != end && program_.rank_of(*found) == rank ? *found : -1;
}

} // namespace perfscope
