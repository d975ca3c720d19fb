// HOROVOD_TIMELINE: what the coordinator saw of every tensor, as Chrome trace events in one JSON list.
//
// An unterminated list is how a running or killed job leaves it, and old versions always do. One "process" stands for
// a tensor. NEGOTIATE_<OP> begins when the first rank is ready and holds an event named after each rank that becomes
// ready; then <OP> holds what was done, nested. An end has no name and closes what began last.
#pragma once

#include "interner.h"
#include "rows.h"
#include "decoders/horovod_timeline_event.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace perfscope {

class HorovodTimeline {
public:
    explicit HorovodTimeline(std::string path) : path_(std::move(path)) {}

    // Reads the next bytes of the file. Throws FormatError.
    void feed(const char *bytes, size_t count);
    // To be called once after the last bytes: closes what is open. Throws FormatError if there was no list.
    void finish();

    std::vector<NegotiationRow> negotiations; // in order of their begin
    std::vector<TickRow> ticks;
    std::vector<TensorActivityRow> activities;
    std::set<int32_t> ranks;          // that became ready, also outside of any negotiation
    Interner names;                   // of operations and activities
    std::vector<std::string> tensors; // "" where a tensor was not named
    uint64_t events = 0, cycles = 0, unmatched_ends = 0, unclosed_begins = 0, ticks_outside = 0, backwards = 0;
    int64_t first_ns = 0, last_ns = 0; // of all events with a time
    int64_t epoch_us = 0;              // wall-clock time of 0
    bool has_epoch = false, has_time = false;
    bool is_terminated = false; // the list was closed
    bool is_cut = false;        // the file ends inside an event

private:
    struct Open {
        bool is_negotiation;
        int32_t row;
    };
    struct Tensor {
        int32_t index;
        std::vector<Open> open;
    };

    bool skips_between();
    bool completes_object();
    void event(std::string_view text);
    void begin(Tensor &tensor);
    void end(Tensor &tensor);
    void tick(Tensor &tensor);
    void close(const Open &open, int64_t time_ns, bool is_open);
    Tensor &tensor(int64_t pid);
    int32_t row_number(size_t count) const;

    std::string path_;
    std::string pending_;    // bytes not yet consumed
    size_t at_ = 0;          // in pending_
    size_t scanned_ = 0;     // in the object at at_
    uint64_t consumed_ = 0;  // bytes of the file before pending_
    int depth_ = 0;
    bool in_text_ = false, after_backslash_ = false, began_ = false;
    TimelineEvent event_;
    std::unordered_map<int64_t, Tensor> by_pid_;
};

} // namespace perfscope
