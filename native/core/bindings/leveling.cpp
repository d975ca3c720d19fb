// Leveled work for numpy: tables of segments and ranks in, such tables out.
#include "replay/leveling.h"
#include "arrays.h"
#include "bindings.h"

#include <algorithm>
#include <nanobind/stl/pair.h>
#include <utility>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ints = Column<int64_t>;
using Bytes = Column<uint8_t>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the groups do not fit the work");
}

WorkTable table_of(const Table &work, const Bytes &ranks)
{
    check(ranks.size() == work.shape(1));
    return {work.data(), work.shape(0), work.shape(1)};
}

SegmentGroups groups_of(const Ints &segments, const Ints &starts, const WorkTable &work)
{
    check(are_starts(starts, segments.size()));
    SegmentGroups groups{{segments.data(), segments.data() + segments.size()},
                         {starts.data(), starts.data() + starts.size()}};
    check(std::all_of(groups.segments.begin(), groups.segments.end(),
                      [&](int64_t segment) { return static_cast<uint64_t>(segment) < work.segments; }));
    return groups;
}

auto like(const Table &work, const Ints &segments, const Ints &starts, const Bytes &ranks, bool lower, double factor,
          double least_share, double least, double nothing)
{
    const WorkTable table = table_of(work, ranks);
    check(std::any_of(ranks.data(), ranks.data() + ranks.size(), [](uint8_t is_chosen) { return is_chosen; }));
    SegmentGroups groups = groups_of(segments, starts, table);
    {
        const nb::gil_scoped_release unlocked;
        groups = groups_of_like(table, groups, {ranks.data(), lower, factor, least_share, least, nothing});
    }
    return std::pair(to_numpy(std::move(groups.segments)), to_numpy(std::move(groups.starts)));
}

template <std::vector<double> (*Rule)(const WorkTable &, const SegmentGroups &, const uint8_t *)>
auto by_rule(const Table &work, const Ints &segments, const Ints &starts, const Bytes &ranks)
{
    const WorkTable table = table_of(work, ranks);
    const SegmentGroups groups = groups_of(segments, starts, table);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = Rule(table, groups, ranks.data());
    }
    return to_numpy(std::move(found));
}

auto low(const Table &work, const Ints &segments, const Ints &starts, double lower, double upper)
{
    const WorkTable table{work.data(), work.shape(0), work.shape(1)};
    const SegmentGroups groups = groups_of(segments, starts, table);
    check(0.0 <= lower && lower <= upper && upper <= 1.0);
    std::vector<int64_t> counts;
    std::vector<double> around;
    {
        const nb::gil_scoped_release unlocked;
        for (const LowValues &one : low_values(table, groups, lower, upper)) {
            counts.push_back(one.count);
            around.insert(around.end(), one.around, one.around + 4);
        }
    }
    return std::pair(to_numpy(std::move(counts)), to_numpy(std::move(around)));
}

auto within(const Table &work, const Ints &segments, const Ints &starts, const Bytes &ranks, const Table &bounds)
{
    const WorkTable table = table_of(work, ranks);
    const SegmentGroups groups = groups_of(segments, starts, table);
    check(bounds.shape(0) + 1 == groups.starts.size() && bounds.shape(1) == table.ranks);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = within_bounds(table, groups, ranks.data(), bounds.data());
    }
    return to_numpy(std::move(found));
}

} // namespace

void bind_leveling(nb::module_ &module)
{
    module.def("groups_of_like", &like, nb::arg("work"), nb::arg("segments"), nb::arg("starts"), nb::arg("ranks"),
               nb::kw_only(), nb::arg("lower"), nb::arg("factor"), nb::arg("least_share"), nb::arg("least"),
               nb::arg("nothing"));
    module.def("evened", &by_rule<evened>, nb::arg("work"), nb::arg("segments"), nb::arg("starts"), nb::arg("ranks"));
    module.def("made_as_others", &by_rule<made_as_others>, nb::arg("work"), nb::arg("segments"), nb::arg("starts"),
               nb::arg("ranks"));
    module.def("low_values", &low, nb::arg("work"), nb::arg("segments"), nb::arg("starts"), nb::arg("lower"),
               nb::arg("upper"));
    module.def("within_bounds", &within, nb::arg("work"), nb::arg("segments"), nb::arg("starts"), nb::arg("ranks"),
               nb::arg("bounds"));
}

} // namespace perfscope
