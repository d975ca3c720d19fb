// Codes of many moments, -1 where there is none: in 16 bits each where those hold them all, else in 32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace perfscope {

class SmallCodes {
public:
    SmallCodes(const int32_t *wide) : wide_(wide) {}
    SmallCodes(const int16_t *narrow) : narrow_(narrow) {}

    int32_t operator[](size_t place) const { return narrow_ != nullptr ? narrow_[place] : wide_[place]; }

private:
    const int16_t *narrow_ = nullptr;
    const int32_t *wide_ = nullptr;
};

inline bool are_narrow(const std::vector<int32_t> &codes)
{
    using Narrow = std::numeric_limits<int16_t>;
    int32_t least = 0, most = 0;
    for (const int32_t code : codes) {
        least = std::min(least, code);
        most = std::max(most, code);
    }
    return least >= Narrow::min() && most <= Narrow::max();
}

} // namespace perfscope
