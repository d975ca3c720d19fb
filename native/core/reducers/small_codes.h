// Codes of many moments, -1 where there is none: in 8 or 16 bits each where those hold them all, else in 32.
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
    SmallCodes(const int8_t *tiny) : tiny_(tiny) {}

    int32_t operator[](size_t place) const
    {
        if (tiny_ != nullptr)
            return tiny_[place];
        return narrow_ != nullptr ? narrow_[place] : wide_[place];
    }

private:
    const int8_t *tiny_ = nullptr;
    const int16_t *narrow_ = nullptr;
    const int32_t *wide_ = nullptr;
};

// The bytes in which each of them has room.
inline size_t bytes_of_codes(const std::vector<int32_t> &codes)
{
    int32_t least = 0, most = 0;
    for (const int32_t code : codes) {
        least = std::min(least, code);
        most = std::max(most, code);
    }
    const auto fit = [&](auto narrow) {
        using Limits = std::numeric_limits<decltype(narrow)>;
        return least >= Limits::min() && most <= Limits::max();
    };
    return fit(int8_t()) ? 1 : fit(int16_t()) ? 2 : 4;
}

} // namespace perfscope
