// Collective operations: which calls belong together, and before what they could not complete.
#pragma once

#include "matching/calls.h"

#include <vector>

namespace perfscope {

// One entry an operation that every member recorded; those of its members, ordered by rank, stand in
// [starts[k], starts[k + 1]) of `members`, `need` and `cause`. All are rows, but need, a time.
struct Instances {
    std::vector<int64_t> comm, seq, op, last;
    std::vector<uint8_t> synchronizing; // nobody leaves before everybody has come
    std::vector<int64_t> starts{0}, members, need;
    std::vector<int64_t> cause;     // who set need, the member itself where it is its own arrival
    std::vector<int64_t> unmatched; // calls without their partners
    std::vector<int64_t> waiting;   // calls in which a rank still waited for a member when it ended
};

// Groups calls by communicator and sequence number.
Instances match_collectives(const CallColumns &calls, const Communicators &communicators);

} // namespace perfscope
