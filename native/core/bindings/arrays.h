// Vectors given to numpy without a copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <vector>

namespace perfscope {

// A one-dimensional numpy array that owns the numbers.
template <class T> nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>> to_numpy(std::vector<T> &&values)
{
    auto kept = std::make_unique<std::vector<T>>(std::move(values));
    const size_t shape[1] = {kept->size()};
    T *data = kept->data();
    nanobind::capsule owner(kept.get(), [](void *pointer) noexcept { delete static_cast<std::vector<T> *>(pointer); });
    kept.release();
    return nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>(data, 1, shape, owner);
}

// Whether a column tells where each part of so many begins, and the end behind the last one.
template <class Column> bool are_starts(const Column &starts, size_t count)
{
    const int64_t *first = starts.data(), *behind = first + starts.size();
    return starts.size() && *first == 0 && std::is_sorted(first, behind) && static_cast<size_t>(behind[-1]) == count;
}

// Whether numbers are places below a bound, or from -1 on where there may be none.
template <class Column> bool are_between(const Column &numbers, int64_t least, size_t bound)
{
    return std::all_of(numbers.data(), numbers.data() + numbers.size(), [&](int64_t one) {
        return one >= least && one < static_cast<int64_t>(bound);
    });
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
