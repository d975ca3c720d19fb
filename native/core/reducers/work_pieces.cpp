#include "reducers/work_pieces.h"

#include <algorithm>

namespace perfscope {

namespace {

// Moments in order, and the first of them behind the last one that was asked for.
class Moments {
public:
    Moments(const int64_t *values, size_t count) : at_(values), end_(values + count)
    {
        if (std::is_sorted(at_, end_))
            return;
        sorted_.assign(at_, end_);
        std::sort(sorted_.begin(), sorted_.end());
        at_ = sorted_.data();
        end_ = at_ + count;
    }
    Moments(const Moments &) = delete;
    Moments &operator=(const Moments &) = delete;

    // The first one behind a moment, or `last`; moments ascend from call to call.
    int64_t behind(int64_t moment, int64_t last)
    {
        while (at_ != end_ && *at_ <= moment)
            ++at_;
        return at_ == end_ ? last : std::min(*at_, last);
    }

private:
    const int64_t *at_, *end_;
    std::vector<int64_t> sorted_;
};

class Cutter {
public:
    Cutter(WorkPieces &found, const std::vector<uint8_t> &is_communication)
        : found_(found), is_communication_(is_communication)
    {
    }

    void rank(const RankLife &life)
    {
        Moments changes(life.boundaries, life.segments + 1), enters(life.enter, life.calls),
            leaves(life.leave, life.calls), marks(life.marks, life.mark_count);
        size_t passed = 0; // boundaries that are not behind the moment
        size_t call = 0;   // the first one that is not over
        for (int64_t at = life.start; at < life.end;) {
            int64_t next = life.end;
            for (Moments *moments : {&changes, &enters, &leaves, &marks})
                next = moments->behind(at, next);
            while (passed <= life.segments && life.boundaries[passed] <= at)
                passed++;
            while (call < life.calls && life.leave[call] <= at)
                call++;
            const bool is_inside = call < life.calls && at >= life.enter[call];
            if (!is_inside && passed > 0 && passed <= life.segments)
                add(life, passed - 1, life.first_row + static_cast<int64_t>(call), at, next);
            at = next;
        }
    }

private:
    void add(const RankLife &life, size_t segment, int64_t row, int64_t begin, int64_t end)
    {
        const uint8_t account = life.accounts[segment];
        const auto ns = static_cast<double>(end - begin);
        if (account < is_communication_.size() && is_communication_[account]) {
            found_.fixed[static_cast<size_t>(row)] += ns;
            return;
        }
        found_.rows.push_back(static_cast<int32_t>(row));
        found_.accounts.push_back(account);
        found_.phases.push_back(life.phases[segment]);
        found_.stacks.push_back(life.stacks[segment]);
        found_.begins.push_back(begin);
        found_.ns.push_back(ns);
    }

    WorkPieces &found_;
    const std::vector<uint8_t> &is_communication_;
};

} // namespace

WorkPieces work_pieces(const std::vector<RankLife> &ranks, const std::vector<uint8_t> &is_communication, size_t rows)
{
    WorkPieces found;
    found.fixed.assign(rows, 0.0);
    size_t likely = 0; // calls cut timelines where they have boundaries of their own
    for (const RankLife &life : ranks)
        likely += static_cast<size_t>(std::count_if(life.accounts, life.accounts + life.segments, [&](uint8_t account) {
            return account >= is_communication.size() || !is_communication[account];
        }));
    for (auto *column : {&found.rows, &found.phases, &found.stacks})
        column->reserve(likely);
    found.ns.reserve(likely);
    found.accounts.reserve(likely);
    found.begins.reserve(likely);
    Cutter cutter(found, is_communication);
    for (const RankLife &life : ranks)
        cutter.rank(life);
    return found;
}

} // namespace perfscope
