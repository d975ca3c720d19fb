// The replay for numpy: columns in, columns out.
#include "arrays.h"
#include "bindings.h"
#include "replay/critical_path.h"
#include "replay/delay_cost.h"
#include "replay/row_work.h"
#include "replay/times.h"
#include "small_codes.h"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <thread>
#include <type_traits>

namespace nb = nanobind;

namespace perfscope {

using Ints = Column<int64_t>;
using Small = Column<int32_t>;
using Floats = Column<double>;
using AskedTags = std::tuple<Codes, size_t, std::optional<Small>>; // as Tags
template <class T> using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

static unsigned cores()
{
    return std::max(1u, std::thread::hardware_concurrency());
}

template <class Number> static NumbersOf<Number> numbers(const Column<Number> &column)
{
    return {column.data(), column.size()};
}

// A program over the columns that it was given: they live as long as it does.
class Replay {
public:
    Replay(size_t ranks, Ints cut_rows, Ints hub_starts, Ints hub_rows, Ints hub_parent, Small need_starts,
           Small needs, unsigned threads, bool is_checked, bool keeps_order)
        : columns_{std::move(cut_rows), std::move(hub_starts), std::move(hub_rows), std::move(hub_parent),
                   std::move(need_starts), std::move(needs)},
          threads_(threads ? threads : cores()), program_(make(ranks, is_checked, keeps_order))
    {
    }

    Numpy<double> lengths(const Floats &gap, const Floats &transfer) const
    {
        return to_numpy(computed(gap, transfer, [&](const Costs &costs) {
            return segment_lengths(program_, costs, threads_);
        }));
    }

    Numpy<double> lengths_of_work(const Small &row, const Floats &ns, const Small &fixed_row, const Floats &fixed_ns,
                                  const Floats &transfer) const
    {
        const PiecesOfWork work = pieces_before(row, ns), fixed = pieces_before(fixed_row, fixed_ns);
        if (transfer.size() != program_.rows())
            throw ReplayError("the transfer does not fit the rows");
        std::vector<double> found;
        {
            const nb::gil_scoped_release released;
            found = segment_lengths(program_, work, fixed, transfer.data(), threads_);
        }
        return to_numpy(std::move(found));
    }

    Numpy<double> networks(const Small &row, const Floats &ns, const Small &fixed_row, const Floats &fixed_ns,
                           const Floats &transfer, const Floats &divisors) const
    {
        const PiecesOfWork work = pieces_before(row, ns), fixed = pieces_before(fixed_row, fixed_ns);
        if (transfer.size() != program_.rows())
            throw ReplayError("the transfer does not fit the rows");
        const std::vector<double> asked(divisors.data(), divisors.data() + divisors.size());
        std::vector<double> found;
        {
            const nb::gil_scoped_release released;
            const std::vector<double> gaps = gaps_of(work, fixed, program_.rows());
            found = lengths_of_networks(program_, {gaps.data(), transfer.data()}, asked, threads_);
        }
        return to_numpy(std::move(found));
    }

    std::optional<Numpy<double>> joined(const Small &row, const Floats &ns, const Small &fixed_row,
                                        const Floats &fixed_ns, const Floats &transfer,
                                        const Column<uint8_t> &is_kept) const
    {
        const PiecesOfWork work = pieces_before(row, ns), fixed = pieces_before(fixed_row, fixed_ns);
        if (transfer.size() != program_.rows() || is_kept.size() != program_.segments() + 1 || !is_kept.data()[0] ||
            !is_kept.data()[program_.segments()])
            throw ReplayError("transfer and cuts do not fit the rows");
        std::optional<std::vector<double>> found;
        {
            const nb::gil_scoped_release released;
            found = joined_lengths(program_, work, fixed, transfer.data(), is_kept.data(), threads_);
        }
        return found ? std::optional(to_numpy(std::move(*found))) : std::nullopt;
    }

    Numpy<double> without(const Small &row, const Floats &ns, const Small &fixed_row, const Floats &fixed_ns,
                          const Floats &transfer, const Small &codes_of_rows, const Small &codes) const
    {
        const PiecesOfWork work = pieces_before(row, ns), fixed = pieces_before(fixed_row, fixed_ns);
        if (transfer.size() != program_.rows() || codes_of_rows.size() != program_.rows())
            throw ReplayError("transfer and codes do not fit the rows");
        const std::vector<int32_t> asked(codes.data(), codes.data() + codes.size());
        std::vector<double> found;
        {
            const nb::gil_scoped_release released;
            const std::vector<double> gaps = gaps_of(work, fixed, program_.rows());
            found = lengths_without(program_, {gaps.data(), transfer.data()}, codes_of_rows.data(), asked, threads_);
        }
        return to_numpy(std::move(found));
    }

