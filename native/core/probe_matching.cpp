#include "probe_matching.h"

#include "matching/wait_sums.h"
#include "matching/waits.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <stdexcept>

namespace perfscope {

namespace {

// One number after the other, 0 where none is left.
class Supply {
public:
    Supply(const uint8_t *bytes, size_t size) : at_(bytes), end_(bytes + size) {}

    bool is_empty() const { return at_ == end_; }
    int64_t next(int64_t below) { return at_ == end_ ? 0 : *at_++ % below; }
    // Mostly small, sometimes as large as there is.
    int64_t any()
    {
        const int64_t small = next(16) - 3;
        const int64_t large[] = {INT64_MIN, INT64_MAX, int64_t{1} << 40, 5000};
        return small < 9 ? small : large[small - 9];
    }

private:
    const uint8_t *at_, *end_;
};

// Every code has one of these.
constexpr uint32_t TRAITS[] = {
    SEND,        ISEND,        SENDRECV,     RECV,       IRECV,        PROBE,          WAIT,
    TEST,        FINALIZE,     SEND | SYNCHRONOUS,       ISEND | SYNCHRONOUS,         COLLECTIVE | N_TO_N,
    COLLECTIVE | TO_ALL,       COLLECTIVE | TO_ROOT,     COLLECTIVE | SCAN,           COLLECTIVE | N_TO_N | NONBLOCKING,
    COLLECTIVE | TO_ALL | NONBLOCKING,     FRAMEWORK | COLLECTIVE | N_TO_N,
};
constexpr int64_t CODES = sizeof TRAITS / sizeof *TRAITS;

struct Table {
    explicit Table(Supply supply)
    {
        ranks = static_cast<size_t>(supply.next(4)) + 1;
        for (int64_t code = 0; code < CODES; code++)
            forms.push_back(static_cast<uint16_t>(code));
        for (size_t i = 0; i < ranks; i++) {
            numbers.push_back(static_cast<int64_t>(i * 2 + 1));
            main_tids.push_back(7);
        }
        members = numbers;
        member_starts = {0, static_cast<int64_t>(ranks)};
        members.push_back(numbers.back());
        members.push_back(numbers.front());
        member_starts.push_back(static_cast<int64_t>(members.size()));
        for (size_t i = 0; i < ranks; i++) {
            int64_t at = 0;
            for (int64_t left = supply.next(32); left && !supply.is_empty(); left--)
                at = add(supply, i, at);
            offsets.push_back(static_cast<int64_t>(enter.size()));
            completions.emplace_back();
            for (int64_t left = supply.next(8); left && !supply.is_empty(); left--) {
                OperationRow row{};
                row.t0 = supply.next(64) * 1000;
                row.tid = supply.next(8) ? 7 : 8;
                row.request = supply.any();
                completions.back().push_back(row);
            }
        }
    }

    int64_t add(Supply &supply, size_t own, int64_t at)
    {
        const int64_t length = supply.next(256) * 2000;
        rank.push_back(static_cast<int32_t>(own));
        enter.push_back(at);
        leave.push_back(at + length);
        op.push_back(static_cast<uint16_t>(supply.next(CODES + 1))); // the last one is no code
        flags.push_back(supply.next(4) == 0);
        tid.push_back(supply.next(8) ? 7 : 8);
        comm.push_back(static_cast<int32_t>(supply.next(4)) - 1);
        peer.push_back(static_cast<int32_t>(supply.next(static_cast<int64_t>(ranks) + 1)) - 1);
        peer_number.push_back(peer.back() < 0 ? -static_cast<int32_t>(supply.next(4)) : 2 * peer.back() + 1);
        tag.push_back(static_cast<int32_t>(supply.next(3)) - 1);
        seq.push_back(supply.any());
        sent.push_back(supply.any());
        received.push_back(supply.any());
        request.push_back(supply.any());
        return at + supply.next(16) * 10'000;
    }

    CallColumns view() const
    {
        return {enter.size(), rank.data(),        enter.data(), leave.data(),
                op.data(),    flags.data(),       tid.data(),   comm.data(),
                peer.data(),  peer_number.data(), tag.data(),   seq.data(),
                sent.data(),  received.data(),    request.data(), ranks,
                offsets.data(), numbers.data(),   {TRAITS, forms.data(), CODES}};
    }

