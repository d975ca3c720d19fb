#include "matching/alike_messages.h"

#include <algorithm>

namespace perfscope {

namespace {

constexpr uint32_t SENDING = SEND | SENDRECV | ISEND;
constexpr size_t SIZES = 64;
constexpr int32_t NONE = -1;

// The kinds of messages: an operation and the bits of a size.
class Kinds {
public:
    Kinds(const CallColumns &calls, const SplitCalls &split, const MatchedMessages &matched)
        : calls_(calls), split_(split), matched_(matched), completed_(calls.count, NONE)
    {
        for (size_t request = 0; request < matched.requests; request++) {
            const int64_t started = matched.started[request], finished = matched.finished[request];
            if (started < 0 || finished < 0)
                continue;
            const int32_t kind = of_ends(started);
            int32_t &largest = completed_[static_cast<size_t>(finished)];
            if (kind != NONE && (largest == NONE || size_of(kind) >= size_of(largest)))
                largest = kind;
        }
    }

    // That of the messages which a call sends or receives, or completes.
    int32_t of(int64_t row) const
    {
        const int32_t completed = completed_[static_cast<size_t>(row)];
        return completed != NONE ? completed : of_ends(row);
    }

    // That of what a call itself sends.
    int32_t of_send(int64_t row) const
    {
        if (!calls_.is_of(row, SENDING) || calls_.sent[row] <= 0 || calls_.peer_number[row] == PEER_PROC_NULL)
            return NONE;
        return static_cast<int32_t>(calls_.op[row] * SIZES) + size_class(calls_.sent[row]);
    }

    // Nanoseconds in which a call moved data; 0 where that is not known.
    int64_t transfer_ns(int64_t row) const
    {
        const int64_t leave = calls_.leave[row], begin = std::max(split_.need[row], calls_.enter[row]);
        return split_.known[row] && leave > begin ? static_cast<int64_t>(static_cast<uint64_t>(leave) - static_cast<uint64_t>(begin)) : 0;
    }

private:
    int32_t of_ends(int64_t row) const
    {
        const int32_t own = of_send(row);
        if (own != NONE || matched_.send_of[row] < 0)
            return own;
        return of_send(matched_.send_of[row]);
    }

    static int32_t size_of(int32_t kind) { return kind % static_cast<int32_t>(SIZES); }

    const CallColumns &calls_;
    const SplitCalls &split_;
    const MatchedMessages &matched_;
    std::vector<int32_t> completed_; // by row: what it completes
};

} // namespace

AlikeMessages alike_messages(const CallColumns &calls, const SplitCalls &split, const MatchedMessages &matched, bool tells_calls)
{
    const Kinds kinds(calls, split, matched);
    struct Sum {
        int64_t messages = 0, bytes = 0;
        uint64_t ns = 0;
    };
    std::vector<Sum> sums(calls.codes.count * SIZES);
    std::vector<int64_t> calls_of(calls.codes.count);
    const auto rows = static_cast<int64_t>(calls.count);
    for (int64_t row = 0; row < rows; row++) {
        if (calls.is_of(row, SENDING))
            calls_of[calls.op[row]]++;
        const int32_t sends = kinds.of_send(row), kind = kinds.of(row);
        if (sends != NONE) {
            Sum &sum = sums[static_cast<size_t>(sends)];
            sum.messages++;
            sum.bytes = static_cast<int64_t>(static_cast<uint64_t>(sum.bytes) + static_cast<uint64_t>(calls.sent[row]));
        }
        if (kind != NONE)
            sums[static_cast<size_t>(kind)].ns += static_cast<uint64_t>(kinds.transfer_ns(row));
    }
    size_t most = sums.size();
    for (size_t kind = 0; kind < sums.size(); kind++)
        if (sums[kind].messages && (most == sums.size() || sums[kind].ns > sums[most].ns))
            most = kind;
    AlikeMessages found;
    if (most == sums.size())
        return found;
    found.op = static_cast<uint16_t>(most / SIZES);
    found.messages = sums[most].messages;
    found.calls = calls_of[found.op];
    found.bytes = sums[most].bytes;
    for (int64_t row = 0; tells_calls && row < rows; row++)
        if (kinds.of(row) == static_cast<int32_t>(most) && kinds.transfer_ns(row) > 0)
            found.moving.push_back(row);
    return found;
}

} // namespace perfscope
