#include "otf2_reduce.h"

#include "../parallel.h"
#include "otf2_host_sink.h"

#include <algorithm>

namespace perfscope::otf2 {

static void check_range(const Archive &archive, const Location &location, const EventCounts &counts)
{
    const TickClock clock(archive.definitions.clock);
    const auto is_odd = [&clock](int64_t ticks) {
        const int64_t ns = clock.ns(static_cast<uint64_t>(ticks));
        return ns >= TickClock::LIMIT || ns <= -TickClock::LIMIT;
    };
    if (counts.events && (is_odd(counts.first) || is_odd(counts.last) || counts.last / 2 - counts.first / 2 > INT64_MAX / 4))
        throw FormatError(archive.events_path(location), 0,
                          "times lie decades away from the beginning of the trace: the file is damaged");
}

static LocationResult reduce_location(Shared &shared, uint32_t index)
{
    const Archive &archive = shared.archive;
    const Location &location = archive.definitions.locations[index];
    const Locals locals = read_locals(archive.anchor, location.id);
    HostSink sink(shared, index, locals);
    try {
        const EventCounts counts = walk_location(archive, location, ClockCorrection(&locals.clock), sink);
        sink.next_chunk(); // tells the rows of the last chunk
        LocationResult result = sink.finish(counts);
        check_range(archive, location, result.counts);
        return result;
    } catch (const std::length_error &) {
        throw FormatError(archive.events_path(location), 0, "calls nest deeper than a million levels");
    }
}

static Reduction attempt(Shared &shared, unsigned threads)
{
    Reduction result;
    result.locations.resize(shared.archive.definitions.locations.size());
    parallel_for(result.locations.size(), threads, [&](size_t i) {
        if (!shared.too_many_rows && !shared.too_many_phases)
            result.locations[i] = reduce_location(shared, static_cast<uint32_t>(i));
    });
    return result;
}

// Whether the bins of the attempt reached over all that happened; if not they are set so that the next ones do.
static bool bins_cover(Shared &shared, const Reduction &result)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const LocationResult &location : result.locations) {
        if (!location.counts.events)
            continue;
        first = std::min(first, location.counts.first);
        last = std::max(last, location.counts.last);
    }
    if (first > last || (first >= shared.bins_begin && last <= shared.bins_end))
        return true;
    shared.bins_begin = std::min(first, shared.bins_begin);
    shared.bins_end = std::max(last, shared.bins_end);
    return false;
}

Reduction reduce(const Archive &archive, const Comms &comms, const std::vector<RegionRole> &roles, Budget budget,
                 unsigned threads)
{
    static constexpr uint64_t BINS_OF_ALL = 1 << 20;
    const uint64_t locations = archive.definitions.locations.size();
    bool rows_dropped = false, phases_dropped = false, is_binned = false;
    Shared ranges(archive, comms, roles, budget);
    for (;;) {
        Shared shared(archive, comms, roles, budget);
        shared.bins_begin = ranges.bins_begin;
        shared.bins_end = ranges.bins_end;
        Reduction result = attempt(shared, threads);
        if (shared.too_many_rows) {
            rows_dropped = true;
            budget.rows = 0;
            budget.bins = static_cast<uint32_t>(std::clamp<uint64_t>(BINS_OF_ALL / locations, 16, 4096));
        } else if (shared.too_many_phases) {
            phases_dropped = true;
            budget.phases = 0;
        } else if (budget.bins && !is_binned && !bins_cover(ranges, result)) {
            is_binned = true;
        } else {
            result.rows_dropped = rows_dropped;
            result.phases_dropped = phases_dropped;
            return result;
        }
    }
}

} // namespace perfscope::otf2
