// All locations of an OTF2 archive reduced in one pass: profile, sums, MPI calls, phases, device work, counters.
#pragma once

#include "../reducers/mpi_calls.h"
#include "otf2_archive.h"
#include "otf2_comms.h"

#include <string>
#include <vector>

namespace perfscope::otf2 {

// What a region is, told by the reader for each entry of Definitions::regions.
struct RegionRole {
    static constexpr uint8_t SAMPLED = 0x80, STEP = 0x40; // beside the kind; a step is no phase

    uint16_t op = 0;    // OperationCode of an MPI call, 0 none
    uint8_t call = 0;   // CallKind
    uint8_t phase = 0;  // PhaseKind and the marks above, 0 none
    int32_t name = -1;  // of the phase
};

struct Budget {
    uint64_t rows = 0;             // MPI calls and their completions, of all locations together; 0: only profile and sums
    uint64_t phases = 0;           // phases and device work, of all locations together
    uint64_t counter_samples = 0;  // of each counter on each location
    uint32_t bins = 0;             // by which the time in MPI is kept where the calls are not; 0 none
};

#pragma pack(push, 1)
struct ProfileRow {
    uint32_t region; // index in Definitions::regions, their number for calls of undefined ones
    uint32_t location;
    uint64_t count;
    int64_t inclusive, exclusive; // ticks
};
struct CounterRow {
    int64_t time; // ns
    uint32_t location;
    uint32_t member; // id of the metric member
    double value;
};
struct StreamRow {
    int64_t t0, t1; // ns
    uint32_t location;
    uint32_t region; // as in ProfileRow, UINT32_MAX for a memory operation
    uint64_t bytes;
    uint8_t kind; // StreamWork
};
#pragma pack(pop)
enum class StreamWork : uint8_t { CALL, PUT, GET };

struct LocationResult {
    EventCounts counts;
    std::vector<uint64_t> by_type; // events of each type
    int64_t mpi_ticks = 0; // in the outermost MPI calls
    uint64_t mpi_calls = 0;
    uint64_t messages_sent = 0, messages_received = 0, bytes_sent = 0, bytes_received = 0;
    uint64_t stray_leaves = 0, left_open = 0, stray_messages = 0, undefined_regions = 0;
    uint64_t unstarted_requests = 0;
    bool counters_thinned = false;
    uint64_t clock_measurements = 0; // of the distance to the global clock
    std::vector<uint32_t> program; // texts of the program's name and arguments, where its begin is recorded
    bool has_exit_status = false;
    int64_t exit_status = 0;
    std::vector<ProfileRow> profile;
    std::vector<OperationRow> operations, completions;
    std::vector<PhaseRow> phases;
    std::vector<StepRow> steps;
    std::vector<StreamRow> devices;
    std::vector<CounterRow> counters;
};

struct Reduction {
    std::vector<LocationResult> locations; // in the order of the definitions
    bool rows_dropped = false, phases_dropped = false;
};

// Reduces the archive on `threads` threads. Above the budget the kind of rows that is too many is left out altogether,
// and so that nothing depends on which location came first.
Reduction reduce(const Archive &archive, const Comms &comms, const std::vector<RegionRole> &roles, Budget budget,
                 unsigned threads);

// Nanoseconds since the beginning of the trace.
class TickClock {
public:
    explicit TickClock(const Clock &clock) : offset_(clock.offset), resolution_(clock.resolution) {}
    int64_t ns(uint64_t ticks) const
    {
        const auto distance = static_cast<int64_t>(ticks - offset_);
        if (resolution_ == 1000000000)
            return distance;
        const __int128 scaled = static_cast<__int128>(distance) * 1000000000;
        const __int128 half = resolution_ / 2;
        const __int128 rounded = (scaled >= 0 ? scaled + half : scaled - half) / static_cast<__int128>(resolution_);
        return rounded > LIMIT ? LIMIT : rounded < -LIMIT ? -LIMIT : static_cast<int64_t>(rounded);
    }
    static constexpr int64_t LIMIT = INT64_C(1) << 61; // 73 years: what lies beyond comes from a damaged file

private:
    uint64_t offset_, resolution_;
};

} // namespace perfscope::otf2
