// The JSON of rocprofv3: one object a process, whose records become rows while the file is read. What else stands in it
// (agents, names of kernels and operations) is kept as text, and what nobody asks for is passed over.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perfscope {

#pragma pack(push, 1)
// A record with a time that it can have. A number that is not told is -1.
struct RocprofRow {
    int64_t t0, t1; // ns of the profiler's clock
    int64_t call;   // correlation id
    int64_t thread;
    int64_t agent, source, target, queue; // handles: of what works, or copies go from and to
    int64_t bytes;
    int64_t kernel;
    int32_t kind, operation; // as the file numbers them
    uint32_t list;           // place in the lists that were asked for
};
#pragma pack(pop)

struct RocprofProcess {
    std::map<std::string, std::string> members; // by name, as JSON
    std::vector<RocprofRow> rows;
    uint64_t without_time = 0;
};

class RocprofJson {
public:
    static constexpr size_t MOST_BYTES_OF_A_VALUE = size_t(64) << 20;
    static constexpr size_t MOST_LEVELS = 64;
    static constexpr size_t MOST_PROCESSES = size_t(1) << 16;

    // `key` names the processes in the file; `lists` the records that become rows; `kept` the members kept as text.
    RocprofJson(std::string path, std::string key, std::vector<std::string> lists, std::vector<std::string> kept,
                uint64_t most_rows = UINT64_MAX);

    void feed(const char *data, size_t size);
    // Throws FormatError where the text is no JSON or ends early.
    void finish();

    bool is_full() const { return rows_ > most_; } // there are more rows than may be taken
    std::vector<RocprofProcess> processes;

private:
    // What the values of a bracket that is open are.
    enum class Part { DOCUMENT, PROCESSES, PROCESS, RECORDS, ROWS, SKIPPED };
    struct Open {
        Part part;
        bool is_list;
        uint32_t list = 0;
    };

    void parse(bool is_last);
    const char *step(const char *p, const char *end);
    const char *inside(const char *p, const char *end);
    const char *skip(const char *p, const char *end);
    const char *value(std::string_view name, const char *p, const char *end);
    const char *enter(Part part, const char *p, uint32_t list = 0);
    void row(std::string_view record, uint32_t list);
    [[noreturn]] void fail(const char *at, const std::string &why) const;

    std::string path_, key_;
    std::vector<std::string> lists_, kept_;
    uint64_t most_, rows_ = 0;
    std::string buffer_;
    size_t retry_at_ = 0;
    uint64_t offset_ = 0;
    std::vector<Open> open_;
    bool is_begun_ = false;
};

} // namespace perfscope
