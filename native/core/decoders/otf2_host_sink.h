// The sink of `reduce`: one location's events as profile, sums and rows.
#pragma once

#include "../reducers/call_stack.h"
#include "../reducers/thinned_series.h"
#include "../reducers/time_bins.h"
#include "otf2_reduce.h"

#include <atomic>
#include <map>

namespace perfscope::otf2 {

// What an export of perfscope says of a region that is entered, in attributes.
struct Facts {
    int64_t step = -1, epoch = -1, samples = 0, global_batch = 0;
    int64_t calls = 0; // that the one stands for, 0: only for itself
    int64_t open = 0;
    int64_t nobody = 0; // which partners are MPI_PROC_NULL: NobodyBit

    uint16_t flags() const
    {
        return static_cast<uint16_t>((open == 1 ? ROW_OPEN : 0) | (calls > 0 ? ROW_COALESCED : 0));
    }
};

// What all locations share while they are reduced.
struct Shared {
    const Archive &archive;
    const Comms &comms;
    const std::vector<RegionRole> &roles;
    Budget budget;
    int64_t bins_begin, bins_end; // ticks
    std::vector<uint32_t> region_index; // of region ids, where these are dense enough
    std::unordered_map<uint64_t, uint32_t> sparse_index;
    std::unordered_map<uint64_t, uint32_t> context_region; // calling context -> region id
    std::unordered_map<uint32_t, const Metric *> metrics;
    std::unordered_map<uint32_t, const MetricMember *> metric_members;
    int32_t silent_peer;
    std::unordered_map<uint64_t, int64_t Facts::*> facts; // of attributes of an export of perfscope
    std::atomic<uint64_t> rows{0}, phases{0};
    std::atomic<bool> too_many_rows{false}, too_many_phases{false};

    Shared(const Archive &archive, const Comms &comms, const std::vector<RegionRole> &roles, Budget budget);
    uint32_t index_of(uint64_t region) const;

private:
    void find_facts();
};

class HostSink {
public:
    HostSink(Shared &shared, uint32_t location, const Locals &locals);

    bool next_chunk();
    bool wants(uint8_t type)
    {
        by_type_[type]++;
        return wanted_[type];
    }
    void enter(uint64_t time, uint64_t region) { begin(time, index_of(region)); }
    void leave(uint64_t time, uint64_t region) { end(time, index_of(region)); }
    void call(uint64_t enter_time, uint64_t leave_time, uint64_t local)
    {
        const uint32_t region = index_of(local);
        if (stack_.totals()[region].role) {
            begin(enter_time, region);
            end(leave_time, region);
        } else {
            stack_.leaf(enter_time, leave_time, region);
        }
    }
    void flush(uint64_t, uint64_t) {}
    void attributes(const Bytes &payload)
    {
        if (!shared_.facts.empty())
            tell(payload);
    }
    void record(uint8_t type, uint64_t time, Bytes &payload);
    LocationResult finish(const EventCounts &counts);

private:
    // What is TOLD of a region without any other role is not of the next one.
    enum Role : uint32_t { MPI = 1, PHASE = 2, DEVICE = 4, TOLD = 8 };
    using Sample = CounterRow;
    // A counter whose values say how much was counted in an interval, added up.
    struct Sum {
        double value = 0;
        bool is_next = false; // of the interval that begins with the value, not of the one that ends
    };

    uint32_t index_of(uint64_t local) const
    {
        return local < direct_.size() ? direct_[local] : shared_.index_of(locals_.global(MapKind::REGION, local));
    }
    void begin(uint64_t time, uint32_t region)
    {
        const RegionTotals &totals = stack_.push(time, region);
        if (totals.role)
            begin_role(time, region, totals);
    }
    void end(uint64_t time, uint32_t region)
    {
        if (stack_.top().region == region)
            pop(time);
        else
            unwind(time, region);
    }
    void pop(uint64_t time)
    {
        const uint32_t region = stack_.top().region;
        const RegionTotals &totals = stack_.pop(time);
        if (totals.role)
            end_role(time, region, totals);
    }
    void unwind(uint64_t time, uint32_t region);
    void begin_role(uint64_t time, uint32_t region, const RegionTotals &totals);
    void end_role(uint64_t time, uint32_t region, const RegionTotals &totals);
    // Of a phase inside of itself the outermost; an export has each as it was recorded.
    bool is_kept(uint64_t depth) const { return depth == 1 || !shared_.facts.empty(); }
    [[gnu::noinline]] void tell(Bytes payload);
    // Apart, or the compiler reads depth and role at once, which must wait for the depth to be written.
    [[gnu::noinline]] void begin_phase(uint64_t time, const RegionRole &role, const RegionTotals &totals);
    [[gnu::noinline]] void end_phase(uint64_t time, const RegionRole &role, const RegionTotals &totals);
    bool count_message(uint8_t type, Bytes &payload);
    void sent(const Transfer &what);
    void got(uint64_t bytes);
    bool message(uint8_t type, uint64_t time, Bytes &payload);
    bool probed_message(uint8_t type, uint64_t time, Bytes &payload);
    bool remote_access(uint8_t type, uint64_t time, Bytes &payload);
    void metric(uint64_t time, Bytes &payload);
    double summed(uint32_t metric, const MetricMember &member, double value);
    void program(uint8_t type, Bytes &payload);
    uint32_t context(Bytes &payload) const;
    Transfer transfer(Bytes &payload) const;
    const CommMembers *comm(uint32_t local) const;
    void find_direct_indices();
    void choose_wanted();
    void keep_profile();
    void keep_counters();
    void keep_bins();

    Shared &shared_;
    uint32_t location_;
    const Locals &locals_;
    TickClock clock_;
    std::vector<uint32_t> direct_; // region index by local id
    CallStack stack_;
    LocationResult result_;
    MpiCalls calls_;
    TimeBins bins_;
    uint64_t by_type_[EVENT_TYPES] = {};
    bool wanted_[EVENT_TYPES] = {};
    bool is_device_, keeps_rows_, keeps_phases_;
    uint64_t mpi_depth_ = 0, mpi_start_ = 0, last_time_ = 0;
    uint64_t told_rows_ = 0, told_phases_ = 0;
    std::vector<size_t> open_phases_, open_devices_; // places in their tables; of steps among the first
    Facts facts_; // of the region that is entered next, where it `is_told_`
    bool is_told_ = false;
    std::unordered_map<uint64_t, size_t> transfers_; // device rows by matching id
    std::unordered_map<uint32_t, ThinnedSeries<Sample>> counters_;
    std::map<uint64_t, Sum> sums_; // by metric and member
};

} // namespace perfscope::otf2
