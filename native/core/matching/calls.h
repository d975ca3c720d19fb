// The calls of all ranks as columns, and what their codes mean to those who match them.
#pragma once

#include "../rows.h"
#include "reducers/small_codes.h"

#include <cstddef>
#include <cstdint>

namespace perfscope {

// What a code stands for; perfscope/matching/codes.py declares the same, and a test compares them.
enum Trait : uint32_t {
    SEND = 1u << 0,
    ISEND = 1u << 1,
    SENDRECV = 1u << 2,
    RECV = 1u << 3,
    IRECV = 1u << 4,
    PROBE = 1u << 5,
    WAIT = 1u << 6,
    TEST = 1u << 7,
    FINALIZE = 1u << 8,
    COLLECTIVE = 1u << 9, // all of a communicator take part
    N_TO_N = 1u << 10,
    TO_ALL = 1u << 11,
    TO_ROOT = 1u << 12,
    SCAN = 1u << 13,
    NONBLOCKING = 1u << 14, // a collective that is only started
    SYNCHRONOUS = 1u << 15, // a send that waits for its receiver, however small
    FRAMEWORK = 1u << 16,   // no function of MPI
};

struct TraitsOfCodes {
    const uint32_t *traits;
    const uint16_t *blocking_form; // the collective that a framework's asynchronous call is
    size_t count;

    uint32_t of(uint16_t op) const { return op < count ? traits[op] : 0; }
    uint16_t blocking(uint16_t op) const { return op < count ? blocking_form[op] : op; }
};

constexpr uint16_t FLAG_OPEN = 1;
constexpr int64_t EAGER_BYTES = 4096;        // every MPI library sends so much without waiting for the receiver
constexpr int64_t TELLING_LAG_NS = 100'000;  // who comes so much earlier can show whether a call waits for the last
constexpr double SYNCHRONIZING_SHARE = 0.95;

// One row a call, rank after rank and ordered by time; rank and peer are positions among the ranks.
struct CallColumns {
    size_t count;
    SmallCodes rank;
    const int64_t *enter, *leave;
    const uint16_t *op, *flags;
    const uint32_t *tid;
    SmallCodes comm;        // -1 none
    SmallCodes peer;        // -1 none, unknown or not recorded
    SmallCodes peer_number; // number of the rank, or PEER_*
    SmallCodes tag;
    AnyInts seq, sent, received, request;
    size_t ranks;
    const int64_t *offsets; // ranks + 1
    const int64_t *numbers; // of each rank
    TraitsOfCodes codes;

    bool is_of(int64_t row, uint32_t traits) const { return (codes.of(op[row]) & traits) != 0; }
    bool is_eager(int64_t row) const { return sent[row] <= EAGER_BYTES; }
};

// The members of communicators by number, in the order of their ranks, one after the other.
struct Communicators {
    const int64_t *starts, *members; // count + 1
    size_t count;
    const uint8_t *comparable; // by communicator, whether the times of its members can be compared; null: all

    bool holds(int32_t comm) const { return comm >= 0 && static_cast<size_t>(comm) < count; }
    bool may_be_matched(int32_t comm) const { return holds(comm) && (!comparable || comparable[comm]); }
    int64_t size(int32_t comm) const { return starts[comm + 1] - starts[comm]; }
};

// Bits that a size has; 0 of a damaged one, which is negative.
inline int size_class(int64_t bytes)
{
    int bits = 0;
    for (auto left = bytes > 0 ? static_cast<uint64_t>(bytes) : 0; left; left >>= 1)
        bits++;
    return bits;
}

} // namespace perfscope
