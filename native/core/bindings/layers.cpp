// Step functions of time, and the timeline of a rank, for numpy.
#include "arrays.h"
#include "bindings.h"
#include "small_codes.h"
#include "reducers/free_time.h"
#include "reducers/rank_timeline.h"
#include "reducers/timeline_sums.h"
#include "reducers/work_pieces.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <optional>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Ints = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Small = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Threads = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Kinds = nb::ndarray<const uint16_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

Intervals intervals_of(const Ints &starts, const Ints &ends, const Ints &values)
{
    if (starts.size() != ends.size() || starts.size() != values.size())
        throw nb::value_error("starts, ends and values are not equally many");
    return {starts.data(), ends.data(), values.data(), starts.size()};
}

LayerView view_of(const Ints &starts, const Ints &values)
{
    if (starts.size() != values.size())
        throw nb::value_error("starts and values are not equally many");
    return {starts.data(), values.data(), starts.size()};
}

// A column of a tuple, which keeps it alive; never a copy, which nobody would.
template <class Column = Ints> Column column_of(const nb::handle &columns, size_t place)
{
    return nb::cast<Column>(columns[place], false);
}

LayerView view_of(const nb::handle &pair)
{
    return view_of(column_of(pair, 0), column_of(pair, 1));
}

nb::tuple to_python(Layer &&layer)
{
    return nb::make_tuple(to_numpy(std::move(layer.starts)), to_numpy(std::move(layer.values)));
}

template <Layer (*Make)(Intervals)> nb::tuple layer(const Ints &starts, const Ints &ends, const Ints &values)
{
    const Intervals intervals = intervals_of(starts, ends, values);
    Layer found;
    {
        const nb::gil_scoped_release unlocked;
        found = Make(intervals);
    }
    return to_python(std::move(found));
}

nb::tuple united(const Ints &starts, const Ints &ends)
{
    auto found = union_of(intervals_of(starts, ends, starts));
    return nb::make_tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.second)));
}

auto distinct(const Ints &moments)
{
    std::vector<int64_t> found(moments.data(), moments.data() + moments.size());
    {
        const nb::gil_scoped_release unlocked;
        make_distinct(found);
    }
    return to_numpy(std::move(found));
}

auto values_at(const Ints &starts, const Ints &values, const Ints &moments)
{
    const LayerView layer = view_of(starts, values);
    std::vector<int64_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = layer_at(layer, moments.data(), moments.size());
    }
    return to_numpy(std::move(found));
}

std::vector<int64_t> list_of(const nb::dict &told, const char *name)
{
    const auto column = nb::cast<Ints>(told[name]);
    return {column.data(), column.data() + column.size()};
}

AccountRules rules_of(const nb::dict &told)
{
    const auto number = [&](const char *name) { return nb::cast<int64_t>(told[name]); };
    AccountRules rules;
    rules.special = list_of(told, "special");
    rules.broad = list_of(told, "broad");
    rules.broad_order = list_of(told, "broad_order");
    rules.predict = number("predict");
    rules.communication = number("communication");
    rules.training = number("training");
    rules.marked_communication = number("marked_communication");
    rules.computation = number("computation");
    rules.start_up = number("start_up");
    rules.shut_down = number("shut_down");
    rules.untraced = number("untraced");
    return rules;
}

nb::tuple timeline(const nb::dict &told, const nb::tuple &marks, const nb::tuple &steps, const nb::tuple &calls,
                   int64_t wait, const nb::tuple &sampled, const nb::tuple &life, std::optional<int64_t> detail_end)
{
    const Intervals phases = intervals_of(column_of(marks, 0), column_of(marks, 1), column_of(marks, 2));
    const auto kinds = column_of<Kinds>(marks, 3);
    const Intervals waiting = intervals_of(column_of(calls, 0), column_of(calls, 1), column_of(calls, 2));
    const auto after = column_of(calls, 3);
    if (kinds.size() != phases.count || after.size() != waiting.count)
        throw nb::value_error("the columns are not equally long");
    const Marks marked{phases.starts, phases.ends, phases.values, kinds.data(), phases.count,
                       intervals_of(column_of(steps, 0), column_of(steps, 1), column_of(steps, 0))};
    const CallSplit split{waiting.starts, waiting.ends, waiting.values, after.data(), waiting.count, wait};
    const SampledLayers seen{view_of(sampled[0]), view_of(sampled[1]), view_of(sampled[2]), view_of(sampled[3])};
    const auto moment = [&](size_t place) { return nb::cast<int64_t>(life[place]); };
    const Life ends{moment(0), moment(1), moment(2), moment(3),
                    detail_end.value_or(std::numeric_limits<int64_t>::max()), moment(4)};
    const AccountRules rules = rules_of(told);
    RankTimeline found;
    {
        const nb::gil_scoped_release unlocked;
        found = rank_timeline(rules, marked, split, seen, ends);
    }
    return nb::make_tuple(to_numpy(std::move(found.boundaries)), to_numpy(std::move(found.accounts)),
                          codes_to_numpy(std::move(found.phases)), codes_to_numpy(std::move(found.stacks)));
}

