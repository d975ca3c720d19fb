// Point-to-point messages: which send belongs to which receive, and which call ends what another one began.
#pragma once

#include "matching/calls.h"
#include "rows.h"

#include <vector>

namespace perfscope {

struct Messages {
    std::vector<int64_t> send_of;   // of each row: the send whose message it received or probed, -1 none
    std::vector<int64_t> unmatched; // sends and receives without a partner, ascending
    std::vector<int64_t> blind;     // calls that do not tell to or from which recorded rank, ascending
    int64_t matched = 0;            // messages of which both ends are known
};

// MPI delivers messages of one source, tag and communicator in order, to receives in the order of their posting.
Messages match_messages(const CallColumns &calls, const Communicators &communicators);

// Completions of the requests of one rank.
struct CompletionRows {
    const OperationRow *rows;
    size_t count;
};

// Of each completion, rank after rank, the row that made its request and the wait or test in which it came; -1 unknown.
struct CompletedRequests {
    std::vector<int64_t> started, finished;
};

CompletedRequests completed_requests(const CallColumns &calls, const std::vector<CompletionRows> &completions);

} // namespace perfscope
