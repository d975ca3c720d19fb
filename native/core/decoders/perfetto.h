// A trace of Perfetto as far as track events go: slices, instants with flows, counters. Everything else that such a
// trace may hold (scheduling, memory of Android, ...) is passed over. Numbers of fields: protos/perfetto/trace.
#pragma once

#include "interner.h"
#include "kineto.h"
#include "proto.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace perfscope {

// Where events stand: a thread, a process, a counter, or something below one of them.
struct PerfettoTrack {
    uint64_t uuid = 0;
    std::string name;
    std::optional<uint64_t> parent, pid, tid;
    std::string process_name;
    std::vector<std::string> labels;
    std::optional<std::string> unit; // of a counter
};

// What an event is in a profile of Kineto's, by its category and name.
struct PerfettoMeaning {
    std::string category;
    std::vector<std::pair<std::string, int64_t>> fixed;        // arguments that all have
    std::vector<std::pair<std::string, std::string>> renamed;  // and those that a whole number among the facts tells
};

// Where the events of a track belong.
struct PerfettoPlace {
    std::string process, thread; // numbers
    std::string name, unit;      // of a counter
};

// A field that may stand several times, of which the last counts.
struct PerfettoLast {
    bool is_there = false, is_whole = false;
    uint64_t value = 0;
    std::string_view held;

    void take(const proto::Field &field)
    {
        is_there = true;
        is_whole = field.is_whole;
        value = field.value;
        held = field.is_whole ? std::string_view() : field.held;
    }
    uint64_t number() const { return is_whole ? value : 0; }
};

class PerfettoTrace {
public:
    static constexpr size_t MOST_BYTES_OF_A_PACKET = size_t(256) << 20;

    // The slice of this name holds facts on the trace. At most `most_entries` events, names, tracks and clocks are
    // taken, each of which takes memory.
    explicit PerfettoTrace(std::string path, std::string facts_name = {}, uint64_t most_entries = UINT64_MAX)
        : path_(std::move(path)), facts_name_(std::move(facts_name)), most_(most_entries)
    {
    }

    void feed(const char *data, size_t size);
    // Puts the events in order of time. Throws FormatError where the last packet does not end.
    void finish();

    bool is_full() const { return entries_ > most_; } // there is more than may be taken
    size_t events() const { return rows_.size(); }

    // Gives all events to a file whose list of events has begun.
    void into(KinetoFile &file, const std::vector<PerfettoPlace> &places,
              const std::vector<PerfettoMeaning> &meanings) const;

    std::vector<PerfettoTrack> tracks; // in the order in which they are described
    std::vector<uint64_t> used;        // tracks that have events, by the first one; what `places` belong to
    std::vector<std::pair<std::string, std::string>> kinds; // categories and names; what `meanings` belong to
    std::string facts;                 // arguments of the first slice that tells them, as JSON
    int64_t offset_ns = 0;             // from the clock of the trace to the wall clock, 0 unknown

private:
    class Giver;
    enum Type : uint32_t { BEGIN = 1, END = 2, INSTANT = 3, COUNTER = 4 };
    enum Word : size_t { CATEGORY, NAME, ANNOTATION, VALUE, WORDS };
    struct Row {
        int64_t moment; // ns of the trace's clock
        uint64_t text;  // place of its arguments; of a counter the bits of its value
        uint32_t length; // of these; of a counter whether it has a value
        uint32_t track, kind, arrows; // the first arrow, counted from 1 on; 0 none
        uint32_t type;
    };
    struct Arrow {
        uint64_t number;
        bool is_begin, is_last;
    };
    struct Clock {
        std::optional<uint64_t> value; // of the time before, where each counts from that
        uint64_t scale = 1;
        int64_t base = 0;
    };
    using Texts = std::unordered_map<uint64_t, std::string>;

    void parse(bool is_last);
    void packet(std::string_view message);
    void describe(std::string_view message);
    void take_offset(std::string_view message);
    void intern(uint64_t sequence, std::string_view message);
    void set_clocks(uint64_t sequence, std::string_view message);
    std::optional<int64_t> moment(uint64_t sequence, const PerfettoLast &time, const PerfettoLast &clock);
    void event(int64_t moment, uint64_t sequence, std::string_view message);
    uint32_t kind(std::string_view category, std::string_view name);
    uint32_t track(uint64_t uuid);
    std::string_view word(const PerfettoLast &plain, const PerfettoLast &number, Word which, uint64_t sequence) const;
    void annotation(std::string_view message, uint64_t sequence);
    bool value(std::string_view message, uint64_t sequence, std::string &out) const;
    void take_facts();
    void number_tracks();

    std::string path_, facts_name_;
    uint64_t most_, entries_ = 0;
    std::string buffer_; // what has not been parsed
    size_t retry_at_ = 0;
    uint64_t offset_ = 0; // of the buffer's begin in the file
    std::vector<Row> rows_;
    std::string text_; // arguments of events, one behind the other
    std::vector<Arrow> arrows_;
    std::vector<uint64_t> uuids_; // until the events are in order
    std::unordered_map<uint64_t, uint32_t> uuid_places_;
    std::unordered_map<uint64_t, size_t> track_places_;
    Interner words_of_kinds_;
    std::unordered_map<uint64_t, uint32_t> kind_places_; // by category and name
    std::unordered_map<uint64_t, std::array<Texts, WORDS>> words_; // by sequence
    std::unordered_map<uint64_t, uint64_t> defaults_;              // clock of a sequence
    std::map<std::pair<uint64_t, uint64_t>, Clock> clocks_;
    std::string scratch_;
    std::vector<std::string_view> parts_;
};

} // namespace perfscope
