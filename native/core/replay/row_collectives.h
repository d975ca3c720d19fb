// Collectives that every member recorded, as rows of a program ask for them, and which of them follow each other closely.
#pragma once

#include "reducers/small_codes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

// Instance k has the calls members[starts[k]] up to members[starts[k + 1]], one at least.
struct InstanceMembers {
    const int64_t *members, *starts;
    size_t count;

    size_t size_of(size_t instance) const { return static_cast<size_t>(starts[instance + 1] - starts[instance]); }
};

// What each row carries, 0 where it is none of them, and how many ranks take part.
struct RowCollectives {
    std::vector<int64_t> size;
    std::vector<int32_t> ranks;
};

// `carried` is by instance, `call` which call each row is, -1 none, of so many.
RowCollectives collectives_of_rows(const InstanceMembers &instances, const int64_t *carried, const int32_t *call,
                                   size_t rows, size_t calls);

// What tells whether one instance is the next of its kind.
struct InstanceKinds {
    const int64_t *comm, *seq, *op;
};

// Calls of all ranks.
struct CallTimes {
    const int64_t *enter, *exit;
    SmallCodes rank;
};

// Of instances in an order, whether each has members, operation and communicator of the one before it, comes next
// there, and no rank works longer than `most_ns` in between.
std::vector<uint8_t> follow_closely(const InstanceMembers &instances, const InstanceKinds &kinds, const CallTimes &calls,
                                    const int64_t *order, size_t count, int64_t most_ns);

} // namespace perfscope
