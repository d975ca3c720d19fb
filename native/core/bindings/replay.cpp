// The replay for numpy: columns in, columns out.
#include "arrays.h"
#include "bindings.h"
#include "replay/critical_path.h"
#include "replay/delay_cost.h"

#include <algorithm>
#include <nanobind/stl/tuple.h>
#include <thread>

namespace nb = nanobind;

namespace perfscope {

template <class T> using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Ints = Column<int64_t>;
using Floats = Column<double>;
template <class T> using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <class T> static std::vector<T> copied(const Column<T> &column)
{
    return std::vector<T>(column.data(), column.data() + column.size());
}

static unsigned cores()
{
    return std::max(1u, std::thread::hardware_concurrency());
}

// A program and what was computed for the run as it was.
class Replay {
public:
    Replay(size_t ranks, const Ints &cut_rows, const Ints &hub_starts, const Ints &hub_rows, const Ints &hub_parent,
           const Ints &need_starts, const Ints &needs)
        : program_(make(ranks, cut_rows, {copied(hub_starts), copied(hub_rows)}, hub_parent,
                        {copied(need_starts), copied(needs)}))
    {
    }

    Numpy<double> lengths(const Floats &gap, const Floats &transfer) const
    {
        const Costs costs = checked(gap, transfer);
        std::vector<double> result;
        {
            nb::gil_scoped_release released;
            result = segment_lengths(program_, costs, cores());
        }
        return to_numpy(std::move(result));
    }

    std::tuple<Numpy<double>, Numpy<double>, Numpy<int64_t>> times(const Floats &gap, const Floats &transfer) const
    {
        Times result = computed(checked(gap, transfer));
        return {to_numpy(std::move(result.arrival)), to_numpy(std::move(result.need)),
                to_numpy(std::move(result.cause))};
    }

    std::tuple<Numpy<int64_t>, Numpy<int64_t>> path(const Floats &gap, const Floats &transfer) const
    {
        const Costs costs = checked(gap, transfer);
        CriticalPath result;
        {
            nb::gil_scoped_release released;
            result = critical_path(program_, replay_times(program_, costs, cores()));
        }
        return {to_numpy(std::move(result.work_rows)), to_numpy(std::move(result.transfer_rows))};
    }

    nb::dict delays(const Floats &gap, const Floats &transfer, const Ints &piece_starts, const Ints &tag,
                    const Floats &ns, size_t tags, const Column<uint8_t> &waits_at_end) const
    {
        const Costs costs = checked(gap, transfer);
        const Pieces pieces = checked_pieces(piece_starts, tag, ns, tags);
        const std::vector<uint8_t> waiting = copied(waits_at_end);
        DelayCost cost;
        {
            nb::gil_scoped_release released;
            cost = delay_cost(program_, costs, replay_times(program_, costs, cores()), pieces, waiting);
        }
        nb::dict result;
        result["direct"] = to_numpy(std::move(cost.direct));
        result["indirect"] = to_numpy(std::move(cost.indirect));
        result["unattributed"] = cost.unattributed;
        result["waiting"] = cost.waiting;
        result["waiter"] = to_numpy(std::move(cost.waiter));
        result["cause"] = to_numpy(std::move(cost.cause));
        result["ns"] = to_numpy(std::move(cost.ns));
        return result;
    }

private:
    static ReplayProgram make(size_t ranks, const Ints &cut_rows, Lists hubs, const Ints &hub_parent, Lists needs)
    {
        std::vector<int64_t> cuts = copied(cut_rows), parents = copied(hub_parent);
        nb::gil_scoped_release released;
        return ReplayProgram(ranks, std::move(cuts), std::move(hubs), std::move(parents), std::move(needs));
    }

    Costs checked(const Floats &gap, const Floats &transfer) const
    {
        if (gap.size() != program_.rows() || transfer.size() != program_.rows())
            throw ReplayError("gap and transfer do not fit the rows");
        return {gap.data(), transfer.data()};
    }

    Times computed(const Costs &costs) const
    {
        nb::gil_scoped_release released;
        return replay_times(program_, costs, cores());
    }

    Pieces checked_pieces(const Ints &starts, const Ints &tag, const Floats &ns, size_t tags) const
    {
        Pieces pieces{copied(starts), tag.data(), ns.data(), tags};
        const bool fits = !pieces.starts.empty() && pieces.starts.front() == 0 &&
                          std::is_sorted(pieces.starts.begin(), pieces.starts.end()) &&
                          pieces.starts.back() == static_cast<int64_t>(tag.size()) && tag.size() == ns.size() &&
                          std::all_of(tag.data(), tag.data() + tag.size(),
                                      [&](int64_t t) { return t >= 0 && static_cast<size_t>(t) < tags; });
        if (!fits)
            throw ReplayError("the pieces of work do not fit the rows");
        return pieces;
    }

    ReplayProgram program_;
};

void bind_replay(nb::module_ &module)
{
    nb::exception<ReplayError>(module, "ReplayError", PyExc_ValueError);
    nb::class_<Replay>(module, "Replay")
        .def(nb::init<size_t, Ints, Ints, Ints, Ints, Ints, Ints>(), nb::kw_only(), nb::arg("ranks"),
             nb::arg("cut_rows"), nb::arg("hub_starts"), nb::arg("hub_rows"), nb::arg("hub_parent"),
             nb::arg("need_starts"), nb::arg("needs"))
        .def("lengths", &Replay::lengths, nb::arg("gap"), nb::arg("transfer"))
        .def("times", &Replay::times, nb::arg("gap"), nb::arg("transfer"))
        .def("critical_path", &Replay::path, nb::arg("gap"), nb::arg("transfer"))
        .def("delay_cost", &Replay::delays, nb::arg("gap"), nb::arg("transfer"), nb::kw_only(),
             nb::arg("piece_starts"), nb::arg("tag"), nb::arg("ns"), nb::arg("tags"), nb::arg("waits_at_end"));
}

} // namespace perfscope
