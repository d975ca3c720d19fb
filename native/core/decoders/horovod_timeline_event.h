// One event of a Horovod timeline: a JSON object, of which only a few fields matter.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace perfscope {

struct TimelineEvent {
    std::string name, argument_name, dtype, shape; // UTF-8; "" where missing
    char phase = 0;                                // the first letter of "ph"
    int64_t pid = 0;
    int64_t time_ns = 0;
    int64_t epoch_us = 0; // args.start_time_since_epoch_in_micros
    bool has_time = false;
    bool has_epoch = false;
};

// Reads the object that `text` is. Returns what is wrong with it, nullptr when nothing is; `place` is then the byte.
const char *parse_timeline_event(std::string_view text, TimelineEvent &event, size_t &place);

} // namespace perfscope
