// The events of one location as columns: every field of every record, for tests and for those who want them all.
#pragma once

#include "otf2_archive.h"

#include <vector>

namespace perfscope::otf2 {

// Event i is types[i] at times[i] (ticks) with the fields values[starts[i]] to values[starts[i + 1]], as 64-bit
// patterns: of a metric its id, the number of values and (type, bits) of each; of a program's begin its name, the
// number of arguments and their texts' ids. Its attributes are (id, type, bits) triples from attribute_starts[i] on.
struct EventColumns {
    std::vector<uint8_t> types;
    std::vector<uint64_t> times;
    std::vector<uint64_t> starts, values;
    std::vector<uint64_t> attribute_starts, attributes;
    EventCounts counts;
};

// Decodes all events of the location at `index`; memory grows with their number.
EventColumns decode_events(const Archive &archive, size_t index, bool apply_mappings, bool apply_clock);

} // namespace perfscope::otf2
