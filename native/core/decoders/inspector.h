// Lines of NCCL's and RCCL's inspector plugin: one JSON object for each operation of a rank, as columns. From format
// v4.1 on there are others, for what the plugin had to drop, and for its proxies.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace perfscope {

#pragma pack(push, 1)
struct InspectorRow {
    int32_t group, name; // places in `groups` and `names`
    int32_t rank;
    int32_t is_message;
    int64_t number; // of this operation on its communicator
    int64_t bytes;
    double us;
    double gbs; // bus bandwidth, not a number where it is not told
};
#pragma pack(pop)

// A communicator, by its hash; "" where it has no name.
struct InspectorGroup {
    std::string id, name;
    int64_t ranks;
};

class InspectorLog {
public:
    static constexpr size_t LONGEST_LINE = size_t(1) << 16;
    static constexpr size_t LONGEST_NAME = 120; // characters
    static constexpr size_t MOST_NAMES = 10000;
    static constexpr int64_t MOST_RANKS = int64_t(1) << 20;
    static constexpr size_t MOST_SOURCES = 10;
    static constexpr size_t MOST_LOSSES = 1 << 16;

    explicit InspectorLog(std::string, uint64_t most_records = UINT64_MAX) : most_(most_records) {}

    void feed(const char *data, size_t size);
    void finish();
    int64_t dropped() const; // operations that the plugin overwrote before it could write them

    std::vector<InspectorRow> rows;
    std::vector<InspectorGroup> groups;
    std::vector<std::string> names;
    std::vector<std::string> sources; // of the times
    uint64_t odd = 0;                 // lines that cannot be read
    uint64_t beside = 0;              // sound lines that tell of something else than operations
    bool is_full = false;             // there are more than the first that were taken

private:
    struct Member {
        int32_t group, rank;
    };

    void lines(bool is_last);
    bool take(std::string_view line);
    bool member(std::string_view header, Member &of);
    bool operation(const Member &of, std::string_view told, bool is_message);
    bool loss(const Member &of, std::string_view told);

    uint64_t most_;
    std::string buffer_;
    bool is_in_long_line_ = false;
    std::map<std::tuple<std::string, std::string, int64_t>, int32_t> group_places_;
    std::unordered_map<std::string, int32_t> name_places_;
    std::map<std::pair<int32_t, int32_t>, int64_t> lost_;
};

} // namespace perfscope