    std::tuple<Numpy<double>, Numpy<double>, Numpy<int64_t>> times(const Floats &gap, const Floats &transfer) const
    {
        Times result = computed(gap, transfer, [&](const Costs &costs) {
            return replay_times(program_, costs, threads_);
        });
        return {to_numpy(std::move(result.arrival)), to_numpy(std::move(result.need)),
                to_numpy(std::move(result.cause))};
    }

    Numpy<double> last(const Floats &gap, const Floats &transfer, const Small &units, size_t count) const
    {
        const int32_t *const unit = units.data();
        const auto is_known = [&](int32_t one) { return one >= 0 && static_cast<size_t>(one) < count; };
        if (units.size() != program_.rows() || !std::all_of(unit, unit + units.size(), is_known))
            throw ReplayError("the units of time do not fit the rows");
        return to_numpy(computed(gap, transfer, [&](const Costs &costs) {
            return last_arrivals(program_, costs, unit, count, threads_);
        }));
    }

    std::tuple<Numpy<int64_t>, Numpy<int64_t>> path(const Floats &gap, const Floats &transfer) const
    {
        CriticalPath result = computed(gap, transfer, [&](const Costs &costs) {
            return critical_path(program_, costs, threads_);
        });
        return {to_numpy(std::move(result.work_rows)), to_numpy(std::move(result.transfer_rows))};
    }

    nb::list delays(const Floats &gap, const Floats &transfer, const AnyColumn &piece_starts, const Floats &ns,
                    const Column<uint8_t> &waits_at_end, const std::optional<Floats> &waits,
                    const std::vector<AskedTags> &tags, const std::optional<Ints> &edges) const
    {
        const Pieces pieces = checked_pieces(piece_starts, ns);
        const Waiting waiting = checked_waiting(waits_at_end, waits);
        const std::vector<Tags> asked = checked_tags(tags, ns.size());
        std::vector<size_t> parts{0, program_.segments()};
        if (edges)
            parts.assign(edges->data(), edges->data() + edges->size());
        nb::list all;
        for (DelayCost &cost : computed(gap, transfer, [&](const Costs &costs) {
                 return delay_cost(program_, costs, pieces, waiting, asked, parts, threads_);
             }))
            all.append(to_python(std::move(cost)));
        return all;
    }

private:
    struct Columns {
        Ints cut_rows, hub_starts, hub_rows, hub_parent;
        Small need_starts, needs;
    };

    ReplayProgram make(size_t ranks, bool is_checked, bool keeps_order) const
    {
        const nb::gil_scoped_release released;
        ReplayProgram program(ranks, numbers(columns_.cut_rows),
                              {numbers(columns_.hub_starts), numbers(columns_.hub_rows)},
                              numbers(columns_.hub_parent), {numbers(columns_.need_starts), numbers(columns_.needs)});
        if (!keeps_order)
            program.keep_no_order();
        if (is_checked)
            check_order(program, threads_);
        return program;
    }

    template <class Work>
    std::invoke_result_t<Work, const Costs &> computed(const Floats &gap, const Floats &transfer, Work &&work) const
    {
        if (gap.size() != program_.rows() || transfer.size() != program_.rows())
            throw ReplayError("gap and transfer do not fit the rows");
        const Costs costs{gap.data(), transfer.data()};
        const nb::gil_scoped_release released;
        return work(costs);
    }

    // Whether the rows are some of the program is looked at by who adds up what stands before them.
    static PiecesOfWork pieces_before(const Small &row, const Floats &ns)
    {
        if (row.size() != ns.size())
            throw ReplayError("the work does not fit the rows");
        return {row.data(), ns.data(), row.size()};
    }

    Waiting checked_waiting(const Column<uint8_t> &at_end, const std::optional<Floats> &waits) const
    {
        if (waits && waits->size() != program_.rows())
            throw ReplayError("the waits do not fit the rows");
        return {{at_end.data(), at_end.data() + at_end.size()}, waits ? waits->data() : nullptr};
    }

