// A series of values that stays bounded: when it is full, every other value goes and the stride doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

template <class Sample> class ThinnedSeries {
public:
    explicit ThinnedSeries(size_t most) : most_(most < 2 ? 2 : most) {}

    void add(const Sample &sample)
    {
        last_ = sample;
        if (seen_++ % stride_ == 0) {
            if (kept_.size() == most_)
                thin();
            if ((seen_ - 1) % stride_ == 0)
                kept_.push_back(sample);
        }
    }
    uint64_t seen() const { return seen_; }
    bool is_thinned() const { return stride_ > 1; }
    // What was kept; the last value is always among it.
    std::vector<Sample> take()
    {
        if (seen_ && (seen_ - 1) % stride_)
            kept_.push_back(last_);
        return std::move(kept_);
    }

private:
    void thin()
    {
        size_t to = 0;
        for (size_t from = 0; from < kept_.size(); from += 2)
            kept_[to++] = kept_[from];
        kept_.resize(to);
        stride_ *= 2;
    }
    size_t most_;
    uint64_t seen_ = 0, stride_ = 1;
    std::vector<Sample> kept_;
    Sample last_{};
};

} // namespace perfscope