// The calls of a rank, and what keeps their columns meanwhile.
class CallColumns {
public:
    explicit CallColumns(const nb::tuple &told)
        : enter_(column_of(told, 0)), leave_(column_of(told, 1)), op_(column_of<Kinds>(told, 2)),
          tid_(column_of<Threads>(told, 3)), comm_(column_of<AnyColumn>(told, 4)), sent_(column_of<AnyColumn>(told, 5)),
          received_(column_of<AnyColumn>(told, 6))
    {
        for (const size_t size :
             {leave_.size(), size_of(sent_), size_of(received_), op_.size(), tid_.size(), size_of(comm_)})
            if (size != enter_.size())
                throw nb::value_error("the columns of the calls are not equally long");
    }

    CallsOfRank view() const
    {
        return {enter_.size(), enter_.data(), leave_.data(), op_.data(), tid_.data(),
                numbers_of<int32_t>(comm_), numbers_of<int64_t>(sent_), numbers_of<int64_t>(received_)};
    }

private:
    Ints enter_, leave_;
    Kinds op_;
    Threads tid_;
    AnyColumn comm_, sent_, received_;
};

nb::tuple between_calls(const nb::tuple &told, uint32_t main_tid, int64_t start, int64_t end, const nb::tuple &phases,
                        bool tells_kinds)
{
    const CallColumns columns(told);
    const CallsOfRank calls = columns.view();
    const LayerView marked = view_of(phases);
    FreeTime found;
    {
        const nb::gil_scoped_release unlocked;
        found = free_time(calls, main_tid, start, end, marked, tells_kinds);
    }
    return nb::make_tuple(to_numpy(std::move(found.starts)), to_numpy(std::move(found.ends)),
                          to_numpy(std::move(found.kinds)), to_numpy(std::move(found.in_phase)));
}

nb::tuple longest_between_calls(const nb::tuple &told, uint32_t main_tid, int64_t start, int64_t end,
                                const nb::tuple &phases, const Ints &after, const Ints &until)
{
    const CallColumns columns(told);
    const CallsOfRank calls = columns.view();
    const LayerView marked = view_of(phases);
    if (after.size() != until.size())
        throw nb::value_error("the moments are not as many");
    LongestFree found;
    {
        const nb::gil_scoped_release unlocked;
        found = longest_free(calls, main_tid, start, end, marked, after.data(), until.data(), after.size());
    }
    return nb::make_tuple(to_numpy(std::move(found.places)), to_numpy(std::move(found.starts)),
                          to_numpy(std::move(found.ends)));
}

RankLife life_of(const nb::tuple &told, int64_t start, size_t rows)
{
    const auto boundaries = column_of(told, 0), enter = column_of(told, 4), leave = column_of(told, 5),
               marks = column_of(told, 6);
    const auto accounts = column_of<Bytes>(told, 1);
    const auto phases = column_of<Codes>(told, 2), stacks = column_of<Codes>(told, 3);
    const size_t segments = accounts.size();
    const auto end = nb::cast<int64_t>(told[7]), first_row = nb::cast<int64_t>(told[8]);
    const bool fits = (boundaries.size() == segments + 1 || (!segments && !boundaries.size())) &&
                      size_of(phases) == segments && size_of(stacks) == segments && enter.size() == leave.size() &&
                      first_row >= 0 && static_cast<size_t>(first_row) + enter.size() < rows;
    if (!fits)
        throw nb::value_error("the calls do not fit the timeline or the rows");
    return {boundaries.data(), accounts.data(), codes_of(phases), codes_of(stacks), segments, enter.data(),
            leave.data(), enter.size(), marks.data(), marks.size(), start, end, first_row};
}