    std::vector<Tags> checked_tags(const std::vector<AskedTags> &asked, size_t pieces) const
    {
        std::vector<Tags> all;
        for (const auto &[tag, count, units] : asked) {
            const bool are_tags = std::visit([most = count](const auto &column) { return are_below(column, most); }, tag);
            if (size_of(tag) != pieces || !are_tags)
                throw ReplayError("the tags do not fit the pieces of work");
            if (units && (units->size() != program_.rows() ||
                          std::any_of(units->data(), units->data() + units->size(), [](int32_t unit) { return unit < 0; })))
                throw ReplayError("the units of time do not fit the rows");
            all.push_back({codes_of(tag), count, units ? units->data() : nullptr});
        }
        return all;
    }

    static nb::dict to_python(DelayCost &&cost)
    {
        nb::dict result;
        result["direct"] = to_numpy(std::move(cost.direct));
        result["indirect"] = to_numpy(std::move(cost.indirect));
        result["unattributed"] = cost.unattributed;
        result["waiting"] = cost.waiting;
        result["waiter"] = to_numpy(std::move(cost.waiter));
        result["cause"] = to_numpy(std::move(cost.cause));
        result["ns"] = to_numpy(std::move(cost.ns));
        result["part_direct"] = to_numpy(std::move(cost.parts.direct));
        result["part_indirect"] = to_numpy(std::move(cost.parts.indirect));
        result["part_cell"] = to_numpy(std::move(cost.parts.cell));
        result["part_cell_direct"] = to_numpy(std::move(cost.parts.cell_direct));
        result["part_cell_indirect"] = to_numpy(std::move(cost.parts.cell_indirect));
        result["charged_unit"] = to_numpy(std::move(cost.charges.unit));
        result["charged_rank"] = to_numpy(std::move(cost.charges.rank));
        result["charged_tag"] = to_numpy(std::move(cost.charges.tag));
        result["charged_ns"] = to_numpy(std::move(cost.charges.ns));
        return result;
    }

    static Pieces checked_pieces(const AnyColumn &starts, const Floats &ns)
    {
        if (!std::visit([&](const auto &column) { return are_starts(column, ns.size()); }, starts))
            throw ReplayError("the pieces of work do not fit the rows");
        return {numbers_of<int64_t>(starts), size_of(starts), ns.data()};
    }

    Columns columns_;
    unsigned threads_;
    ReplayProgram program_;
};

void bind_replay(nb::module_ &module)
{
    nb::exception<ReplayError>(module, "ReplayError", PyExc_ValueError);
    nb::class_<Replay>(module, "Replay")
        .def(nb::init<size_t, Ints, Ints, Ints, Ints, Small, Small, unsigned, bool, bool>(), nb::kw_only(), nb::arg("ranks"),
             nb::arg("cut_rows"), nb::arg("hub_starts"), nb::arg("hub_rows"), nb::arg("hub_parent"),
             nb::arg("need_starts"), nb::arg("needs"), nb::arg("threads") = 0, nb::arg("is_checked") = true,
             nb::arg("keeps_order") = true)
        .def("lengths", &Replay::lengths, nb::arg("gap"), nb::arg("transfer"))
        .def("lengths_of_work", &Replay::lengths_of_work, nb::arg("row"), nb::arg("ns"), nb::arg("fixed_row"),
             nb::arg("fixed_ns"), nb::arg("transfer"))
        .def("lengths_without", &Replay::without, nb::arg("row"), nb::arg("ns"), nb::arg("fixed_row"),
             nb::arg("fixed_ns"), nb::arg("transfer"), nb::arg("codes_of_rows"), nb::arg("codes"))
        .def("lengths_of_networks", &Replay::networks, nb::arg("row"), nb::arg("ns"), nb::arg("fixed_row"),
             nb::arg("fixed_ns"), nb::arg("transfer"), nb::arg("divisors"))
        .def("joined_lengths", &Replay::joined, nb::arg("row"), nb::arg("ns"), nb::arg("fixed_row"),
             nb::arg("fixed_ns"), nb::arg("transfer"), nb::arg("is_kept"))
        .def("times", &Replay::times, nb::arg("gap"), nb::arg("transfer"))
        .def("last_arrivals", &Replay::last, nb::arg("gap"), nb::arg("transfer"), nb::arg("units"), nb::arg("count"))
        .def("critical_path", &Replay::path, nb::arg("gap"), nb::arg("transfer"))
        .def("delay_cost", &Replay::delays, nb::arg("gap"), nb::arg("transfer"), nb::kw_only(),
             nb::arg("piece_starts"), nb::arg("ns"), nb::arg("waits_at_end"), nb::arg("waits").none() = nb::none(),
             nb::arg("tags"), nb::arg("edges").none() = nb::none());
}

} // namespace perfscope
