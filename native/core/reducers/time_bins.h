// How much of each stretch of time was spent in something, where its single intervals are too many to be kept.
#pragma once

#include <cstdint>
#include <vector>

namespace perfscope {

class TimeBins {
public:
    TimeBins() = default;
    TimeBins(int64_t begin, int64_t end, uint32_t bins)
        : begin_(begin), end_(end), width_(static_cast<int64_t>(static_cast<uint64_t>(end - begin) / bins) + 1), spent_(bins), counts_(bins)
    {
    }
    bool is_used() const { return !spent_.empty(); }
    size_t size() const { return spent_.size(); }
    int64_t start(size_t bin) const { return begin_ + static_cast<int64_t>(bin) * width_; }
    int64_t spent(size_t bin) const { return spent_[bin]; }
    uint64_t count(size_t bin) const { return counts_[bin]; }

    // Adds [from, to), split where bins end; what lies outside the range of the bins is lost.
    void add(int64_t from, int64_t to)
    {
        from = from < begin_ ? begin_ : from;
        to = to > end_ ? end_ : to;
        if (from > to)
            return;
        auto bin = static_cast<size_t>((from - begin_) / width_);
        counts_[bin]++;
        while (from < to) {
            const int64_t next = start(bin + 1) < to ? start(bin + 1) : to;
            spent_[bin++] += next - from;
            from = next;
        }
    }

private:
    int64_t begin_ = 0, end_ = 0, width_ = 1;
    std::vector<int64_t> spent_;
    std::vector<uint64_t> counts_;
};

} // namespace perfscope
