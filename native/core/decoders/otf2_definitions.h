// The global definitions of an OTF2 archive that the engine uses; references are ids unless they say otherwise.
#pragma once

#include "otf2_anchor.h"
#include "otf2_bytes.h"
#include "otf2_layout.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace perfscope::otf2 {

enum class LocationType : uint8_t { UNKNOWN, CPU_THREAD, ACCELERATOR_STREAM, METRIC };
enum class LocationGroupType : uint8_t { UNKNOWN, PROCESS, ACCELERATOR };
enum class GroupType : uint8_t { UNKNOWN, LOCATIONS, REGIONS, METRIC, COMM_LOCATIONS, COMM_GROUP, COMM_SELF };
constexpr uint8_t PARADIGM_MPI = 4;

struct Clock {
    uint64_t resolution = 0; // ticks per second
    uint64_t offset = 0;     // ticks at the beginning of the trace
    uint64_t length = 0;     // ticks
    uint64_t realtime_ns = UNDEFINED_64; // wall clock at `offset`
    bool is_defined = false;
};

struct SystemNode {
    uint32_t id, name, class_name, parent;
};

struct LocationGroup {
    uint32_t id, name;
    uint8_t type;
    uint32_t system_parent;
    uint32_t creator; // the group that created it
};

struct Location {
    uint64_t id;
    uint32_t name;
    uint8_t type;
    uint64_t events; // as the definition says
    uint32_t group;
};

struct Region {
    uint32_t id, name, canonical_name, file, line;
    uint8_t role, paradigm;
    uint32_t flags;
};

struct Attribute {
    uint32_t id, name;
};

struct Group {
    uint32_t id, name;
    uint8_t type, paradigm;
    std::vector<uint64_t> members;
};

struct MetricMember {
    uint32_t id, name, description;
    uint8_t type, mode, value_type, base;
    int64_t exponent;
    uint32_t unit;
    double power; // base to the absolute value of the exponent

    // A value as events have it, in the metric's unit: value x base^exponent. Divided, where that is more exact.
    double in_unit(double value) const { return exponent < 0 ? value / power : value * power; }
};

// A metric class, or an instance of one recorded for something else than the location that writes it.
struct Metric {
    uint32_t id;
    std::vector<uint32_t> members;  // of a class
    uint8_t occurrence = 0;         // of a class
    uint32_t metric_class = UNDEFINED_32; // of an instance
};

struct Comm {
    uint32_t id, name, group, parent;
    bool is_inter; // between two groups: `group` is the first
};

struct CallingContext {
    uint32_t id, region, parent;
};

struct Definitions {
    Clock clock;
    std::unordered_map<uint32_t, std::string> strings;
    std::vector<SystemNode> system_nodes;
    std::vector<LocationGroup> location_groups;
    std::vector<Location> locations;
    std::vector<Region> regions;
    std::vector<Attribute> attributes;
    std::vector<Group> groups;
    std::vector<MetricMember> metric_members;
    std::vector<Metric> metrics;
    std::vector<Comm> comms;
    std::vector<CallingContext> calling_contexts;
    std::map<uint8_t, uint64_t> counts; // records by type
    uint64_t unknown = 0;               // records of types that OTF2 3.2 does not have

    // The text of a string reference, empty where it is not defined.
    const std::string &text(uint32_t reference) const;
};

// Reads the file of the global definitions.
Definitions read_definitions(const Anchor &anchor);

} // namespace perfscope::otf2
