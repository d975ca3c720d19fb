// What of each call was waiting for others: the need rules of docs/metrics.md.
#pragma once

#include "matching/collectives.h"
#include "matching/messages.h"

namespace perfscope {

// Calls of one thread of each rank, rank after rank in program order; they do not overlap.
struct ThreadCalls {
    AnyInts row; // of the columns
    const int64_t *enter, *leave;
    const int64_t *starts; // ranks + 1
    size_t count;
};

// Sends of which is known when their receivers were inside MPI, as places among the calls of threads: those that are
// synchronous or larger than what every library sends at once.
struct Rendezvous {
    std::vector<int64_t> end;    // the call that completes the send: itself, or the wait on it
    std::vector<int64_t> inside; // the receiver's call
    std::vector<uint8_t> waits;  // whether `end` waits for `inside`
};

// `send_of` as matched; `wait_of`: of each row the call in which what it started completed, -1 none.
Rendezvous find_rendezvous(const CallColumns &calls, const ThreadCalls &threads, const AnyInts &send_of,
                           const AnyInts &wait_of);

// What was matched, as columns.
struct MatchedCalls {
    const int64_t *members, *need, *cause; // of collectives
    size_t member_count;
    const int64_t *waiting; // calls of collectives that nobody else completed
    size_t waiting_count;
    const int64_t *send_of; // of each row
    const int64_t *started, *finished;
    size_t completion_count;
};

// [enter, need) of each call is wait and [need, leave) transfer, where `known`; `cause` is the row that set need, -1
// where nobody else did, and `for_receiver` tells where that was the receiver of a message.
struct CallWaits {
    std::vector<int64_t> need, cause;
    std::vector<uint8_t> known, for_receiver;
};

// `main_tids`: of each rank. `is_one_clock`: the times of any two ranks can be compared.
CallWaits split_calls(const CallColumns &calls, const MatchedCalls &matched, const uint32_t *main_tids,
                      bool is_one_clock);

} // namespace perfscope
