// KinetoFile as a Python class: fed in blocks or reading by itself, then its tables.
#include "bindings.h"
#include "arrays.h"
#include "decoders/kineto.h"
#include "decoders/kineto_words.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace perfscope {

// Names of a program need not be UTF-8.
static nb::object text(const std::string &bytes)
{
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

static nb::list names(const KinetoFile &file)
{
    nb::list found;
    for (const std::string &name : file.names.texts())
        found.append(text(name));
    return found;
}

static nb::list threads(const KinetoFile &file)
{
    nb::list found;
    for (const KinetoThread &thread : file.threads)
        found.append(nb::make_tuple(text(thread.process), text(thread.thread), text(thread.name), thread.events));
    return found;
}

static nb::list processes(const KinetoFile &file)
{
    nb::list found;
    for (const KinetoProcess &process : file.processes)
        found.append(nb::make_tuple(text(process.number), text(process.name), text(process.labels)));
    return found;
}

static nb::list groups(const KinetoFile &file)
{
    nb::list found;
    const std::vector<std::string> &texts = file.names.texts();
    for (const KinetoGroup &group : file.groups)
        found.append(
            nb::make_tuple(text(texts[group.name]), text(texts[group.ranks]), group.start, group.stride, group.size));
    return found;
}

static nb::dict members(const KinetoFile &file)
{
    nb::dict found;
    for (const auto &[name, value] : file.members)
        found[text(name)] = text(value);
    return found;
}

static nb::dict counts(const KinetoFile &file)
{
    nb::dict found;
    const KinetoCounts &counts = file.counts;
#define COUNT(field) found[#field] = counts.field
    COUNT(events);
    COUNT(empty);
    COUNT(metadata);
    COUNT(flows);
    COUNT(operators);
    COUNT(python_functions);
    COUNT(other);
    COUNT(without_time);
    COUNT(beyond);
    COUNT(damaged);
    COUNT(base_twice);
    COUNT(negative);
    COUNT(unopened);
    COUNT(unclosed);
    COUNT(long_names);
    COUNT(device);
    COUNT(without_launch);
#undef COUNT
    return found;
}

void bind_kineto(nb::module_ &module)
{
    module.def(
        "is_communication", [](const std::string &kernel) { return (traits_of(kernel) & TRAIT_COMMUNICATION) != 0; },
        nb::arg("kernel"));
    nb::class_<KinetoFile>(module, "KinetoFile")
        .def(nb::init<std::string, bool>(), nb::arg("path"), nb::arg("is_in_nanoseconds") = false)
        .def("read", &KinetoFile::read, nb::call_guard<nb::gil_scoped_release>())
        .def(
            "feed",
            [](KinetoFile &file, nb::bytes block) {
                const nb::gil_scoped_release unlocked;
                file.parser().feed(static_cast<const char *>(block.data()), block.size());
            },
            nb::arg("block"))
        .def("finish", &KinetoFile::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("take_device", [](KinetoFile &file) { return rows_to_numpy(std::move(file.device)); })
        .def("take_host", [](KinetoFile &file) { return rows_to_numpy(std::move(file.host)); })
        .def("take_counters", [](KinetoFile &file) { return rows_to_numpy(std::move(file.counters)); })
        .def("take_device_processes", [](KinetoFile &file) { return to_numpy(std::move(file.device_processes)); })
        .def("take_calls", [](KinetoFile &file) { return rows_to_numpy(std::move(file.calls)); })
        .def("take_launches", [](KinetoFile &file) { return rows_to_numpy(std::move(file.launches)); })
        .def("names", &names)
        .def("processes", &processes)
        .def("groups", &groups)
        .def("threads", &threads)
        .def("members", &members)
        .def("counts", &counts)
        .def_prop_ro("extent", [](const KinetoFile &file) { return nb::make_tuple(file.first, file.last); })
        .def_prop_ro("edges",
                     [](const KinetoFile &file) {
                         nb::list found;
                         for (const int64_t moment : file.earliest)
                             found.append(moment);
                         if (file.noted > KinetoFile::SHOWN) // else both are the same
                             for (const int64_t moment : file.latest)
                                 found.append(moment);
                         return found;
                     })
        .def_prop_ro("shortest", [](const KinetoFile &file) { return file.shortest; })
        .def_prop_ro("has_base", [](const KinetoFile &file) { return file.has_base; })
        .def_prop_ro("cut_at", [](KinetoFile &file) {
            return file.parser().is_cut() ? nb::cast(file.parser().cut_at()) : nb::none();
        });
}

} // namespace perfscope
