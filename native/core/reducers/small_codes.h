// Numbers of many rows or moments, mostly small, and codes, -1 where there is none: in as few bits as hold them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace perfscope {

// Whole numbers of a column that has 1, 2, 4 or 8 bytes for each, as many as its largest one needs. They are read with
// their sign, as Number, which has room for each of them.
template <class Number> class NumbersOfAnyWidth {
public:
    NumbersOfAnyWidth() = default;
    template <class Held> NumbersOfAnyWidth(const Held *data) : data_(data), bytes_(sizeof(Held))
    {
        static_assert(std::is_integral_v<Held> && std::is_signed_v<Held>, "numbers are read as whole ones with a sign");
    }

    template <class Place> Number operator[](Place place) const
    {
        switch (bytes_) {
        case 1: return static_cast<const int8_t *>(data_)[place];
        case 2: return static_cast<const int16_t *>(data_)[place];
        case 4: return static_cast<const int32_t *>(data_)[place];
        default: return static_cast<Number>(static_cast<const int64_t *>(data_)[place]);
        }
    }

private:
    const void *data_ = nullptr;
    size_t bytes_ = sizeof(Number);
};
using AnyInts = NumbersOfAnyWidth<int64_t>;
using SmallCodes = NumbersOfAnyWidth<int32_t>;

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
