// Moments in few bits for numpy: columns in, columns out.
#include "reducers/packed_times.h"

#include "arrays.h"
#include "bindings.h"

#include <nanobind/stl/tuple.h>
#include <tuple>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Moments = Column<int64_t>;
using Packed = std::tuple<Moments, Column<uint32_t>, Moments, Moments>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the packed moments do not fit");
}

PackedView view_of(const Packed &packed)
{
    const auto &[base, after, far_places, far_times] = packed;
    check(base.size() == (after.size() + PACKED_BLOCK - 1) / PACKED_BLOCK && far_places.size() == far_times.size() &&
          are_below(far_places, after.size()));
    return {base.data(), after.data(), far_places.data(), far_times.data(), far_places.size()};
}

nb::tuple pack(const Moments &times)
{
    PackedTimes found;
    {
        const nb::gil_scoped_release unlocked;
        found = packed_times(times.data(), times.size());
    }
    return nb::make_tuple(to_numpy(std::move(found.base)), to_numpy(std::move(found.after)),
                          to_numpy(std::move(found.far_places)), to_numpy(std::move(found.far_times)));
}

auto unpack(const Packed &packed, size_t first, size_t end)
{
    const PackedView view = view_of(packed);
    check(first <= end && end <= std::get<1>(packed).size());
    std::vector<int64_t> found(end - first);
    {
        const nb::gil_scoped_release unlocked;
        unpack_times(view, first, found.size(), found.data());
    }
    return to_numpy(std::move(found));
}

auto unpack_some(const Packed &packed, const Moments &rows)
{
    const PackedView view = view_of(packed);
    check(are_below(rows, std::get<1>(packed).size()));
    std::vector<int64_t> found(rows.size());
    {
        const nb::gil_scoped_release unlocked;
        unpack_rows(view, rows.data(), found.size(), found.data());
    }
    return to_numpy(std::move(found));
}

} // namespace

void bind_packed_times(nb::module_ &module)
{
    module.def("packed_times", &pack, nb::arg("times"));
    module.def("unpacked_times", &unpack, nb::arg("packed"), nb::arg("first"), nb::arg("end"));
    module.def("unpacked_rows", &unpack_some, nb::arg("packed"), nb::arg("rows"));
}

} // namespace perfscope
