// What calls and their waits add up to: by operation, by kind and cause, and by who came late to a collective.
#pragma once

#include "calls.h"

#include <vector>

namespace perfscope {

// What was matched, by row; a cause is a row or -1.
struct SplitCalls {
    const int64_t *need;
    const uint8_t *known;
    AnyInts cause;
    const uint8_t *for_receiver;
};

// By operation code: calls; those whose wait is known, their wait and transfer in ns; those that stand for several, for
// how many, and what of wait and transfer is theirs; and how long all others take.
constexpr size_t OPERATION_SUMS = 9;
std::vector<int64_t> operation_sums(const CallColumns &calls, const SplitCalls &split, size_t codes);

// A rank's timeline, of which segments of one account in a window count.
struct Waited {
    const int64_t *boundaries;
    const uint8_t *accounts;
    size_t count; // of boundaries
    uint8_t account;
    int64_t begin, end;

    bool counts(size_t segment) const
    {
        return accounts[segment] == account && boundaries[segment] >= begin && boundaries[segment] < end;
    }
};

// What kind of wait a call is.
struct WaitKinds {
    const int64_t *by_code; // as far as the operation alone tells it, for each code
    int64_t late_broadcast, early_reduce, late_receiver;
    size_t count;
};

// Nanoseconds that the main thread of a rank waited by the ledger, by kind and by the rank that it waited for, the last
// of which is none: kind * (ranks + 1) + rank. Of calls at once the earlier one waits.
std::vector<int64_t> waits_by_kind(const CallColumns &calls, const SplitCalls &split, size_t rank, uint32_t main_tid,
                                   const Waited &waited, const WaitKinds &kinds);

// The members of collectives as match_collectives found them.
struct CollectiveWaits {
    const int64_t *starts, *members, *need, *cause;
    size_t count;
};

// What each collective carried at most for a member, and how long it took from the last one's entering to the last one's leaving.
struct Carried {
    std::vector<int64_t> bytes, ns;
};
Carried carried_by(const CallColumns &calls, const CollectiveWaits &collectives);

// How long the main threads waited at each collective inside a window together, the longest wait, and what set that.
struct LateArrivals {
    std::vector<int64_t> waiting, stall, cause;
};
LateArrivals late_at_collectives(const CallColumns &calls, const CollectiveWaits &collectives,
                                 const uint32_t *main_tids, int64_t begin, int64_t end);

// When ranks last left a collective on their main threads before some moments; `began` of a rank that had not.
std::vector<int64_t> last_exits(const CallColumns &calls, const int64_t *members, size_t count,
                                const uint32_t *main_tids, const int64_t *began, const int64_t *ranks,
                                const int64_t *moments, size_t asked);

} // namespace perfscope
