// Collectives as the rows of a program ask for them, for numpy.
#include "replay/row_collectives.h"

#include "arrays.h"
#include "bindings.h"
#include "small_codes.h"

#include <limits>
#include <nanobind/stl/tuple.h>
#include <tuple>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Numbers64 = Column<int64_t>;
using Small = Column<int32_t>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the collectives do not fit the calls");
}

InstanceMembers instances_of(const Numbers64 &members, const Numbers64 &starts, size_t count, size_t calls)
{
    check(starts.size() == count + 1 && count <= static_cast<size_t>(std::numeric_limits<int32_t>::max()) &&
          are_starts(starts, members.size()) && are_below(members, calls));
    return {members.data(), starts.data(), count};
}

nb::tuple of_rows(const Numbers64 &members, const Numbers64 &starts, const Numbers64 &carried, const Small &calls,
                  size_t call_count)
{
    const InstanceMembers instances = instances_of(members, starts, carried.size(), call_count);
    check(are_between(calls, -1, call_count));
    RowCollectives found;
    {
        const nb::gil_scoped_release unlocked;
        found = collectives_of_rows(instances, carried.data(), calls.data(), calls.size(), call_count);
    }
    return nb::make_tuple(to_numpy(std::move(found.size)), to_numpy(std::move(found.ranks)));
}

auto closely(const std::tuple<Numbers64, Numbers64> &instances, const std::tuple<Numbers64, Numbers64, Numbers64> &kinds,
             const std::tuple<Numbers64, Numbers64, Codes> &calls, const Numbers64 &order, int64_t most_ns)
{
    const auto &[comm, seq, op] = kinds;
    const auto &[enter, leave, rank] = calls;
    check(comm.size() == seq.size() && seq.size() == op.size() && enter.size() == leave.size() &&
          leave.size() == size_of(rank) && are_below(order, comm.size()));
    const InstanceMembers own = instances_of(std::get<0>(instances), std::get<1>(instances), comm.size(), size_of(rank));
    const InstanceKinds kind{comm.data(), seq.data(), op.data()};
    const CallTimes times{enter.data(), leave.data(), codes_of(rank)};
    std::vector<uint8_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = follow_closely(own, kind, times, order.data(), order.size(), most_ns);
    }
    return to_numpy(std::move(found));
}

} // namespace

void bind_row_collectives(nb::module_ &module)
{
    module.def("collectives_of_rows", &of_rows, nb::arg("members"), nb::arg("starts"), nb::arg("carried"),
               nb::arg("calls"), nb::arg("call_count"));
    module.def("follow_closely", &closely, nb::arg("instances"), nb::arg("kinds"), nb::arg("calls"), nb::arg("order"),
               nb::arg("most_ns"));
}

} // namespace perfscope
