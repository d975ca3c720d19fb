// The work of a program for numpy: columns in, columns out.
#include "arrays.h"
#include "bindings.h"
#include "replay/row_work.h"
#include "small_codes.h"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <optional>

namespace nb = nanobind;

namespace perfscope {

namespace {

using Floats = Column<double>;
using Small = Column<int32_t>;
using Bytes = Column<uint8_t>;
using Rows = Column<int64_t>;

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("the work does not fit the rows");
}

// Whether the numbers in the columns are places of rows, segments and ranks is looked at by who uses them.
PiecesOfWork pieces_of(const Small &row, const Floats &ns)
{
    check(row.size() == ns.size());
    return {row.data(), ns.data(), row.size()};
}

// That cuts ascend is not looked at: a row is found in some cell where they do not.
CellFinder cells_of(const Rows &cuts, size_t ranks)
{
    check(ranks && cuts.size() % ranks == 0 && cuts.size() >= 2 * ranks);
    return CellFinder({cuts.data(), cuts.size()}, ranks);
}

auto gaps(const Small &row, const Floats &ns, const Small &fixed_row, const Floats &fixed_ns, size_t rows)
{
    const PiecesOfWork work = pieces_of(row, ns), fixed = pieces_of(fixed_row, fixed_ns);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = gaps_of(work, fixed, rows);
    }
    return to_numpy(std::move(found));
}

Choice choice_of(const Small &row, const Bytes &account, const Codes &phases, const Bytes &ranks,
                 const Bytes &accounts, int64_t phase)
{
    check(row.size() == account.size() && size_of(phases) <= row.size() && are_below(account, accounts.size()));
    return {ranks.data(), accounts.data(), account.data(), codes_of(phases), size_of(phases), phase};
}

auto chosen(const Small &row, const Bytes &account, const Codes &rank, const Codes &phases, const Bytes &ranks,
            const Bytes &accounts, int64_t phase)
{
    const Choice choice = choice_of(row, account, phases, ranks, accounts, phase);
    const PiecesOfWork work{row.data(), nullptr, row.size()};
    const RowPlaces places{codes_of(rank), size_of(rank), ranks.size()};
    std::vector<uint8_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = chosen_pieces(work, places, choice);
    }
    return to_numpy(std::move(found));
}

auto chosen_times(const Small &row, const Bytes &account, const Codes &rank, const Codes &phases, const Bytes &ranks,
                  const Bytes &accounts, int64_t phase, const Floats &ns, double factor)
{
    const Choice choice = choice_of(row, account, phases, ranks, accounts, phase);
    check(row.size() == ns.size());
    const RowPlaces places{codes_of(rank), size_of(rank), ranks.size()};
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = scaled({row.data(), ns.data(), row.size()}, places, choice, factor);
    }
    return to_numpy(std::move(found));
}

auto by_cell(const Small &row, const Floats &ns, const Bytes &choice, const Rows &cuts, size_t ranks)
{
    const CellFinder cells = cells_of(cuts, ranks);
    const PiecesOfWork work = pieces_of(row, ns);
    check(choice.size() == work.size);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = work_by_cell(work, choice.data(), cells);
    }
    return to_numpy(std::move(found));
}

auto by_rank(const Small &row, const Floats &ns, const Codes &rank, size_t ranks)
{
    const PiecesOfWork work = pieces_of(row, ns);
    const RowPlaces places{codes_of(rank), size_of(rank), ranks};
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = work_by_rank(work, places);
    }
    return to_numpy(std::move(found));
}

auto scaled_to(const Small &row, const Floats &ns, const Bytes &choice, const Rows &cuts, size_t ranks,
               const Floats &totals, const Floats &targets)
{
    const CellFinder cells = cells_of(cuts, ranks);
    const PiecesOfWork work = pieces_of(row, ns);
    check(choice.size() == work.size && totals.size() == cells.cells() && targets.size() == cells.cells());
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = rescaled(work, choice.data(), cells, totals.data(), targets.data());
    }
    return to_numpy(std::move(found));
}

SomeRows some_of(const Rows &rows, size_t all)
{
    check(are_below(rows, all) && all <= INT32_MAX);
    return {rows.data(), rows.size(), all};
}

auto before(const Small &row, const Floats &ns, const Rows &rows, size_t all_rows)
{
    const PiecesOfWork work = pieces_of(row, ns);
    const SomeRows some = some_of(rows, all_rows);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = work_before(work, some);
    }
    return to_numpy(std::move(found));
}

