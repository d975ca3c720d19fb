// The calls that are replayed, and for whom each waits, for numpy.
#include "replay/layout.h"

#include "arrays.h"
#include "bindings.h"
#include "small_codes.h"

#include <algorithm>
#include <limits>
#include <nanobind/stl/tuple.h>
#include <tuple>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Ints = Column<int64_t>;
using Bytes = Column<uint8_t>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the calls do not fit each other");
}

NumbersOf<int64_t> numbers(const Ints &column)
{
    return {column.data(), column.size()};
}

nb::tuple chosen(const std::tuple<Ints, Ints, Codes, Column<uint16_t>> &columns, const Bytes &is_chosen,
                 size_t ranks, int64_t start, int64_t end)
{
    const auto &[enter, leave, rank, op] = columns;
    const size_t count = enter.size();
    const auto is_ascending = [&](const auto &held) {
        return are_below(held, ranks) && std::is_sorted(held.data(), held.data() + count);
    };
    check(leave.size() == count && size_of(rank) == count && op.size() == count && is_chosen.size() == count &&
          count < static_cast<size_t>(std::numeric_limits<int32_t>::max()) && std::visit(is_ascending, rank));
    ChosenCalls found;
    {
        const nb::gil_scoped_release unlocked;
        found = choose_calls({enter.data(), leave.data(), codes_of(rank), op.data(), count, ranks}, is_chosen.data(),
                             start, end);
    }
    return nb::make_tuple(to_numpy(std::move(found.call)), to_numpy(std::move(found.enter)),
                          to_numpy(std::move(found.exit)), codes_to_numpy(std::move(found.rank)),
                          to_numpy(std::move(found.op)), to_numpy(std::move(found.starts)),
                          to_numpy(std::move(found.place)));
}

auto segments(const Ints &cuts, size_t ranks, size_t rows)
{
    check(ranks && cuts.size() % ranks == 0 && cuts.size() / ranks < static_cast<size_t>(std::numeric_limits<int32_t>::max()) &&
          are_below(cuts, rows));
    std::vector<int32_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = row_segments(numbers(cuts), ranks, rows);
    }
    return to_numpy(std::move(found));
}

nb::tuple of_meetings(const std::tuple<Ints, Ints, Ints, Ints, Bytes, Ints> &columns)
{
    const auto &[starts, rows, kind, root, silent, ends] = columns;
    check(are_starts(starts, rows.size()) && starts.size() == kind.size() + 1 && root.size() == kind.size() &&
          silent.size() == rows.size() && ends.size() == rows.size());
    NeedsOfMeetings found;
    {
        const nb::gil_scoped_release unlocked;
        found = needs_of_meetings({numbers(starts), numbers(rows), numbers(kind), numbers(root), silent.data(), ends.data()});
    }
    return nb::make_tuple(to_numpy(std::move(found.hub_starts)), to_numpy(std::move(found.hub_rows)),
                          to_numpy(std::move(found.hub_parent)), to_numpy(std::move(found.row)),
                          to_numpy(std::move(found.on)));
}

auto before(const Ints &arrival, const std::tuple<Ints, Ints, Ints> &hubs, const Ints &row, const Ints &on)
{
    const auto &[starts, members, parent] = hubs;
    const auto count = static_cast<int64_t>(parent.size());
    check(are_starts(starts, members.size()) && starts.size() == parent.size() + 1 && row.size() == on.size() &&
          are_below(members, arrival.size()) && are_below(row, arrival.size()) &&
          are_between(on, -count, arrival.size()));
    for (int64_t hub = 0; hub < count; hub++)
        check(parent.data()[hub] == -1 || (hub > 0 && parent.data()[hub] == hub - 1));
    std::vector<int64_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = needed_before(numbers(arrival), {numbers(starts), numbers(members)}, parent.data(), numbers(row), on.data());
    }
    return to_numpy(std::move(found));
}

nb::tuple of_rows(const Ints &call, const Ints &on, const Column<int32_t> &row_of, size_t rows)
{
    constexpr auto most = static_cast<size_t>(std::numeric_limits<int32_t>::max());
    check(call.size() == on.size() && call.size() <= most && rows < most && are_below(call, row_of.size()) &&
          are_between(on, -static_cast<int64_t>(most), row_of.size()) && are_below(row_of, rows));
    NeedsOfRows found;
    {
        const nb::gil_scoped_release unlocked;
        found = needs_of_rows(numbers(call), on.data(), row_of.data(), rows);
    }
    return nb::make_tuple(to_numpy(std::move(found.starts)), to_numpy(std::move(found.needs)));
}

} // namespace

void bind_layout(nb::module_ &module)
{
    module.def("chosen_calls", &chosen, nb::arg("columns"), nb::arg("is_chosen"), nb::arg("ranks"), nb::arg("start"),
               nb::arg("end"));
    module.def("row_segments", &segments, nb::arg("cuts"), nb::arg("ranks"), nb::arg("rows"));
    module.def("needs_of_meetings", &of_meetings, nb::arg("columns"));
    module.def("needs_of_rows", &of_rows, nb::arg("call"), nb::arg("on"), nb::arg("row_of"), nb::arg("rows"));
    module.def("needed_before", &before, nb::arg("arrival"), nb::arg("hubs"), nb::arg("row"), nb::arg("on"));
}

} // namespace perfscope
