// XSpace, the message that an XPlane file of TensorFlow, JAX or torch_xla is: planes of hosts and devices, their lines,
// and the events of those lines that are asked for. Numbers of fields: tsl/profiler/protobuf/xplane.proto.
#pragma once

#include "proto.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace perfscope {

#pragma pack(push, 1)
// An event that lasts; times in ns as the line counts them.
struct XEventRow {
    int64_t t0, t1;
    uint64_t step;        // its statistic `step_num`, where `told` has HAS_STEP
    uint64_t correlation; // `correlation_id`, where `told` has HAS_CORRELATION
    uint32_t name;        // place in `names` of the plane
    uint32_t told;
};
#pragma pack(pop)

enum XTold : uint32_t { HAS_STEP = 1, HAS_CORRELATION = 2, IS_ROOT = 4 };

struct XLine {
    std::string name;
    uint64_t timestamp_ns = 0;
    uint64_t events = 0;
    std::string_view message;
};

struct XPlane {
    std::string name;
    std::vector<XLine> lines;
    std::vector<std::string> names;                    // of events, each once for each number
    std::unordered_map<uint64_t, uint32_t> name_places; // by the number that events have
    std::unordered_map<uint64_t, std::string> stats;    // names of statistics
    std::vector<std::string_view> told;                 // statistics of the plane
    std::vector<std::string_view> programs; // metadata of events that are programs, where the plane holds such
    uint64_t devices = 0; // as many as the collectives among its events are made by, at least; 0 where none says so
};

class XPlaneFile {
public:
    static constexpr int64_t LONGEST_PS = INT64_C(1) << 62;
    static constexpr size_t MOST_STATISTICS = 1000; // of an event

    // Takes at most `most_entries` planes, events and names, each of which takes memory.
    explicit XPlaneFile(std::string path, uint64_t most_entries = UINT64_MAX)
        : path_(std::move(path)), most_(most_entries)
    {
    }

    void feed(const char *data, size_t size) { bytes_.append(data, size); }
    // Finds planes, lines and names. Throws FormatError where it is no XSpace.
    void finish();

    bool is_full() const { return entries_ > most_; } // there is more than may be taken
    uint64_t entries() const { return entries_; }
    size_t bytes() const { return bytes_.size(); }

    // The events of a line that last any time. Throws FormatError.
    std::vector<XEventRow> events(size_t plane, size_t line);
    // How many devices the largest of the file's programs runs on; 0 where there is none, or one does not say so.
    uint64_t program_devices() const;
    // A whole number among the statistics of a plane; false where there is none.
    bool told(size_t plane, std::string_view name, uint64_t &value) const;

    std::vector<XPlane> planes;
    std::vector<std::string> hosts;
    uint64_t without_time = 0; // events of the lines that were asked for, at times that cannot be

private:
    void take_plane(std::string_view message);
    void take_line(std::string_view message, XPlane &plane);
    [[noreturn]] void fail(const proto::Malformed &problem) const;

    std::string path_, bytes_;
    uint64_t most_, entries_ = 0;
};

} // namespace perfscope
