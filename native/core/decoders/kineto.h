// What a PyTorch (Kineto) trace of one process says of its accelerators and of the host, kept in compact tables.
#pragma once

#include "chrome_json.h"
#include "rows.h"
#include "decoders/text_table.h"

#include <array>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace perfscope {

enum class HostKind : uint32_t {
    ANNOTATION = 0, // named by the program or the framework
    RUNTIME = 1,    // a call of the accelerator's runtime
    BACKWARD = 2,   // a node of autograd
    OTHER = 3,      // an event without a category, in traces that are not Kineto's
    FOREIGN = 4,    // of a category that Kineto does not have
};

#pragma pack(push, 1)
struct HostRow {
    int64_t t0, t1; // ns
    uint32_t name, thread;
    uint16_t kind;  // HostKind
    uint16_t flags; // RowFlag
    uint32_t category; // as the file names it, of OTHER and FOREIGN; else the empty name
};

struct CounterSample {
    int64_t t; // ns
    uint32_t name;
    uint32_t process; // place in `processes`
    double value;
};

enum class KinetoCallKind : uint32_t { CALL, BACKGROUND, REQUEST };

// A call of a communication library, or the end of a request of one, as perfscope exports them.
struct CallRow {
    int64_t t0 = 0, t1 = 0;             // ns
    int64_t seq = -1;                   // ordinal of a collective in its group, -1 none
    int64_t sent = 0, received = 0;     // bytes
    int64_t calls = 0;                  // that the one stands for, 0: only for itself
    int64_t request = 0;                // its number on the rank, 0 none
    uint32_t name = 0, thread = 0;
    int32_t group = -1;                 // place in `groups`
    int32_t root = -1;                  // -1 none
    int32_t peer = PEER_UNKNOWN;        // to whom, or from whom, a message went
    int32_t tag = -1;
    int32_t source = PEER_UNKNOWN;      // of a combined call: from whom its other message came
    int32_t received_tag = -1;
    uint32_t kind = 0;                  // KinetoCallKind
    uint32_t flags = 0;                 // RowFlag
};
#pragma pack(pop)

struct KinetoThread {
    std::string process, thread; // as in the file, without quotes
    std::string name;
    uint64_t events = 0;
};

struct KinetoProcess {
    std::string number; // as in the file, without quotes
    std::string name, labels;
};

// A process group as the arguments of collectives tell it.
struct KinetoGroup {
    uint32_t name, ranks; // texts; of the ranks as in the file: "[0, 1]", "[]" is the world
    int64_t start, stride; // the ranks as a progression, -1 unknown
    int64_t size;          // 0 unknown
};

// How much of the file could not be used, and how much was there.
struct KinetoCounts {
    uint64_t events = 0, empty = 0, metadata = 0, flows = 0, operators = 0, python_functions = 0, other = 0;
    uint64_t without_time = 0, beyond = 0, damaged = 0, negative = 0, base_twice = 0, unopened = 0, unclosed = 0, long_names = 0;
    uint64_t device = 0, without_launch = 0;
};

class KinetoFile : public ChromeSink {
public:
    static constexpr int64_t FARTHEST = INT64_C(4000000000000000000); // ns; the difference of two fits 64 bits
    static constexpr size_t MOST_BYTES_OF_A_NAME = 4096;
    static constexpr size_t MOST_BYTES_OF_NAMES = size_t(1) << 30;
    static constexpr size_t MOST_BYTES_OF_MEMBERS = size_t(64) << 20;
    static constexpr size_t MOST_THREADS = size_t(1) << 20; // and processes, and process groups

    static constexpr int64_t EPOCH = INT64_C(1000000000000000000); // ns; times from here on (2001) count from 1970

    explicit KinetoFile(std::string path, bool is_in_nanoseconds = false)
        : path_(path), parser_(path, *this, is_in_nanoseconds)
    {
    }

    ChromeParser &parser() { return parser_; }
    // Reads the whole of a plain file.
    void read();
    // Everything was fed: joins launches with what they launched and orders the tables. Throws FormatError.
    void finish();

    std::vector<DeviceRow> device;             // `comm` is a place in `groups`
    std::vector<uint32_t> device_processes;    // of each device row: the place of its event's process in `processes`
    std::vector<HostRow> host;
    std::vector<CallRow> calls;
    std::vector<CounterSample> counters;
    std::vector<KinetoThread> threads;
    std::vector<KinetoProcess> processes;
    std::vector<KinetoGroup> groups;
    // Of calls of the runtime: correlation, place in `processes`, ns. Kept where several processes call it.
    std::vector<std::array<int64_t, 3>> launches;
    TextTable names;
    std::map<std::string, std::string> members; // of the file's object, as JSON text
    KinetoCounts counts;
    int64_t first = INT64_MAX, last = INT64_MIN; // of all events, ns
    int64_t shortest = INT64_MAX; // of all intervals that last any time, ns
    bool has_base = false;
    // Starts of the first and of the last events that stand in no table, at most SHOWN of each.
    static constexpr size_t SHOWN = 64;
    std::vector<int64_t> earliest, latest;
    uint64_t noted = 0; // events that stand in no table

    void event(const ChromeEvent &event) override;
    void member(std::string_view name, std::string_view value) override;

private:
    enum class Table : uint8_t { NONE, HOST, DEVICE };
    struct Open {
        Table table;
        size_t row;
    };
    using Moment = std::array<int64_t, 3>; // as in `launches`

    void complete(const ChromeEvent &event, int64_t end, uint32_t flags);
    void begin(const ChromeEvent &event);
    void end(const ChromeEvent &event);
    void metadata(const ChromeEvent &event);
    void counter(const ChromeEvent &event);
    Open keep(const ChromeEvent &event, int64_t end, uint32_t flags);
    Open keep_host(const ChromeEvent &event, HostKind kind, int64_t end, uint32_t flags);
    void keep_call(const ChromeEvent &event, KinetoCallKind kind, int64_t end, uint32_t flags);
    Open keep_device(const ChromeEvent &event, DeviceKind kind, int64_t end, uint32_t flags);
    void communication(DeviceRow &row, std::string_view arguments);
    uint32_t name(std::string_view text);
    uint32_t thread(const ChromeEvent &event);
    uint32_t process(const ChromeEvent &event);
    // Takes a member of a collective's arguments that tells its group.
    bool tell(KinetoGroup &group, std::string_view key, std::string_view value);
    int32_t number(const KinetoGroup &group);
    void note(int64_t moment);
    void order();
    void work_of_devices();
    void close_open();
    void join_launches();
    void rebase();

    std::string path_;
    ChromeParser parser_;
    std::vector<uint8_t> traits_; // by name: what it says of the event
    std::unordered_map<std::string, uint32_t> thread_numbers_;
    std::unordered_map<std::string, uint32_t> process_numbers_;
    std::array<std::pair<std::string, uint32_t>, 2> last_processes_ = {{{"", UINT32_MAX}, {"", UINT32_MAX}}};
    std::map<std::array<int64_t, 5>, int32_t> group_numbers_;
    std::string last_place_;
    uint32_t last_thread_ = 0;
    std::vector<std::vector<Open>> open_; // by thread
    std::vector<Moment> flows_;
    int64_t base_ = 0;
    size_t member_bytes_ = 0;
};

} // namespace perfscope