auto before_times(const Small &row, const Floats &ns, const Rows &rows, const Floats &factor, size_t all_rows)
{
    const PiecesOfWork work = pieces_of(row, ns);
    const SomeRows some = some_of(rows, all_rows);
    check(factor.size() == some.size);
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = times_before(work, some, factor.data());
    }
    return to_numpy(std::move(found));
}

auto by_unit(const Floats &gap, const Floats &transfer, const Small &unit, const Codes &rank, size_t units,
             size_t ranks)
{
    const size_t rows = size_of(rank);
    check(gap.size() == rows && transfer.size() == rows && unit.size() == rows);
    const RowPlaces places{codes_of(rank), size_of(rank), ranks};
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = sums_by_unit(gap.data(), transfer.data(), unit.data(), places, units);
    }
    return to_numpy(std::move(found));
}

auto by_key(const Floats &values, const Rows &rows, const Codes &keys, size_t count, const std::optional<Rows> &of_key)
{
    const auto fits = [&](int32_t key) { return key < 0 || static_cast<size_t>(key) < (of_key ? of_key->size() : count); };
    const auto fit = [&](const auto &held) { return std::all_of(held.data(), held.data() + held.size(), fits); };
    check(values.size() == rows.size() && are_below(rows, size_of(keys)) && (!of_key || are_below(*of_key, count)) &&
          std::visit(fit, keys));
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = sums_by_key(values.data(), rows.data(), rows.size(), codes_of(keys), of_key ? of_key->data() : nullptr, count);
    }
    return to_numpy(std::move(found));
}

auto by_phase(const Small &row, const Floats &ns, const Codes &phases, const Rows &rows, size_t all_rows,
              size_t phase_count)
{
    const PiecesOfWork work = pieces_of(row, ns);
    check(are_below(row, all_rows));
    const auto fits = [&](int32_t phase) { return phase < 0 || static_cast<size_t>(phase) < phase_count; };
    const auto fit = [&](const auto &column) {
        return std::all_of(column.data(), column.data() + column.size(), fits);
    };
    check(size_of(phases) == work.size && are_below(rows, all_rows) && std::visit(fit, phases));
    std::vector<double> found;
    {
        const nb::gil_scoped_release unlocked;
        found = work_by_phase(work, codes_of(phases), rows.data(), rows.size(), all_rows, phase_count);
    }
    return to_numpy(std::move(found));
}

} // namespace

void bind_row_work(nb::module_ &module)
{
    module.def("gaps", &gaps, nb::arg("row"), nb::arg("ns"), nb::arg("fixed_row"), nb::arg("fixed_ns"), nb::arg("rows"));
    module.def("chosen_pieces", &chosen, nb::arg("row"), nb::arg("account"), nb::arg("rank"), nb::arg("phases"),
               nb::kw_only(), nb::arg("ranks"), nb::arg("accounts"), nb::arg("phase"));
    module.def("scaled", &chosen_times, nb::arg("row"), nb::arg("account"), nb::arg("rank"), nb::arg("phases"),
               nb::kw_only(), nb::arg("ranks"), nb::arg("accounts"), nb::arg("phase"), nb::arg("ns"),
               nb::arg("factor"));
    module.def("work_by_cell", &by_cell, nb::arg("row"), nb::arg("ns"), nb::arg("chosen"), nb::arg("cuts"),
               nb::kw_only(), nb::arg("ranks"));
    module.def("work_by_rank", &by_rank, nb::arg("row"), nb::arg("ns"), nb::arg("rank"), nb::kw_only(),
               nb::arg("ranks"));
    module.def("rescaled", &scaled_to, nb::arg("row"), nb::arg("ns"), nb::arg("chosen"), nb::arg("cuts"),
               nb::kw_only(), nb::arg("ranks"), nb::arg("totals"), nb::arg("targets"));
    module.def("work_before", &before, nb::arg("row"), nb::arg("ns"), nb::arg("rows"), nb::arg("all_rows"));
    module.def("times_before", &before_times, nb::arg("row"), nb::arg("ns"), nb::arg("rows"), nb::arg("factor"),
               nb::arg("all_rows"));
    module.def("sums_by_unit", &by_unit, nb::arg("gap"), nb::arg("transfer"), nb::arg("unit"), nb::arg("rank"),
               nb::arg("units"), nb::arg("ranks"));
    module.def("sums_by_key", &by_key, nb::arg("values"), nb::arg("rows"), nb::arg("keys"), nb::arg("count"),
               nb::arg("of_key") = nb::none());
    module.def("work_by_phase", &by_phase, nb::arg("row"), nb::arg("ns"), nb::arg("phases"), nb::arg("rows"),
               nb::arg("all_rows"), nb::arg("phase_count"));
}

} // namespace perfscope
