#include "otf2_definitions.h"

#include "otf2_definition_file.h"

#include <cmath>
#include <cstdlib>

namespace perfscope::otf2 {

const std::string &Definitions::text(uint32_t reference) const
{
    static const std::string nothing;
    const auto found = strings.find(reference);
    return found == strings.end() ? nothing : found->second;
}

static void read_clock(Bytes &bytes, Definitions &into)
{
    Clock &clock = into.clock;
    clock.resolution = bytes.u64();
    if (!clock.resolution)
        bytes.fail("the clock has no ticks per second");
    clock.offset = bytes.u64();
    clock.length = bytes.u64();
    clock.realtime_ns = bytes.at_end() ? UNDEFINED_64 : bytes.u64();
    clock.is_defined = true;
}

static void read_string(Bytes &bytes, Definitions &into)
{
    const uint32_t id = bytes.u32();
    into.strings[id] = bytes.text();
}

static void read_attribute(Bytes &bytes, Definitions &into)
{
    const uint32_t id = bytes.u32();
    into.attributes.push_back({id, bytes.u32()});
}

static void read_system_node(Bytes &bytes, Definitions &into)
{
    SystemNode node{};
    node.id = bytes.u32();
    node.name = bytes.u32();
    node.class_name = bytes.u32();
    node.parent = bytes.u32();
    into.system_nodes.push_back(node);
}

static void read_location_group(Bytes &bytes, Definitions &into)
{
    LocationGroup group{};
    group.id = bytes.u32();
    group.name = bytes.u32();
    group.type = bytes.u8();
    group.system_parent = bytes.u32();
    group.creator = bytes.at_end() ? UNDEFINED_32 : bytes.u32();
    into.location_groups.push_back(group);
}

static void read_location(Bytes &bytes, Definitions &into)
{
    Location location{};
    location.id = bytes.u64();
    location.name = bytes.u32();
    location.type = bytes.u8();
    location.events = bytes.u64();
    location.group = bytes.u32();
    into.locations.push_back(location);
}

static void read_region(Bytes &bytes, Definitions &into)
{
    Region region{};
    region.id = bytes.u32();
    region.name = region.canonical_name = bytes.u32();
    bytes.u32(); // description
    bytes.u8();  // the type of OTF2 1.0
    region.file = bytes.u32();
    region.line = bytes.u32();
    bytes.u32(); // last line
    if (!bytes.at_end()) {
        region.canonical_name = bytes.u32();
        region.role = bytes.u8();
        region.paradigm = bytes.u8();
        region.flags = bytes.u32();
    }
    into.regions.push_back(region);
}

// Groups of OTF2 1.0 and 1.1 had a type for MPI alone.
static void convert_old_group(Group &group, uint8_t old_type)
{
    static constexpr GroupType NOW[] = {GroupType::UNKNOWN,    GroupType::LOCATIONS, GroupType::REGIONS,
                                        GroupType::METRIC,     GroupType::COMM_GROUP, GroupType::COMM_SELF,
                                        GroupType::COMM_LOCATIONS};
    group.type = static_cast<uint8_t>(old_type < 7 ? NOW[old_type] : GroupType::UNKNOWN);
    group.paradigm = old_type >= 4 ? PARADIGM_MPI : 0;
}

static void read_group(Bytes &bytes, Definitions &into)
{
    Group group{};
    group.id = bytes.u32();
    group.name = bytes.u32();
    const uint8_t old_type = bytes.u8();
    const uint32_t count = bytes.u32();
    bytes.expect(count, 1);
    group.members.reserve(count);
    for (uint32_t i = 0; i < count; i++)
        group.members.push_back(bytes.u64());
    if (bytes.at_end()) {
        convert_old_group(group, old_type);
    } else {
        group.type = bytes.u8();
        group.paradigm = bytes.u8();
    }
    into.groups.push_back(std::move(group));
}

enum MetricBase : uint8_t { BINARY = 0, DECIMAL = 1 };
constexpr int64_t MOST_BINARY_EXPONENT = 900, MOST_DECIMAL_EXPONENT = 270; // a value of 64 bits times it is finite

static void read_metric_member(Bytes &bytes, Definitions &into)
{
    MetricMember member{};
    member.id = bytes.u32();
    member.name = bytes.u32();
    member.description = bytes.u32();
    member.type = bytes.u8();
    member.mode = bytes.u8();
    member.value_type = bytes.u8();
    member.base = bytes.u8();
    member.exponent = bytes.i64();
    member.unit = bytes.u32();
    if (member.base > DECIMAL)
        bytes.fail("the base of a metric is neither 2 nor 10");
    const int64_t most = member.base == BINARY ? MOST_BINARY_EXPONENT : MOST_DECIMAL_EXPONENT;
    if (member.exponent < -most || member.exponent > most)
        bytes.fail("the exponent of a metric is larger than any number of 64 bits");
    member.power = std::pow(member.base == BINARY ? 2.0 : 10.0, static_cast<double>(std::llabs(member.exponent)));
    into.metric_members.push_back(member);
}

static void read_metric_class(Bytes &bytes, Definitions &into)
{
    Metric metric;
    metric.id = bytes.u32();
    const uint8_t count = bytes.u8();
    for (uint8_t i = 0; i < count; i++)
        metric.members.push_back(bytes.u32());
    metric.occurrence = bytes.u8();
    into.metrics.push_back(std::move(metric));
}

static void read_metric_instance(Bytes &bytes, Definitions &into)
{
    Metric metric;
    metric.id = bytes.u32();
    metric.metric_class = bytes.u32();
    into.metrics.push_back(std::move(metric));
}

static void read_comm(Bytes &bytes, Definitions &into)
{
    Comm comm{};
    comm.id = bytes.u32();
    comm.name = bytes.u32();
    comm.group = bytes.u32();
    comm.parent = bytes.u32();
    into.comms.push_back(comm);
}

static void read_inter_comm(Bytes &bytes, Definitions &into)
{
    Comm comm{};
    comm.id = bytes.u32();
    comm.name = bytes.u32();
    comm.group = bytes.u32();
    bytes.u32(); // the other group
    comm.parent = bytes.u32();
    comm.is_inter = true;
    into.comms.push_back(comm);
}

static void read_calling_context(Bytes &bytes, Definitions &into)
{
    CallingContext context{};
    context.id = bytes.u32();
    context.region = bytes.u32();
    bytes.u32(); // source code location
    context.parent = bytes.u32();
    into.calling_contexts.push_back(context);
}

using Read = void (*)(Bytes &, Definitions &);

static Read reader_of(uint8_t type)
{
    switch (type) {
    case CLOCK_PROPERTIES:
        return read_clock;
    case STRING:
        return read_string;
    case ATTRIBUTE:
        return read_attribute;
    case SYSTEM_TREE_NODE:
        return read_system_node;
    case LOCATION_GROUP:
        return read_location_group;
    case LOCATION:
        return read_location;
    case REGION:
        return read_region;
    case GROUP:
        return read_group;
    case METRIC_MEMBER:
        return read_metric_member;
    case METRIC_CLASS:
        return read_metric_class;
    case METRIC_INSTANCE:
        return read_metric_instance;
    case COMM:
        return read_comm;
    case INTER_COMM:
        return read_inter_comm;
    case CALLING_CONTEXT:
        return read_calling_context;
    default:
        return nullptr; // of no use here
    }
}

Definitions read_definitions(const Anchor &anchor)
{
    Definitions found;
    ChunkReader file(anchor.definitions_path, anchor.definition_chunk_bytes);
    uint64_t count = 0;
    for_each_definition(file, [&](uint8_t type, Bytes &payload) {
        count++;
        found.counts[type]++;
        if (type >= DEFINITION_TYPES)
            found.unknown++;
        if (const Read read = reader_of(type))
            read(payload, found);
    });
    if (count != anchor.definitions)
        throw FormatError(file.path(), file.size(),
                          "the file holds " + std::to_string(count) + " definitions, the anchor file speaks of " +
                              std::to_string(anchor.definitions));
    if (!found.clock.is_defined)
        throw FormatError(file.path(), file.size(), "the clock of the trace is not defined");
    return found;
}

} // namespace perfscope::otf2
