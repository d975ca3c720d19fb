// ParaverTrace: fed with the bytes of a .prv file, it gives tables and sums.
#include "arrays.h"
#include "bindings.h"
#include "decoders/paraver.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

static nb::dict facts(const ParaverTrace &trace)
{
    nb::dict result;
    result["date"] = nb::bytes(trace.header.date.data(), trace.header.date.size());
    result["duration_ns"] = trace.header.duration_ns;
    result["last_ns"] = trace.last_ns;
    result["reached_ns"] = trace.reached_ns;
    result["tasks"] = trace.header.tasks;
    result["nodes"] = trace.header.nodes;
    result["threads"] = trace.header.threads;
    result["records"] = trace.records;
    result["unknown_records"] = trace.unknown_records;
    result["unmatched_leaves"] = trace.unmatched_leaves;
    result["unclosed_calls"] = trace.unclosed_calls;
    result["backwards"] = trace.backwards;
    result["below_zero"] = trace.below_zero;
    result["open_at_end"] = trace.open_at_end;
    result["disordered"] = trace.disordered;
    result["out_of_turn"] = trace.out_of_turn;
    result["is_cut"] = trace.is_cut;
    return result;
}

static nb::object counted(const ParaverCount &count)
{
    return count.known() ? nb::object(nb::int_(count.sum)) : nb::none();
}

static nb::list locations(const ParaverTrace &trace)
{
    nb::list result;
    for (const ParaverLocation &of : trace.locations) {
        nb::dict row;
        row["rank"] = of.rank;
        row["thread"] = of.thread;
        row["first_ns"] = of.first;
        row["last_ns"] = of.last;
        row["reached_ns"] = of.reached;
        row["created_ns"] = of.created;
        row["mpi_ns"] = of.mpi_ns;
        row["state_ns"] = of.state_ns.all();
        row["instructions"] = counted(of.instructions);
        row["cycles"] = counted(of.cycles);
        row["impossible_counts"] = of.instructions.impossible + of.cycles.impossible;
        result.append(row);
    }
    return result;
}

static nb::list communicators(const ParaverTrace &trace)
{
    nb::list result;
    for (const ParaverCommunicator &of : trace.header.communicators)
        result.append(nb::make_tuple(of.application, of.id, of.ranks));
    return result;
}

void bind_paraver(nb::module_ &module)
{
    nb::class_<ParaverTrace>(module, "ParaverTrace", "Decodes a Paraver .prv file from its bytes.")
        .def(nb::init<std::string>(), nb::arg("path"))
        .def(
            "feed",
            [](ParaverTrace &trace, nb::bytes block) {
                const char *data = block.c_str();
                const size_t size = block.size();
                nb::gil_scoped_release release;
                trace.feed(data, size);
            },
            nb::arg("block"))
        .def("finish", &ParaverTrace::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("facts", &facts)
        .def("communicators", &communicators)
        .def("locations", &locations)
        .def("event_types", [](const ParaverTrace &t) { return t.event_types.all(); })
        .def("counter_types", [](const ParaverTrace &t) { return t.counter_types; })
        .def("calls", [](ParaverTrace &t) { return rows_to_numpy(std::move(t.calls)); })
        .def("messages", [](ParaverTrace &t) { return rows_to_numpy(std::move(t.messages)); })
        .def("counters", [](ParaverTrace &t) { return rows_to_numpy(std::move(t.counters)); })
        .def("file_states", [](ParaverTrace &t) { return rows_to_numpy(std::move(t.file_states)); });
}

} // namespace perfscope
