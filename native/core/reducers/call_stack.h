// Calls of one location: the profile of its regions, from enters and leaves in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace perfscope {

// Sums of ticks of damaged files may leave the range; what comes out is told by the times of the location.
inline int64_t wrapping_sum(int64_t a, int64_t b)
{
    return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

inline int64_t wrapping_difference(int64_t a, int64_t b)
{
    return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}

// Times are ticks. A recursive call counts once in `inclusive`.
struct RegionTotals {
    uint64_t count = 0;
    int64_t inclusive = 0, exclusive = 0;
    uint32_t depth = 0; // calls of the region that are open
    uint32_t role = 0;  // what the owner of the stack wants to know at once about the region
};

struct OpenCall {
    uint64_t start;
    int64_t inside_others; // ticks of the calls made from this one
    uint32_t region;
};

constexpr size_t DEEPEST_STACK = 1 << 20;

class CallStack {
public:
    explicit CallStack(size_t regions) : totals_(regions), calls_(64), top_(calls_.data()), limit_(top_ + calls_.size() - 1)
    {
        *top_ = {0, 0, UINT32_MAX}; // below the outermost call, so that every call has a caller
    }
    std::vector<RegionTotals> &totals() { return totals_; }
    size_t depth() const { return static_cast<size_t>(top_ - calls_.data()); }
    const OpenCall &top() const { return *top_; }

    RegionTotals &push(uint64_t time, uint32_t region)
    {
        if (top_ == limit_)
            grow();
        *++top_ = {time, 0, region};
        RegionTotals &totals = totals_[region];
        totals.depth++;
        return totals;
    }
    // Ends the innermost call, whatever its region; there must be one.
    RegionTotals &pop(uint64_t time)
    {
        const auto spent = static_cast<int64_t>(time - top_->start);
        RegionTotals &totals = totals_[top_->region];
        totals.count++;
        totals.depth--;
        totals.inclusive = wrapping_sum(totals.inclusive, totals.depth ? 0 : spent);
        totals.exclusive = wrapping_sum(totals.exclusive, wrapping_difference(spent, top_->inside_others));
        top_--;
        top_->inside_others = wrapping_sum(top_->inside_others, spent);
        return totals;
    }
    // A call that made no others: push and pop at once.
    void leaf(uint64_t start, uint64_t end, uint32_t region)
    {
        const auto spent = static_cast<int64_t>(end - start);
        RegionTotals &totals = totals_[region];
        totals.count++;
        totals.inclusive = wrapping_sum(totals.inclusive, totals.depth ? 0 : spent);
        totals.exclusive = wrapping_sum(totals.exclusive, spent);
        top_->inside_others = wrapping_sum(top_->inside_others, spent);
    }

private:
    void grow()
    {
        const size_t place = depth();
        if (place >= DEEPEST_STACK)
            throw std::length_error("calls nest too deeply");
        calls_.resize(calls_.size() * 2);
        top_ = calls_.data() + place;
        limit_ = calls_.data() + calls_.size() - 1;
    }
    std::vector<RegionTotals> totals_;
    std::vector<OpenCall> calls_;
    OpenCall *top_, *limit_;
};

} // namespace perfscope
