// Intervals of other formats, as rows, given to the decoder of Kineto's profiles: what it knows of devices, launches and
// phases holds for them, too.
#pragma once

#include "kineto.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace perfscope {

#pragma pack(push, 1)
// An interval; a number below 0 is not told.
struct MadeRow {
    int64_t t0, t1; // ns
    int64_t correlation, bytes;
    int64_t thread;
    int32_t device, stream;
    uint32_t name, category; // places in the lists of texts
};
#pragma pack(pop)

// Takes rows as events of a process whose list of events has begun. Throws FormatError where a place is in no list.
void take_made(KinetoFile &file, const MadeRow *rows, size_t count, const std::vector<std::string> &names,
               const std::vector<std::string> &categories, const std::string &process);

} // namespace perfscope
