// Messages that are like each other: of one operation, with sizes within a factor of two.
#pragma once

#include "matching/wait_sums.h"

namespace perfscope {

// What belongs to a message.
struct MatchedMessages {
    AnyInts send_of;                   // by row: the send that a receive or probe got, -1 none
    const int64_t *started, *finished; // for each request the rows that created and completed it, -1 unknown
    size_t requests;
};

// Those alike that take most transfer: of its send, its receive, and the calls that complete these. A call that
// completes several counts for the largest one, as most of its time is for that.
struct AlikeMessages {
    uint16_t op = 0;
    int64_t messages = 0, calls = 0, bytes = 0; // those alike, all calls of the operation, and the sum of sizes
    std::vector<int64_t> moving;                // the calls that are known to have moved them for some time
};

// None where no call sends anything to anybody: there are 0 messages. The calls are told only if they are asked for.
AlikeMessages alike_messages(const CallColumns &calls, const SplitCalls &split, const MatchedMessages &matched, bool tells_calls);

} // namespace perfscope
