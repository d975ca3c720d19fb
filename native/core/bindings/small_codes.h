// Columns of codes that numpy holds in 8, 16 or 32 bits each.
#pragma once

#include "arrays.h"
#include "reducers/small_codes.h"

#include <algorithm>
#include <nanobind/stl/variant.h>
#include <type_traits>
#include <variant>

namespace perfscope {

// Other integers than these become those of 32 bits, where an argument may be another one.
using Codes = std::variant<Column<int32_t>, Column<int16_t>, Column<int8_t>>;

inline size_t size_of(const Codes &codes)
{
    return std::visit([](const auto &column) { return column.size(); }, codes);
}

inline SmallCodes codes_of(const Codes &codes)
{
    return std::visit([](const auto &column) { return SmallCodes(column.data()); }, codes);
}

// Numbers in as few bytes each as numpy holds them in, never copied; refused where one has no room in a Number.
using AnyColumn = std::variant<Column<int64_t>, Column<int32_t>, Column<int16_t>, Column<int8_t>>;

inline size_t size_of(const AnyColumn &column)
{
    return std::visit([](const auto &held) { return held.size(); }, column);
}

template <class Number> NumbersOfAnyWidth<Number> numbers_of(const AnyColumn &column)
{
    return std::visit(
        [](const auto &held) {
            using Held = std::remove_cv_t<std::remove_pointer_t<decltype(held.data())>>;
            if constexpr (sizeof(Held) > sizeof(Number))
                if (std::any_of(held.data(), held.data() + held.size(),
                                [](Held one) { return one != static_cast<Number>(one); }))
                    throw nanobind::value_error("a number is too large for its column");
            return NumbersOfAnyWidth<Number>(held.data());
        },
        column);
}

inline nanobind::object codes_to_numpy(std::vector<int32_t> &&codes)
{
    const auto narrowed = [&codes](auto narrow) {
        std::vector<decltype(narrow)> found(codes.begin(), codes.end());
        std::vector<int32_t>().swap(codes);
        return nanobind::cast(to_numpy(std::move(found)));
    };
    const size_t bytes = bytes_of_codes(codes);
    if (bytes == 1)
        return narrowed(int8_t());
    return bytes == 2 ? narrowed(int16_t()) : nanobind::cast(to_numpy(std::move(codes)));
}

} // namespace perfscope
