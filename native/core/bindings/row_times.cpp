// When the rows of a program were, for numpy: columns in, columns out.
#include "replay/row_times.h"

#include "arrays.h"
#include "bindings.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <tuple>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Moments = Column<int64_t>;
using Small = Column<int32_t>;
using Bytes = Column<uint8_t>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the times do not fit the rows");
}

nb::tuple waits_of_rows(const Moments &boundaries, const Bytes &accounts, uint8_t waiting, const Small &calls,
                        const Moments &enter, const Moments &leave, int64_t start, int64_t end)
{
    check(accounts.size() + 1 == boundaries.size() && enter.size() == leave.size() &&
          are_below(calls, enter.size()));
    RowWaits found;
    {
        const nb::gil_scoped_release unlocked;
        found = row_waits({boundaries.data(), boundaries.size(), accounts.data(), waiting},
                          {calls.data(), calls.size(), enter.data(), leave.data()}, start, end);
    }
    return nb::make_tuple(to_numpy(std::move(found.inside)), to_numpy(std::move(found.places)),
                          to_numpy(std::move(found.before)));
}

// When units began on each rank and their numbers, and where the rows, or moments, of each rank begin.
using Clocks = std::vector<std::tuple<Moments, Moments>>;

// Calls unit_of(rank's clock, first, end) for each rank, without the lock of Python, and gives all that it wrote.
template <class UnitsOf> auto by_rank(const Clocks &clocks, const Moments &edges, size_t count, const UnitsOf &units_of)
{
    check(edges.size() == clocks.size() + 1 && are_starts(edges, count));
    std::vector<UnitClock> plain;
    for (const auto &[starts, numbers] : clocks) {
        check(starts.size() && starts.size() == numbers.size());
        plain.push_back({starts.data(), numbers.data(), starts.size()});
    }
    std::vector<int32_t> found(count);
    {
        const nb::gil_scoped_release unlocked;
        for (size_t rank = 0; rank < plain.size(); rank++) {
            const auto first = static_cast<size_t>(edges.data()[rank]), end = static_cast<size_t>(edges.data()[rank + 1]);
            units_of(plain[rank], first, end - first, found.data() + first);
        }
    }
    return to_numpy(std::move(found));
}

UnitBounds bounds_of(const Small &segment, const Small &first)
{
    check(first.size() && are_below(segment, first.size() - 1));
    return {segment.data(), first.data()};
}

auto by_call(const Clocks &clocks, const Moments &edges, const Small &segment, const Small &first, const Small &calls,
             const Moments &enter, int64_t otherwise)
{
    const UnitBounds bounds = bounds_of(segment, first);
    check(calls.size() == segment.size() && are_between(calls, -1, enter.size()));
    return by_rank(clocks, edges, calls.size(), [&](const UnitClock &clock, size_t from, size_t count, int32_t *units) {
        units_of_calls(clock, {bounds.segment + from, bounds.first}, {calls.data() + from, count, enter.data(), nullptr},
                       otherwise, units);
    });
}

auto by_moment(const Clocks &clocks, const Moments &edges, const Small &segment, const Small &first,
               const Moments &moments, const Small &rows)
{
    const UnitBounds bounds = bounds_of(segment, first);
    check(moments.size() == rows.size() && are_below(rows, segment.size()));
    return by_rank(clocks, edges, rows.size(), [&](const UnitClock &clock, size_t from, size_t count, int32_t *units) {
        units_of_moments(clock, bounds, moments.data() + from, rows.data() + from, count, units);
    });
}

} // namespace

void bind_row_times(nb::module_ &module)
{
    module.def("row_waits", &waits_of_rows, nb::arg("boundaries"), nb::arg("accounts"), nb::arg("waiting"),
               nb::arg("calls"), nb::arg("enter"), nb::arg("leave"), nb::arg("start"), nb::arg("end"));
    module.def("units_of_calls", &by_call, nb::arg("clocks"), nb::arg("edges"), nb::arg("segment"), nb::arg("first"),
               nb::arg("calls"), nb::arg("enter"), nb::arg("otherwise"));
    module.def("units_of_moments", &by_moment, nb::arg("clocks"), nb::arg("edges"), nb::arg("segment"),
               nb::arg("first"), nb::arg("moments"), nb::arg("rows"));
}

} // namespace perfscope
