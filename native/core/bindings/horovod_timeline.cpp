// HorovodTimeline: fed with the bytes of a file, it gives tables.
#include "arrays.h"
#include "bindings.h"
#include "decoders/horovod_timeline.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

// Texts of a file need not be UTF-8: Python decides what to do with them.
template <class Texts> static nb::list as_bytes(const Texts &texts)
{
    nb::list result;
    for (const std::string &text : texts)
        result.append(nb::bytes(text.data(), text.size()));
    return result;
}

static nb::dict facts(const HorovodTimeline &timeline)
{
    nb::dict result;
    result["events"] = timeline.events;
    result["cycles"] = timeline.cycles;
    result["unmatched_ends"] = timeline.unmatched_ends;
    result["unclosed_begins"] = timeline.unclosed_begins;
    result["ticks_outside"] = timeline.ticks_outside;
    result["backwards"] = timeline.backwards;
    result["first_ns"] = timeline.has_time ? nb::object(nb::int_(timeline.first_ns)) : nb::none();
    result["last_ns"] = timeline.has_time ? nb::object(nb::int_(timeline.last_ns)) : nb::none();
    result["epoch_us"] = timeline.has_epoch ? nb::object(nb::int_(timeline.epoch_us)) : nb::none();
    result["is_terminated"] = timeline.is_terminated;
    result["is_cut"] = timeline.is_cut;
    return result;
}

void bind_horovod_timeline(nb::module_ &module)
{
    nb::class_<HorovodTimeline>(module, "HorovodTimeline", "Decodes a HOROVOD_TIMELINE file from its bytes.")
        .def(nb::init<std::string>(), nb::arg("path"))
        .def(
            "feed",
            [](HorovodTimeline &timeline, nb::bytes block) {
                const char *data = block.c_str();
                const size_t size = block.size();
                nb::gil_scoped_release release;
                timeline.feed(data, size);
            },
            nb::arg("block"))
        .def("finish", &HorovodTimeline::finish, nb::call_guard<nb::gil_scoped_release>())
        .def("facts", &facts)
        .def("ranks", [](const HorovodTimeline &t) { return std::vector<int32_t>(t.ranks.begin(), t.ranks.end()); })
        .def("names", [](const HorovodTimeline &timeline) { return as_bytes(timeline.names.texts()); })
        .def("tensors", [](const HorovodTimeline &timeline) { return as_bytes(timeline.tensors); })
        .def("negotiations", [](HorovodTimeline &t) { return rows_to_numpy(std::move(t.negotiations)); })
        .def("ticks", [](HorovodTimeline &t) { return rows_to_numpy(std::move(t.ticks)); })
        .def("activities", [](HorovodTimeline &t) { return rows_to_numpy(std::move(t.activities)); });
}

} // namespace perfscope