    size_t ranks;
    std::vector<int64_t> enter, leave, seq, sent, received, request, offsets{0}, numbers, members, member_starts;
    std::vector<uint16_t> op, flags, forms;
    std::vector<uint32_t> tid, main_tids;
    std::vector<int32_t> rank, comm, peer, peer_number, tag;
    std::vector<std::vector<OperationRow>> completions;
};

void check(const CallColumns &calls, const Instances &met, const Messages &messages, const CallWaits &waits)
{
    bool is_sound = met.members.size() == met.need.size() && met.starts.back() == static_cast<int64_t>(met.need.size());
    int64_t received = 0;
    for (int64_t row = 0; row < static_cast<int64_t>(calls.count); row++) {
        is_sound = is_sound && waits.need[row] >= calls.enter[row] && waits.need[row] <= calls.leave[row];
        is_sound = is_sound && (waits.cause[row] < 0 || waits.cause[row] != row);
        const int64_t send = messages.send_of[row];
        received += send >= 0 && calls.is_of(row, RECV | IRECV | SENDRECV);
        is_sound = is_sound && (send < 0 || calls.is_of(send, SEND | ISEND | SENDRECV));
    }
    if (!is_sound || received != messages.matched)
        throw std::runtime_error("matched calls contradict themselves");
}

// Sums of what was matched: each call of a known operation counts once, by whatever it is added up.
void add_up(const Table &table, const CallColumns &calls, const Instances &met, const CallWaits &waits)
{
    const SplitCalls split{waits.need.data(), waits.known.data(), waits.cause.data(), waits.for_receiver.data()};
    const auto codes = static_cast<size_t>(CODES);
    const std::vector<int64_t> sums = operation_sums(calls, split, codes);
    int64_t told = 0;
    for (size_t code = 0; code < codes; code++)
        told += sums[code * OPERATION_SUMS];
    const auto known = std::count_if(calls.op, calls.op + calls.count, [](uint16_t op) { return op < CODES; });
    const int64_t last = *std::max_element(table.leave.begin(), table.leave.end());
    const int64_t boundaries[] = {0, last / 3, last};
    const uint8_t accounts[] = {1, 0};
    const std::vector<int64_t> by_code(codes);
    for (size_t rank = 0; rank < calls.ranks; rank++) {
        const std::vector<int64_t> kinds = waits_by_kind(calls, split, rank, 7, {boundaries, accounts, 3, 1, 0, last},
                                                         {by_code.data(), 1, 2, 3, 4});
        if (std::accumulate(kinds.begin(), kinds.end(), int64_t{0}) > last / 3)
            throw std::runtime_error("more was waited than there was time");
    }
    const CollectiveWaits met_at{met.starts.data(), met.members.data(), met.need.data(), met.cause.data(),
                                 met.starts.size() - 1};
    const LateArrivals late = late_at_collectives(calls, met_at, table.main_tids.data(), 0, last);
    if (told != known || late.waiting.size() != met_at.count)
        throw std::runtime_error("sums of calls leave some out");
}

} // namespace

void match_bytes(const uint8_t *bytes, size_t size)
{
    const Table table(Supply(bytes, size));
    const CallColumns calls = table.view();
    const uint8_t comparable[] = {1, size % 2 == 0};
    const Communicators communicators{table.member_starts.data(), table.members.data(),
                                      table.member_starts.size() - 1, size % 3 ? nullptr : comparable};
    const Instances met = match_collectives(calls, communicators);
    const Messages messages = match_messages(calls, communicators);
    std::vector<CompletionRows> completions;
    for (const auto &rows : table.completions)
        completions.push_back({rows.data(), rows.size()});
    const CompletedRequests done = completed_requests(calls, completions);
    const MatchedCalls matched{met.members.data(),      met.need.data(),    met.cause.data(),        met.members.size(),
                               met.waiting.data(),      met.waiting.size(), messages.send_of.data(), done.started.data(),
                               done.finished.data(),    done.started.size()};
    const CallWaits waits = split_calls(calls, matched, table.main_tids.data(), size % 5 != 0);
    check(calls, met, messages, waits);
    if (calls.count)
        add_up(table, calls, met, waits);
}

void match_random_calls(unsigned count)
{
    for (unsigned seed = 0; seed < count; seed++) {
        std::mt19937 chance(seed);
        std::vector<uint8_t> bytes(chance() % 2048);
        for (uint8_t &byte : bytes)
            byte = static_cast<uint8_t>(chance());
        match_bytes(bytes.data(), bytes.size());
    }
    std::printf("matching: %u runs\n", count);
}

} // namespace perfscope
