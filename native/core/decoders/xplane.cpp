#include "xplane.h"

#include "error.h"
#include "xla_instructions.h"

#include <algorithm>

namespace perfscope {

using proto::Field;
using proto::Fields;
using proto::Malformed;

namespace {

enum SpaceField : uint64_t { PLANES = 1, HOSTS = 4 };
enum PlaneField : uint64_t { PLANE_NAME = 2, LINES = 3, EVENT_NAMES = 4, STAT_NAMES = 5, PLANE_STATS = 6 };
enum LineField : uint64_t { LINE_NAME = 2, TIMESTAMP = 3, EVENTS = 4, SHOWN_NAME = 11 };
enum EventField : uint64_t { METADATA = 1, OFFSET = 2, DURATION = 3, EVENT_STATS = 4 };

enum MetadataField : uint64_t { VALUE = 2, METADATA_STATS = 5 };
enum StatField : uint64_t { STAT_NAME = 1, STAT_BYTES = 6 };
// xla/service/hlo.proto and xla/xla_data.proto
enum HloField : uint64_t { HLO_MODULE = 1, DEVICE_ASSIGNMENT = 15, REPLICAS = 1, COMPUTATIONS = 2 };

constexpr std::string_view OF_PROGRAMS = "/host:metadata";
constexpr int64_t PS_PER_NS = 1000;

// Key and name of an entry of a map of metadata: the name that is shown, where it has one, and of a copy the way. `most`
// becomes the number of devices that the collective of that name is among, where that is more.
std::pair<uint64_t, std::string> named(std::string_view entry, uint64_t *most = nullptr)
{
    uint64_t key = 0;
    std::string_view name, way;
    Field field;
    for (Fields fields(entry); fields.next(field);) {
        if (field.is_number(1)) {
            key = field.value;
        } else if (field.is_part(2)) {
            std::string_view plain, shown;
            Field inner;
            for (Fields inside(field.held); inside.next(inner);) {
                if (inner.is_part(2))
                    plain = inner.held;
                else if (inner.is_part(4))
                    shown = inner.held;
            }
            name = shown.empty() ? plain : shown;
            if (most) {
                *most = std::max(*most, devices_among(plain));
                way = way_of_copy(plain);
            }
        }
    }
    return {key, std::string(name).append(way)};
}

// The last part of a number in a message; empty where it has none.
std::string_view part_of(std::string_view message, uint64_t number)
{
    std::string_view found;
    Field field;
    for (Fields fields(message); fields.next(field);)
        if (field.is_part(number))
            found = field.held;
    return found;
}

// How many devices a program is compiled for, by its HloProto: replicas times partitions. 0 where it does not say so.
uint64_t devices_of(std::string_view hlo)
{
    const std::string_view assignment = part_of(part_of(hlo, HLO_MODULE), DEVICE_ASSIGNMENT);
    uint64_t replicas = 0, computations = 0;
    Field field;
    for (Fields fields(assignment); fields.next(field);) {
        if (field.is_number(REPLICAS))
            replicas = field.value;
        else if (field.is_number(COMPUTATIONS))
            computations = field.value;
    }
    const bool can_be = replicas <= MOST_DEVICES && computations <= MOST_DEVICES;
    const uint64_t found = can_be ? replicas * computations : 0;
    return found <= MOST_DEVICES ? found : 0;
}

struct Statistic {
    const std::string *name = nullptr;
    uint64_t value = 0;
    bool has_value = false, is_whole = false;
};

Statistic statistic(std::string_view message, const XPlane &plane)
{
    Statistic found;
    Field field;
    for (Fields fields(message); fields.next(field);) {
        if (field.is_number(1)) {
            const auto known = plane.stats.find(field.value);
            found.name = known == plane.stats.end() ? nullptr : &known->second;
        } else if (field.is_number(3) || field.is_number(4)) { // of either sign
            found.value = field.value;
            found.has_value = found.is_whole = true;
        } else if (field.is_part(5) || field.is_number(7)) { // a text, written out or by number
            found.has_value = true;
            found.is_whole = false;
        }
    }
    return found;
}

void take_statistic(std::string_view message, const XPlane &plane, XEventRow &row)
{
    const Statistic found = statistic(message, plane);
    if (!found.name || !found.has_value)
        return;
    const auto mark = [&row](uint32_t what, bool holds) { row.told = holds ? row.told | what : row.told & ~what; };
    if (*found.name == "step_num") {
        row.step = found.value;
        mark(HAS_STEP, found.is_whole);
    } else if (*found.name == "correlation_id") {
        row.correlation = found.value;
        mark(HAS_CORRELATION, found.is_whole);
    } else if (*found.name == "_r") {
        mark(IS_ROOT, found.is_whole && found.value == 1);
    }
}

// The sum of a line's begin and a time from it on; what 64 bits do not hold is the last moment that they do.
int64_t moment(uint64_t timestamp_ns, int64_t offset_ps)
{
    const uint64_t sum = timestamp_ns + static_cast<uint64_t>(offset_ps / PS_PER_NS);
    return sum < timestamp_ns || sum > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(sum);
}

} // namespace

void XPlaneFile::finish()
{
    try {
        Field field;
        for (Fields fields(bytes_); !is_full() && fields.next(field);) {
            if (field.is_part(PLANES)) {
                take_plane(field.held);
            } else if (field.is_part(HOSTS)) {
                hosts.emplace_back(field.held);
                entries_++;
            }
        }
    } catch (const Malformed &problem) {
        fail(problem);
    }
}

void XPlaneFile::take_plane(std::string_view message)
{
    planes.emplace_back();
    XPlane &plane = planes.back();
    Field field;
    for (Fields fields(message); !is_full() && fields.next(field);) {
        if (field.is_whole)
            continue;
        entries_++;
        if (field.number == PLANE_NAME) {
            plane.name = field.held;
        } else if (field.number == LINES) {
            take_line(field.held, plane);
        } else if (field.number == EVENT_NAMES) {
            auto [key, name] = named(field.held, &plane.devices);
            plane.name_places[key] = static_cast<uint32_t>(plane.names.size());
            plane.names.push_back(std::move(name));
            if (plane.name == OF_PROGRAMS)
                plane.programs.push_back(part_of(field.held, VALUE));
        } else if (field.number == STAT_NAMES) {
            auto [key, name] = named(field.held);
            plane.stats[key] = std::move(name);
        } else if (field.number == PLANE_STATS) {
            plane.told.push_back(field.held);
        }
    }
}

void XPlaneFile::take_line(std::string_view message, XPlane &plane)
{
    XLine line;
    line.message = message;
    std::string_view name, shown;
    Field field;
    for (Fields fields(message); !is_full() && fields.next(field);) {
        if (field.is_number(TIMESTAMP)) {
            line.timestamp_ns = field.value;
        } else if (field.is_part(LINE_NAME)) {
            name = field.held;
        } else if (field.is_part(SHOWN_NAME)) {
            shown = field.held;
        } else if (field.is_part(EVENTS)) {
            line.events++;
            entries_++;
        }
    }
    line.name = shown.empty() ? name : shown;
    plane.lines.push_back(std::move(line));
}

std::vector<XEventRow> XPlaneFile::events(size_t plane_place, size_t line_place)
{
    const XPlane &plane = planes.at(plane_place);
    const XLine &line = plane.lines.at(line_place);
    const auto nameless = static_cast<uint32_t>(plane.names.size());
    std::vector<XEventRow> rows;
    rows.reserve(line.events);
    try {
        Field field, inner;
        for (Fields fields(line.message); fields.next(field);) {
            if (!field.is_part(EVENTS))
                continue;
            XEventRow row{0, 0, 0, 0, nameless, 0};
            uint64_t offset = 0, duration = 0, metadata = 0;
            bool has_statistics = false, has_offset = false;
            for (Fields inside(field.held); inside.next(inner);) {
                if (inner.is_number(METADATA))
                    metadata = inner.value;
                else if (inner.is_number(OFFSET))
                    offset = inner.value, has_offset = true;
                else if (inner.is_number(DURATION))
                    duration = inner.value;
                else
                    has_statistics |= inner.is_part(EVENT_STATS);
            }
            constexpr auto LONGEST = static_cast<uint64_t>(LONGEST_PS);
            if (!has_offset || duration == 0) // a sum of several, or a moment
                continue;
            // numbers below 0 are among the largest
            const bool is_possible = offset < LONGEST && duration < LONGEST;
            if (!is_possible || moment(line.timestamp_ns, static_cast<int64_t>(offset + duration)) == INT64_MAX) {
                without_time++;
                continue;
            }
            Fields inside(field.held);
            for (size_t left = has_statistics ? MOST_STATISTICS : 0; left && inside.next(inner);)
                if (inner.is_part(EVENT_STATS)) {
                    take_statistic(inner.held, plane, row);
                    left--;
                }
            const auto known = plane.name_places.find(metadata);
            row.name = known == plane.name_places.end() ? nameless : known->second;
            row.t0 = moment(line.timestamp_ns, static_cast<int64_t>(offset));
            row.t1 = moment(line.timestamp_ns, static_cast<int64_t>(offset + duration));
            rows.push_back(row);
        }
    } catch (const Malformed &problem) {
        fail(problem);
    }
    return rows;
}

uint64_t XPlaneFile::program_devices() const
{
    uint64_t most = 0;
    try {
        for (const XPlane &plane : planes)
            for (const std::string_view program : plane.programs) {
                uint64_t found = 0;
                Field field, inner;
                for (Fields fields(program); fields.next(field);) {
                    if (!field.is_part(METADATA_STATS))
                        continue;
                    const std::string *name = nullptr;
                    std::string_view bytes;
                    for (Fields inside(field.held); inside.next(inner);) {
                        const auto known = inner.is_number(STAT_NAME) ? plane.stats.find(inner.value) : plane.stats.end();
                        if (known != plane.stats.end())
                            name = &known->second;
                        else if (inner.is_part(STAT_BYTES))
                            bytes = inner.held;
                    }
                    if (name && (*name == "Hlo Proto" || *name == "hlo_proto"))
                        found = devices_of(bytes);
                }
                if (found == 0)
                    return 0;
                most = std::max(most, found);
            }
    } catch (const Malformed &) { // another version's, or damaged: it tells nothing
        return 0;
    }
    return most;
}

bool XPlaneFile::told(size_t plane_place, std::string_view name, uint64_t &value) const
{
    const XPlane &plane = planes.at(plane_place);
    bool is_told = false;
    try {
        for (const std::string_view message : plane.told) {
            const Statistic found = statistic(message, plane);
            if (!found.name || *found.name != name || !found.has_value)
                continue;
            is_told = found.is_whole;
            value = found.value;
        }
    } catch (const Malformed &problem) {
        fail(problem);
    }
    return is_told;
}

void XPlaneFile::fail(const Malformed &problem) const
{
    throw FormatError(path_, static_cast<uint64_t>(problem.at - bytes_.data()), problem.why);
}

} // namespace perfscope
