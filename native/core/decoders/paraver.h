// Paraver traces (.prv): a header line, then one record a line, ordered by time.
//
//   1:cpu:appl:task:thread:begin:end:state
//   2:cpu:appl:task:thread:time:type:value[:type:value...]
//   3: sender object, logical and physical send, receiver object, logical and physical receive, size, tag
//
// MPI calls are events of types 50000001 (point to point), 50000002 (collective), 50000003 (other), 50000004 (one-sided)
// and 50000005 (files); value 0 leaves.
// Hardware counters are events 42xxxxxx whose value counts since the event before it on the same thread.
#pragma once

#include "rows.h"
#include "decoders/paraver_header.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace perfscope {

constexpr int64_t paraver_instructions = 42000050; // PAPI_TOT_INS
constexpr int64_t paraver_cycles = 42000059;       // PAPI_TOT_CYC
constexpr int32_t paraver_running = 1;
constexpr int32_t paraver_not_created = 2;
constexpr int32_t paraver_input_output = 12;

// Counts by number: an array for those that are common, a map for the rest.
template <size_t Slots> class Tally {
public:
    void add(int64_t key, int64_t amount)
    {
        Slot &slot = slots_[static_cast<uint64_t>(key) % slots_.size()];
        if (slot.key != key) {
            if (slot.used) {
                rest_[key] += amount;
                return;
            }
            slot.used = true;
            slot.key = key;
        }
        slot.used = true;
        slot.amount += amount;
    }
    std::map<int64_t, int64_t> all() const
    {
        std::map<int64_t, int64_t> result = rest_;
        for (const Slot &slot : slots_)
            if (slot.used)
                result[slot.key] += slot.amount;
        return result;
    }

private:
    struct Slot {
        int64_t key = 0, amount = 0;
        bool used = false;
    };
    std::array<Slot, Slots> slots_;
    std::map<int64_t, int64_t> rest_;
};

// What a hardware counter counted while the state was Running.
struct ParaverCount {
    int64_t sum = 0;
    int64_t impossible = 0; // values below 0, or so large that the sum is
    bool seen = false;
    bool known() const { return seen && !impossible; }
};

// One thread of a task, and what was added up over it.
struct ParaverLocation {
    int32_t rank = 0; // place of the task among all tasks
    int32_t thread = 0;
    int64_t first = 0, last = 0; // ns, of its records
    bool seen = false;
    Tally<8> state_ns;
    ParaverCount instructions, cycles;
    int64_t mpi_ns = 0;
    int64_t reached = 0; // ns, the latest beginning of a record
    int64_t created = 0; // ns, the end of states Not created at its beginning; 0 without
    // while reading
    int64_t state_begin = INT64_MIN, state_before_begin = INT64_MIN;
    int64_t state = -1, state_before = -1;
    int64_t open_call = -1; // row in calls
};

class ParaverTrace {
public:
    explicit ParaverTrace(std::string path) : path_(std::move(path)) {}

    // Reads the next bytes of the file. Throws FormatError.
    void feed(const char *bytes, size_t count);
    // To be called once after the last bytes. Throws FormatError if there was no header.
    void finish();

    ParaverHeader header;
    std::vector<ParaverLocation> locations;
    std::vector<ParaverCallRow> calls;
    std::vector<ParaverMessageRow> messages;
    std::vector<ParaverCounterRow> counters;
    std::vector<ParaverStateRow> file_states; // Input and output
    std::vector<int64_t> counter_types;       // what counters[].type is an index of
    Tally<61> event_types;                        // how many events of each type
    uint64_t records = 0, unknown_records = 0, unmatched_leaves = 0, unclosed_calls = 0, backwards = 0, below_zero = 0;
    uint64_t open_at_end = 0; // calls that the end of the file leaves open
    uint64_t disordered = 0;  // records that begin before the one before them on the same thread
    uint64_t out_of_turn = 0; // records that begin before one of any thread above them
    int64_t last_ns = 0;
    int64_t reached_ns = 0; // the latest beginning of a state, and the latest event
    bool is_cut = false; // the file ends inside a line

private:
    struct Fields;
    void lines(const char *begin, const char *end, uint64_t offset);
    void line(const char *begin, const char *end, uint64_t offset);
    void state(Fields &fields);
    void events(Fields &fields);
    void event(ParaverLocation &location, int32_t place, int64_t time, int64_t type, int64_t value);
    void call(ParaverLocation &location, int32_t place, int64_t time, int64_t kind, int64_t value);
    void counter(ParaverLocation &location, int32_t place, int64_t time, int64_t type, int64_t value);
    void message(Fields &fields);
    void close(ParaverLocation &location, int64_t time, bool is_open);
    int32_t location(Fields &fields);
    void touch(ParaverLocation &location, int64_t begin, int64_t end);

    std::string path_;
    std::string tail_; // the line that is not complete yet
    uint64_t consumed_ = 0;
    bool has_header_ = false;
    std::vector<std::vector<int32_t>> by_rank_; // [rank][thread - 1], -1 not seen
    std::map<std::pair<int32_t, int64_t>, int32_t> far_threads_;
    std::vector<int32_t> counter_index_; // by type less first_counter, -1 not seen
};

} // namespace perfscope
