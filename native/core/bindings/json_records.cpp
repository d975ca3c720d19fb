// RocprofJson and InspectorLog: records of JSON files as columns.
#include "arrays.h"
#include "bindings.h"
#include "decoders/inspector.h"
#include "decoders/rocprof_json.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

static nb::object text(const std::string &bytes)
{
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

static nb::list texts(const std::vector<std::string> &of)
{
    nb::list found;
    for (const std::string &one : of)
        found.append(text(one));
    return found;
}

template <class File> static void feed(File &file, const nb::bytes &block)
{
    const nb::gil_scoped_release unlocked;
    file.feed(static_cast<const char *>(block.data()), block.size());
}

static nb::list groups(const InspectorLog &log)
{
    nb::list found;
    for (const InspectorGroup &group : log.groups)
        found.append(nb::make_tuple(text(group.id), text(group.name), group.ranks));
    return found;
}

static nb::list processes(RocprofJson &file)
{
    nb::list found;
    for (RocprofProcess &process : file.processes) {
        nb::dict members;
        for (const auto &[name, value] : process.members)
            members[text(name)] = text(value);
        found.append(nb::make_tuple(members, rows_to_numpy(std::move(process.rows)), process.without_time));
    }
    return found;
}

void bind_json_records(nb::module_ &module)
{
    nb::class_<InspectorLog>(module, "InspectorLog", "Lines of NCCL's inspector as columns.")
        .def(nb::init<std::string, uint64_t>(), nb::arg("path"), nb::arg("most_records"))
        .def("feed", &feed<InspectorLog>, nb::arg("block"))
        .def("finish", &InspectorLog::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("records", [](InspectorLog &log) { return rows_to_numpy(std::move(log.rows)); })
        .def("groups", &groups)
        .def("names", [](const InspectorLog &log) { return texts(log.names); })
        .def("sources", [](const InspectorLog &log) { return texts(log.sources); })
        .def_prop_ro("odd", [](const InspectorLog &log) { return log.odd; })
        .def_prop_ro("dropped", &InspectorLog::dropped)
        .def_prop_ro("beside", [](const InspectorLog &log) { return log.beside; })
        .def_prop_ro("is_full", [](const InspectorLog &log) { return log.is_full; });
    nb::class_<RocprofJson>(module, "RocprofJson", "The JSON of rocprofv3, its records as rows.")
        .def(nb::init<std::string, std::string, std::vector<std::string>, std::vector<std::string>, uint64_t>(),
             nb::arg("path"), nb::arg("key"), nb::arg("lists"), nb::arg("kept"), nb::arg("most_rows"))
        .def("feed", &feed<RocprofJson>, nb::arg("block"))
        .def("finish", &RocprofJson::finish, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("is_full", &RocprofJson::is_full)
        .def("processes", &processes);
}

} // namespace perfscope
