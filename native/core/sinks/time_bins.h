// How much of each stretch of time was spent in something, where its single intervals are too many to be kept.
#pragma once

#include <cstdint>
#include <vector>

namespace perfscope {

class TimeBins {
public:
    TimeBins() = default;
    TimeBins(uint64_t begin, uint64_t end, uint32_t bins)
        : begin_(begin), end_(end), width_((end - begin) / bins + 1), spent_(bins), counts_(bins)
    {
    }
    bool is_used() const { return !spent_.empty(); }
    size_t size() const { return spent_.size(); }
    uint64_t start(size_t bin) const { return begin_ + bin * width_; }
    uint64_t spent(size_t bin) const { return spent_[bin]; }
    uint64_t count(size_t bin) const { return counts_[bin]; }

    // Adds [from, to), split where bins end; what lies outside the range of the bins is lost.
    void add(uint64_t from, uint64_t to)
    {
        from = from < begin_ ? begin_ : from;
        to = to > end_ ? end_ : to;
        if (from > to)
            return;
        size_t bin = (from - begin_) / width_;
        counts_[bin]++;
        while (from < to) {
            const uint64_t next = start(bin + 1) < to ? start(bin + 1) : to;
            spent_[bin++] += next - from;
            from = next;
        }
    }

private:
    uint64_t begin_ = 0, end_ = 0, width_ = 1;
    std::vector<uint64_t> spent_, counts_;
};

} // namespace perfscope
