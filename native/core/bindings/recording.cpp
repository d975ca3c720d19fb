// RecordedCalls: the calls and completions in the records of a process.
#include "arrays.h"
#include "bindings.h"
#include "sources/recorded_calls.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

static RecordRules rules_of(const nb::dict &told)
{
    RecordRules rules;
    rules.first_ns = nb::cast<uint64_t>(told["first_ns"]);
    rules.bound_ns = nb::cast<uint64_t>(told["bound_ns"]);
    rules.amounts_below = nb::cast<uint64_t>(told["amounts_below"]);
    rules.last_kind = nb::cast<uint16_t>(told["last_kind"]);
    rules.world_size = nb::cast<int64_t>(told["world_size"]);
    const auto operations = nb::cast<nb::bytes>(told["operations"]);
    rules.operations.assign(operations.c_str(), operations.c_str() + operations.size());
    for (const auto &[id, index] : nb::cast<nb::dict>(told["communicators"]))
        rules.communicators[nb::cast<uint32_t>(id)] = nb::cast<int32_t>(index);
    return rules;
}

template <class Row> static std::pair<const Row *, size_t> rows_in(const Bytes &bytes)
{
    if (bytes.size() % sizeof(Row))
        throw nb::value_error("these bytes are no rows of the table");
    return {reinterpret_cast<const Row *>(bytes.data()), bytes.size() / sizeof(Row)};
}

static nb::dict faults(const RecordedCalls &calls)
{
    const auto of = [&](RecordFault fault) { return calls.faults[static_cast<size_t>(fault)]; };
    nb::dict found;
    found["UNFINISHED"] = of(RecordFault::UNFINISHED);
    found["UNKNOWN_KIND"] = of(RecordFault::UNKNOWN_KIND);
    found["IMPOSSIBLE_TIME"] = of(RecordFault::IMPOSSIBLE_TIME);
    found["IMPOSSIBLE_AMOUNT"] = of(RecordFault::IMPOSSIBLE_AMOUNT);
    found["UNKNOWN_OPERATION"] = of(RecordFault::UNKNOWN_OPERATION);
    found["COMPLETES_NOTHING"] = of(RecordFault::COMPLETES_NOTHING);
    found["OVERLAPS"] = of(RecordFault::OVERLAPS);
    found["UNKNOWN_COMMUNICATOR"] = of(RecordFault::UNKNOWN_COMMUNICATOR);
    found["UNKNOWN_PEER"] = of(RecordFault::UNKNOWN_PEER);
    return found;
}

static nb::dict operation_columns(RecordedCalls &calls)
{
    OperationColumns columns;
    {
        const nb::gil_scoped_release unlocked;
        const std::vector<OperationRow> rows = std::move(calls.operations);
        columns = columns_of(rows);
    }
    nb::dict found;
    found["t0"] = to_numpy(std::move(columns.t0));
    found["t1"] = to_numpy(std::move(columns.t1));
    found["op"] = to_numpy(std::move(columns.op));
    found["flags"] = to_numpy(std::move(columns.flags));
    found["tid"] = to_numpy(std::move(columns.tid));
    found["comm"] = to_numpy(std::move(columns.comm));
    found["seq"] = to_numpy(std::move(columns.seq));
    found["peer"] = to_numpy(std::move(columns.peer));
    found["tag"] = to_numpy(std::move(columns.tag));
    found["sent"] = to_numpy(std::move(columns.sent));
    found["received"] = to_numpy(std::move(columns.received));
    found["request"] = to_numpy(std::move(columns.request));
    return found;
}

static OperationTotals totals(const Bytes &bytes, size_t codes)
{
    const auto [rows, count] = rows_in<OperationRow>(bytes);
    const nb::gil_scoped_release unlocked;
    return operation_totals(rows, count, codes);
}

static OperationTotals totals_of_columns(const Column<int64_t> &t0, const Column<int64_t> &t1,
                                         const Column<int64_t> &sent, const Column<int64_t> &received,
                                         const Column<uint16_t> &op, const Column<uint16_t> &flags, size_t codes)
{
    const size_t count = t0.size();
    if (t1.size() != count || sent.size() != count || received.size() != count || op.size() != count ||
        flags.size() != count)
        throw nb::value_error("the columns are not of one table");
    const nb::gil_scoped_release unlocked;
    return operation_totals({t0.data(), t1.data(), sent.data(), received.data(), op.data(), flags.data(), count}, codes);
}

void bind_recording(nb::module_ &module)
{
    nb::class_<RecordedCalls>(module, "RecordedCalls", "The calls and completions in the records of a process.")
        .def(
            "__init__",
            [](RecordedCalls *self, const Bytes &bytes, const nb::dict &told) {
                const auto [records, count] = rows_in<RecordedRow>(bytes);
                RecordRules rules = rules_of(told);
                const nb::gil_scoped_release unlocked;
                new (self) RecordedCalls(records, count, std::move(rules));
            },
            nb::arg("records"), nb::arg("rules"))
        .def("close", &RecordedCalls::close, nb::arg("end_ns"), nb::call_guard<nb::gil_scoped_release>())
        .def("faults", &faults)
        .def("last_ns", [](const RecordedCalls &calls) { return calls.last_ns; })
        .def("operations", [](RecordedCalls &c) { return rows_to_numpy(std::move(c.operations)); })
        .def("operation_count", [](const RecordedCalls &calls) { return calls.operations.size(); })
        .def("operation_columns", &operation_columns)
        .def("completions", [](RecordedCalls &c) { return rows_to_numpy(std::move(c.completions)); })
        .def("others", [](RecordedCalls &c) { return to_numpy(std::move(c.others)); });
    module.def("operation_totals", &totals, nb::arg("rows"), nb::arg("codes"));
    module.def("operation_totals_of_columns", &totals_of_columns, nb::arg("t0"), nb::arg("t1"), nb::arg("sent"),
               nb::arg("received"), nb::arg("op"), nb::arg("flags"), nb::arg("codes"));
}

} // namespace perfscope
