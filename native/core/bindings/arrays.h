// Vectors given to numpy without a copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <type_traits>
#include <vector>

namespace perfscope {

// Numbers of Python's, one after the other.
template <class T> using Column = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;

// A one-dimensional numpy array that owns the numbers.
template <class T, class Allocator>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_numpy(std::vector<T, Allocator> &&values)
{
    using Values = std::vector<T, Allocator>;
    auto kept = std::make_unique<Values>(std::move(values));
    const size_t shape[1] = {kept->size()};
    T *data = kept->data();
    nanobind::capsule owner(kept.get(), [](void *pointer) noexcept { delete static_cast<Values *>(pointer); });
    kept.release();
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(data, 1, shape, owner);
}

// Whether a column tells where each part of so many begins, and the end behind the last one.
template <class Number> bool are_starts(const Column<Number> &starts, size_t count)
{
    const Number *first = starts.data(), *behind = first + starts.size();
    return starts.size() && *first == 0 && std::is_sorted(first, behind) && static_cast<size_t>(behind[-1]) == count;
}

// Whether numbers are places below a bound, or from -1 on where there may be none. Looks at all of them, which several at
// once are compared for; one that is too small is taken for a large one.
template <class Number> bool are_between(const Column<Number> &numbers, int64_t least, size_t bound)
{
    const auto first = static_cast<uint64_t>(least), last = static_cast<uint64_t>(bound) - 1;
    uint64_t outside = 0; // a sign for each number that is too small or too large: no branch, so that several go at once
    for (size_t place = 0; place < numbers.size(); place++) {
        const auto one = static_cast<uint64_t>(static_cast<int64_t>(numbers.data()[place]));
        outside |= (one - first) | (last - one);
    }
    return outside >> 63 == 0;
}

template <class Number> bool are_below(const Column<Number> &numbers, size_t bound)
{
    return are_between(numbers, 0, bound);
}

// The bytes of packed rows; Python views them with the dtype of the table: `rows.view(OPERATION_DTYPE)`.
template <class Row>
nanobind::ndarray<nanobind::numpy, uint8_t, nanobind::ndim<1>> rows_to_numpy(std::vector<Row> &&rows)
{
    auto kept = std::make_unique<std::vector<Row>>(std::move(rows));
    const size_t shape[1] = {kept->size() * sizeof(Row)};
    auto *data = reinterpret_cast<uint8_t *>(kept->data());
    nanobind::capsule owner(kept.get(),
                            [](void *pointer) noexcept { delete static_cast<std::vector<Row> *>(pointer); });
    kept.release();
    return nanobind::ndarray<nanobind::numpy, uint8_t, nanobind::ndim<1>>(data, 1, shape, owner);
}

} // namespace perfscope