// The columns live as long as the tuples that Python holds.
nb::tuple pieces(const std::vector<nb::tuple> &ranks, int64_t start, const Bytes &communication, size_t rows)
{
    std::vector<RankLife> lives;
    for (const nb::tuple &told : ranks) {
        lives.push_back(life_of(told, start, rows));
        if (!column_of(told, 0).size())
            lives.pop_back(); // nothing is known of such a rank
    }
    const std::vector<uint8_t> is_communication(communication.data(), communication.data() + communication.size());
    WorkPieces found;
    {
        const nb::gil_scoped_release unlocked;
        found = work_pieces(lives, is_communication, rows);
    }
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.accounts)),
                          to_numpy(std::move(found.ns)), codes_to_numpy(std::move(found.phases)),
                          codes_to_numpy(std::move(found.stacks)), to_numpy(std::move(found.begins)),
                          to_numpy(std::move(found.fixed)));
}

TimelineView timeline_of(const nb::tuple &told)
{
    const auto boundaries = column_of(told, 0);
    const auto accounts = column_of<Bytes>(told, 1);
    const auto phases = column_of<Codes>(told, 2);
    if (accounts.size() != size_of(phases) || (accounts.size() && boundaries.size() != accounts.size() + 1))
        throw nb::value_error("the columns are not those of a timeline");
    return {boundaries.data(), accounts.data(), codes_of(phases), accounts.size()};
}

auto by_phase(const nb::tuple &told, int64_t start, int64_t end, size_t phases, size_t accounts)
{
    const TimelineView timeline = timeline_of(told);
    std::vector<int64_t> spent;
    {
        const nb::gil_scoped_release unlocked;
        spent = spent_by_phase(timeline, start, end, phases, accounts);
    }
    return to_numpy(std::move(spent));
}

auto by_bin(const nb::tuple &told, int64_t start, int64_t end, int64_t bin_ns, size_t accounts)
{
    const TimelineView timeline = timeline_of(told);
    if (bin_ns <= 0)
        throw nb::value_error("a bin has a length");
    std::vector<int64_t> spent;
    {
        const nb::gil_scoped_release unlocked;
        spent = spent_by_bin(timeline, start, end, bin_ns, accounts);
    }
    return to_numpy(std::move(spent));
}

} // namespace

void bind_layers(nb::module_ &module)
{
    module.def("innermost_layer", &layer<innermost_layer>, nb::arg("starts"), nb::arg("ends"), nb::arg("values"));
    module.def("disjoint_layer", &layer<disjoint_layer>, nb::arg("starts"), nb::arg("ends"), nb::arg("values"));
    module.def("union", &united, nb::arg("starts"), nb::arg("ends"));
    module.def("distinct", &distinct, nb::arg("moments"));
    module.def("layer_at", &values_at, nb::arg("starts"), nb::arg("values"), nb::arg("moments"));
    module.def("longest_free", &longest_between_calls, nb::arg("calls"), nb::arg("main_tid"), nb::arg("start"),
               nb::arg("end"), nb::arg("phases"), nb::arg("after"), nb::arg("until"));
    module.def("free_time", &between_calls, nb::arg("calls"), nb::arg("main_tid"), nb::arg("start"),
               nb::arg("end"), nb::arg("phases"), nb::kw_only(), nb::arg("tells_kinds") = true);
    module.def("spent_by_phase", &by_phase, nb::arg("timeline"), nb::arg("start"), nb::arg("end"), nb::arg("phases"),
               nb::arg("accounts"));
    module.def("spent_by_bin", &by_bin, nb::arg("timeline"), nb::arg("start"), nb::arg("end"), nb::arg("bin_ns"),
               nb::arg("accounts"));
    module.def("work_pieces", &pieces, nb::arg("ranks"), nb::arg("start"), nb::arg("communication"), nb::arg("rows"));
    module.def("rank_timeline", &timeline, nb::kw_only(), nb::arg("rules"), nb::arg("marks"), nb::arg("steps"),
               nb::arg("calls"), nb::arg("wait"), nb::arg("sampled"), nb::arg("life"), nb::arg("detail_end").none());
}

} // namespace perfscope
