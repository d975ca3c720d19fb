// XPlaneFile and PerfettoTrace: messages of protocol buffers as columns and as events of Kineto's profiles.
#include "arrays.h"
#include "bindings.h"
#include "decoders/made_events.h"
#include "decoders/perfetto.h"
#include "decoders/xplane.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What a file calls something need not be UTF-8.
static nb::object text(std::string_view bytes)
{
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

template <class Texts> static nb::list texts(const Texts &of)
{
    nb::list found;
    for (const auto &one : of)
        found.append(text(one));
    return found;
}

template <class File> static void feed(File &file, const nb::bytes &block)
{
    const nb::gil_scoped_release unlocked;
    file.feed(static_cast<const char *>(block.data()), block.size());
}

static nb::list planes(const XPlaneFile &file)
{
    nb::list found;
    for (const XPlane &plane : file.planes) {
        nb::list lines;
        for (const XLine &line : plane.lines)
            lines.append(text(line.name));
        found.append(nb::make_tuple(text(plane.name), lines, texts(plane.names), plane.devices));
    }
    return found;
}

static nb::object told(const XPlaneFile &file, size_t plane, const std::string &name)
{
    uint64_t value = 0;
    return file.told(plane, name, value) ? nb::object(nb::int_(value)) : nb::none();
}

static nb::object optional(const std::optional<uint64_t> &number)
{
    return number ? nb::object(nb::int_(*number)) : nb::none();
}

static nb::list tracks(const PerfettoTrace &trace)
{
    nb::list found;
    for (const PerfettoTrack &track : trace.tracks)
        found.append(nb::make_tuple(track.uuid, text(track.name), optional(track.parent), optional(track.pid),
                                    optional(track.tid), text(track.process_name), texts(track.labels),
                                    track.unit ? text(*track.unit) : nb::none()));
    return found;
}

static nb::list kinds(const PerfettoTrace &trace)
{
    nb::list found;
    for (const auto &[category, name] : trace.kinds)
        found.append(nb::make_tuple(text(category), text(name)));
    return found;
}

static PerfettoMeaning meaning_of(nb::handle told)
{
    PerfettoMeaning meaning;
    meaning.category = nb::cast<std::string>(told[0]);
    for (const auto &[name, value] : nb::cast<nb::dict>(told[1]))
        meaning.fixed.emplace_back(nb::cast<std::string>(name), nb::cast<int64_t>(value));
    for (const auto &[name, fact] : nb::cast<nb::dict>(told[2]))
        meaning.renamed.emplace_back(nb::cast<std::string>(name), nb::cast<std::string>(fact));
    return meaning;
}

static void into(const PerfettoTrace &trace, KinetoFile &file, const nb::list &places, const nb::list &meanings)
{
    std::vector<PerfettoPlace> of_tracks;
    for (const nb::handle place : places) {
        const auto word = [&](int at) { return nb::cast<std::string>(place[at]); };
        of_tracks.push_back({word(0), word(1), word(2), word(3)});
    }
    std::vector<PerfettoMeaning> of_kinds;
    for (const nb::handle meaning : meanings)
        of_kinds.push_back(meaning_of(meaning));
    const nb::gil_scoped_release unlocked;
    trace.into(file, of_tracks, of_kinds);
}

static void take_rows(KinetoFile &file, const Bytes &bytes, const std::vector<std::string> &names,
                      const std::vector<std::string> &categories, const std::string &process)
{
    if (bytes.size() % sizeof(MadeRow))
        throw nb::value_error("these bytes are no rows of the table");
    const auto *rows = reinterpret_cast<const MadeRow *>(bytes.data());
    const size_t count = bytes.size() / sizeof(MadeRow);
    const nb::gil_scoped_release unlocked;
    take_made(file, rows, count, names, categories, process);
}

void bind_protobuf(nb::module_ &module)
{
    nb::class_<XPlaneFile>(module, "XPlaneFile", "An XSpace of protocol buffers: planes, lines and events.")
        .def(nb::init<std::string, uint64_t>(), nb::arg("path"), nb::arg("most_entries"))
        .def("feed", &feed<XPlaneFile>, nb::arg("block"))
        .def("finish", &XPlaneFile::finish, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("is_full", &XPlaneFile::is_full)
        .def_prop_ro("without_time", [](const XPlaneFile &file) { return file.without_time; })
        .def("hosts", [](const XPlaneFile &file) { return texts(file.hosts); })
        .def("planes", &planes)
        .def("program_devices", &XPlaneFile::program_devices, nb::call_guard<nb::gil_scoped_release>())
        .def("told", &told, nb::arg("plane"), nb::arg("name"))
        .def(
            "events",
            [](XPlaneFile &file, size_t plane, size_t line) {
                std::vector<XEventRow> rows;
                {
                    const nb::gil_scoped_release unlocked;
                    rows = file.events(plane, line);
                }
                return rows_to_numpy(std::move(rows));
            },
            nb::arg("plane"), nb::arg("line"));
    nb::class_<PerfettoTrace>(module, "PerfettoTrace", "The track events of a trace of Perfetto.")
        .def(nb::init<std::string, std::string, uint64_t>(), nb::arg("path"), nb::arg("facts_name"),
             nb::arg("most_entries"))
        .def("feed", &feed<PerfettoTrace>, nb::arg("block"))
        .def("finish", &PerfettoTrace::finish, nb::call_guard<nb::gil_scoped_release>())
        .def_prop_ro("is_full", &PerfettoTrace::is_full)
        .def("tracks", &tracks)
        .def("used", [](const PerfettoTrace &trace) { return trace.used; })
        .def("kinds", &kinds)
        .def("facts", [](const PerfettoTrace &trace) { return text(trace.facts); })
        .def("into", &into, nb::arg("file"), nb::arg("places"), nb::arg("meanings"));
    module.def("take_rows", &take_rows, nb::arg("file"), nb::arg("rows"), nb::arg("names"), nb::arg("categories"),
               nb::arg("process"));
}

} // namespace perfscope
