// Columns of codes that numpy holds in 16 or 32 bits each.
#pragma once

#include "arrays.h"
#include "reducers/small_codes.h"

#include <nanobind/stl/variant.h>
#include <variant>

namespace perfscope {

// Other integers than these become those of 32 bits, where an argument may be another one.
using Codes = std::variant<Column<int32_t>, Column<int16_t>>;

inline size_t size_of(const Codes &codes)
{
    return std::visit([](const auto &column) { return column.size(); }, codes);
}

inline SmallCodes codes_of(const Codes &codes)
{
    return std::visit([](const auto &column) { return SmallCodes(column.data()); }, codes);
}

inline nanobind::object codes_to_numpy(std::vector<int32_t> &&codes)
{
    if (!are_narrow(codes))
        return nanobind::cast(to_numpy(std::move(codes)));
    std::vector<int16_t> narrow(codes.begin(), codes.end());
    std::vector<int32_t>().swap(codes);
    return nanobind::cast(to_numpy(std::move(narrow)));
}

} // namespace perfscope
