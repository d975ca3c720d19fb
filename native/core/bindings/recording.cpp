// RecordedCalls: the calls and completions in the records of a process.
#include "arrays.h"
#include "bindings.h"
#include "decoders/recorded_calls.h"

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
    const auto operations = nb::cast<nb::bytes>(told["operations"]);
    rules.operations.assign(operations.c_str(), operations.c_str() + operations.size());
    return rules;
}

static void close(RecordedCalls &calls, int64_t end_ns, int64_t world_size, const nb::dict &communicators)
{
    RecordNumbering numbering{world_size, {}};
    for (const auto &[id, index] : communicators)
        numbering.communicators[nb::cast<uint32_t>(id)] = nb::cast<int32_t>(index);
    const nb::gil_scoped_release unlocked;
    calls.close(end_ns, numbering);
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
    OperationColumns columns = std::move(calls.operations);
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

// Of many ranks with few calls each, numbers as objects of Python took longer than adding up.
static auto totals(const Bytes &bytes, size_t codes)
{
    const auto [rows, count] = rows_in<OperationRow>(bytes);
    return rows_to_numpy(operation_totals(rows, count, codes));
}

static auto totals_of_columns(const Column<int64_t> &t0, const Column<int64_t> &t1,
                                         const Column<int64_t> &sent, const Column<int64_t> &received,
                                         const Column<uint16_t> &op, const Column<uint16_t> &flags, size_t codes)
{
    const size_t count = t0.size();
    if (t1.size() != count || sent.size() != count || received.size() != count || op.size() != count ||
        flags.size() != count)
        throw nb::value_error("the columns are not of one table");
    return rows_to_numpy(
        operation_totals({t0.data(), t1.data(), sent.data(), received.data(), op.data(), flags.data(), count}, codes));
}

void bind_recording(nb::module_ &module)
{
    nb::class_<RecordedCalls>(module, "RecordedCalls", "The calls and completions in the records of a process.")
        .def(
            "__init__",
            [](RecordedCalls *self, const nb::dict &told) { new (self) RecordedCalls(rules_of(told)); },
            nb::arg("rules"))
        .def("expect", &RecordedCalls::expect, nb::arg("calls"), nb::arg("completed"))
        .def(
            "take",
            [](RecordedCalls &calls, const Bytes &bytes) {
                const auto [records, count] = rows_in<RecordedRow>(bytes);
                const nb::gil_scoped_release unlocked;
                return calls.take(records, count);
            },
            nb::arg("records"))
        .def("close", &close, nb::arg("end_ns"), nb::arg("world_size"), nb::arg("communicators"))
        .def("faults", &faults)
        .def("last_ns", [](const RecordedCalls &calls) { return calls.last_ns; })
        .def("last_told_ns", [](const RecordedCalls &calls) { return calls.last_told_ns; })
        .def("operation_count", [](const RecordedCalls &calls) { return calls.operations.size(); })
        .def("operations", [](const RecordedCalls &calls) { return rows_to_numpy(rows_of(calls.operations)); })
        .def("operation_columns", &operation_columns)
        .def("completions", [](RecordedCalls &calls) { return rows_to_numpy(std::move(calls.completions)); })
        .def("others", [](RecordedCalls &calls) { return rows_to_numpy(std::move(calls.others)); })
        .def("possible", [](RecordedCalls &calls) { return to_numpy(std::move(calls.possible)); });
    module.def("operation_totals", &totals, nb::arg("rows"), nb::arg("codes"));
    module.def("operation_totals_of_columns", &totals_of_columns, nb::arg("t0"), nb::arg("t1"), nb::arg("sent"),
               nb::arg("received"), nb::arg("op"), nb::arg("flags"), nb::arg("codes"));
}

} // namespace perfscope
