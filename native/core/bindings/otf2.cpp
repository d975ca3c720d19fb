// OTF2 archives: Otf2Archive in Python.
#include "../decoders/otf2_columns.h"
#include "../decoders/otf2_reduce.h"
#include "arrays.h"
#include "bindings.h"

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace perfscope {

using namespace otf2;

// Texts of a trace are UTF-8 where all is well; what is not is shown as U+FFFD.
static nb::object text(const std::string &bytes)
{
    return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

class PyArchive {
public:
    explicit PyArchive(const nb::bytes &name)
    {
        const std::string path(name.c_str(), name.size());
        const nb::gil_scoped_release free;
        archive_ = open_archive(path);
        comms_ = build_comms(archive_.definitions);
    }

    nb::dict anchor() const;
    nb::dict clock() const;
    nb::list locations() const;
    nb::list location_groups() const;
    nb::list system_nodes() const;
    nb::list regions() const;
    nb::list metric_members() const;
    nb::list communicators() const;
    nb::dict definition_counts() const;
    auto world() const { return to_numpy(std::vector<uint64_t>(comms_.world)); }
    nb::dict events(size_t index, bool apply_mappings, bool apply_clock) const;
    nb::dict reduce(nb::bytes roles, uint64_t rows, uint64_t phases, uint64_t counter_samples, unsigned threads) const;

private:
    nb::object name(uint32_t reference) const { return text(archive_.definitions.text(reference)); }

    Archive archive_;
    Comms comms_;
};

nb::dict PyArchive::anchor() const
{
    const Anchor &anchor = archive_.anchor;
    nb::dict properties, result;
    for (const auto &[key, value] : anchor.properties)
        properties[text(key)] = text(value);
    result["version"] = nb::make_tuple(anchor.version[0], anchor.version[1], anchor.version[2]);
    result["machine"] = text(anchor.machine);
    result["creator"] = text(anchor.creator);
    result["description"] = text(anchor.description);
    result["properties"] = properties;
    result["definitions"] = anchor.definitions;
    return result;
}

nb::dict PyArchive::clock() const
{
    const Clock &clock = archive_.definitions.clock;
    nb::dict result;
    result["resolution"] = clock.resolution;
    result["offset"] = clock.offset;
    result["length"] = clock.length;
    result["realtime_ns"] = clock.realtime_ns == UNDEFINED_64 ? nb::none() : nb::cast(clock.realtime_ns);
    return result;
}

nb::list PyArchive::locations() const
{
    nb::list rows;
    for (const Location &row : archive_.definitions.locations)
        rows.append(nb::make_tuple(row.id, name(row.name), row.type, row.events, row.group));
    return rows;
}

nb::list PyArchive::location_groups() const
{
    nb::list rows;
    for (const LocationGroup &row : archive_.definitions.location_groups)
        rows.append(nb::make_tuple(row.id, name(row.name), row.type, row.system_parent, row.creator));
    return rows;
}

nb::list PyArchive::system_nodes() const
{
    nb::list rows;
    for (const SystemNode &row : archive_.definitions.system_nodes)
        rows.append(nb::make_tuple(row.id, name(row.name), name(row.class_name), row.parent));
    return rows;
}

nb::list PyArchive::regions() const
{
    nb::list rows;
    for (const Region &row : archive_.definitions.regions)
        rows.append(nb::make_tuple(row.id, name(row.name), name(row.canonical_name), name(row.file), row.line, row.role,
                                   row.paradigm));
    return rows;
}

nb::list PyArchive::metric_members() const
{
    nb::list rows;
    for (const MetricMember &row : archive_.definitions.metric_members)
        rows.append(nb::make_tuple(row.id, name(row.name), name(row.unit), row.mode, row.value_type, row.base,
                                   row.exponent));
    return rows;
}

nb::list PyArchive::communicators() const
{
    nb::list rows;
    for (const NamedComm &row : comms_.list)
        rows.append(nb::make_tuple(row.id, row.parent, to_numpy(std::vector<int32_t>(row.members))));
    return rows;
}

nb::dict PyArchive::definition_counts() const
{
    nb::dict result;
    for (const auto &[type, count] : archive_.definitions.counts)
        result[nb::cast(type)] = count;
    return result;
}

nb::dict PyArchive::events(size_t index, bool apply_mappings, bool apply_clock) const
{
    if (index >= archive_.definitions.locations.size())
        throw nb::index_error("no such location");
    EventColumns found;
    {
        const nb::gil_scoped_release free;
        found = decode_events(archive_, index, apply_mappings, apply_clock);
    }
    nb::dict result;
    result["types"] = to_numpy(std::move(found.types));
    result["times"] = to_numpy(std::move(found.times));
    result["starts"] = to_numpy(std::move(found.starts));
    result["values"] = to_numpy(std::move(found.values));
    result["attribute_starts"] = to_numpy(std::move(found.attribute_starts));
    result["attributes"] = to_numpy(std::move(found.attributes));
    result["unknown"] = found.counts.unknown;
    return result;
}

static nb::dict summary(const LocationResult &row)
{
    nb::dict result;
    result["events"] = row.counts.events;
    result["unknown"] = row.counts.unknown;
    result["backwards"] = row.counts.backwards;
    result["first"] = row.counts.first;
    result["last"] = row.counts.last;
    result["mpi_ticks"] = row.mpi_ticks;
    result["mpi_calls"] = row.mpi_calls;
    result["messages_sent"] = row.messages_sent;
    result["messages_received"] = row.messages_received;
    result["bytes_sent"] = row.bytes_sent;
    result["bytes_received"] = row.bytes_received;
    result["stray_leaves"] = row.stray_leaves;
    result["left_open"] = row.left_open;
    result["stray_messages"] = row.stray_messages;
    result["unstarted_requests"] = row.unstarted_requests;
    result["undefined_regions"] = row.undefined_regions;
    result["counters_thinned"] = row.counters_thinned;
    result["clock_measurements"] = row.clock_measurements;
    return result;
}

nb::dict PyArchive::reduce(nb::bytes role_bytes, uint64_t rows, uint64_t phases, uint64_t counter_samples,
                           unsigned threads) const
{
    std::vector<RegionRole> roles(archive_.definitions.regions.size());
    static_assert(sizeof(RegionRole) == 8, "Python packs the roles of regions");
    if (role_bytes.size() != roles.size() * sizeof(RegionRole))
        throw nb::value_error("one role for each region is needed");
    std::memcpy(static_cast<void *>(roles.data()), role_bytes.c_str(), role_bytes.size());
    Reduction found;
    {
        const nb::gil_scoped_release free;
        found = otf2::reduce(archive_, comms_, roles, {rows, phases, counter_samples, 0}, threads);
    }
    nb::list locations;
    std::vector<uint64_t> by_type(EVENT_TYPES);
    for (LocationResult &row : found.locations) {
        nb::dict entry = summary(row);
        nb::list program;
        for (const uint32_t reference : row.program)
            program.append(name(reference));
        entry["program"] = program;
        entry["exit_status"] = row.has_exit_status && row.exit_status != INT64_MIN ? nb::cast(row.exit_status) : nb::none();
        for (size_t type = 0; type < row.by_type.size(); type++)
            by_type[type] += row.by_type[type];
        entry["profile"] = rows_to_numpy(std::move(row.profile));
        entry["operations"] = rows_to_numpy(std::move(row.operations));
        entry["completions"] = rows_to_numpy(std::move(row.completions));
        entry["phases"] = rows_to_numpy(std::move(row.phases));
        entry["steps"] = rows_to_numpy(std::move(row.steps));
        entry["devices"] = rows_to_numpy(std::move(row.devices));
        entry["counters"] = rows_to_numpy(std::move(row.counters));
        locations.append(entry);
    }
    nb::dict result;
    result["locations"] = locations;
    result["by_type"] = to_numpy(std::move(by_type));
    result["rows_dropped"] = found.rows_dropped;
    result["phases_dropped"] = found.phases_dropped;
    return result;
}

void bind_otf2(nb::module_ &module)
{
    nb::class_<PyArchive>(module, "Otf2Archive")
        .def(nb::init<const nb::bytes &>(), nb::arg("path"))
        .def("anchor", &PyArchive::anchor)
        .def("clock", &PyArchive::clock)
        .def("locations", &PyArchive::locations)
        .def("location_groups", &PyArchive::location_groups)
        .def("system_nodes", &PyArchive::system_nodes)
        .def("regions", &PyArchive::regions)
        .def("metric_members", &PyArchive::metric_members)
        .def("communicators", &PyArchive::communicators)
        .def("definition_counts", &PyArchive::definition_counts)
        .def("world", &PyArchive::world)
        .def("events", &PyArchive::events, nb::arg("location"), nb::arg("apply_mappings") = true,
             nb::arg("apply_clock") = true)
        .def("reduce", &PyArchive::reduce, nb::arg("roles"), nb::arg("rows"), nb::arg("phases"),
             nb::arg("counter_samples"), nb::arg("threads"));
}

} // namespace perfscope
