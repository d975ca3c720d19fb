#include "otf2_host_sink.h"

#include <algorithm>

namespace perfscope::otf2 {

static constexpr uint64_t DIRECT_SLACK = 4096; // a table by id may have so many holes, and four times its entries

static constexpr uint64_t LONGEST_BINS = uint64_t{1} << 40; // ticks

static bool is_complete(const Anchor &anchor)
{
    return anchor.property("OTF2::MPI_COMMUNICATION_COMPLETE") == "true";
}

Shared::Shared(const Archive &archive_, const Comms &comms_, const std::vector<RegionRole> &roles_, Budget budget_)
    : archive(archive_), comms(comms_), roles(roles_), budget(budget_)
{
    const Clock &clock = archive.definitions.clock;
    bins_begin = static_cast<int64_t>(clock.offset);
    // the length may be damaged; what it does not cover is found out and covered then
    bins_end = bins_begin + static_cast<int64_t>(std::min<uint64_t>(clock.length, LONGEST_BINS));
    silent_peer = is_complete(archive.anchor) ? PEER_PROC_NULL : PEER_UNKNOWN;
    if (archive.anchor.creator.rfind("perfscope ", 0) == 0)
        find_facts();
    const auto &regions = archive.definitions.regions;
    const auto none = static_cast<uint32_t>(regions.size());
    uint64_t highest = 0;
    for (const Region &region : regions)
        highest = std::max<uint64_t>(highest, region.id);
    if (highest < 4 * regions.size() + DIRECT_SLACK)
        region_index.assign(highest + 1, none);
    for (uint32_t i = 0; i < regions.size(); i++) {
        if (region_index.empty())
            sparse_index[regions[i].id] = i;
        else
            region_index[regions[i].id] = i;
    }
    for (const CallingContext &context : archive.definitions.calling_contexts)
        context_region[context.id] = context.region;
    for (const Metric &metric : archive.definitions.metrics)
        metrics[metric.id] = &metric;
    for (const MetricMember &member : archive.definitions.metric_members)
        metric_members[member.id] = &member;
}

void Shared::find_facts()
{
    static const std::pair<const char *, int64_t Facts::*> NAMED[] = {
        {"step", &Facts::step},   {"epoch", &Facts::epoch}, {"samples", &Facts::samples},
        {"calls", &Facts::calls}, {"open", &Facts::open},   {"global_batch", &Facts::global_batch},
        {"nobody", &Facts::nobody},
    };
    for (const Attribute &attribute : archive.definitions.attributes)
        for (const auto &[name, fact] : NAMED)
            if (archive.definitions.text(attribute.name) == name)
                facts[attribute.id] = fact;
}

uint32_t Shared::index_of(uint64_t region) const
{
    if (region < region_index.size())
        return region_index[region];
    const auto found = sparse_index.find(region);
    return found == sparse_index.end() ? static_cast<uint32_t>(roles.size()) : found->second;
}

HostSink::HostSink(Shared &shared, uint32_t location, const Locals &locals)
    : shared_(shared), location_(location), locals_(locals), clock_(shared.archive.definitions.clock),
      stack_(shared.roles.size() + 1), calls_(location + 1, shared.silent_peer)
{
    const auto type = static_cast<LocationType>(shared.archive.definitions.locations[location].type);
    is_device_ = type == LocationType::ACCELERATOR_STREAM;
    keeps_rows_ = shared.budget.rows > 0;
    keeps_phases_ = shared.budget.phases > 0;
    if (shared.budget.bins && !is_device_)
        bins_ = TimeBins(shared.bins_begin, shared.bins_end, shared.budget.bins);
    auto &totals = stack_.totals();
    for (size_t i = 0; i < totals.size(); i++) {
        const RegionRole role = i < shared.roles.size() ? shared.roles[i] : RegionRole{};
        if (is_device_)
            totals[i].role = keeps_phases_ * DEVICE;
        else
            totals[i].role = (role.op != 0) * MPI + (role.phase && keeps_phases_) * PHASE;
        if (!totals[i].role && !shared.facts.empty() && i < shared.roles.size())
            totals[i].role = TOLD;
    }
    find_direct_indices();
    choose_wanted();
}

void HostSink::choose_wanted()
{
    static constexpr uint8_t CALLS[] = {
        MPI_IRECV_REQUEST,     MPI_ISEND_COMPLETE,              MPI_REQUEST_CANCELLED,
        MPI_COLLECTIVE_END,    NON_BLOCKING_COLLECTIVE_REQUEST, NON_BLOCKING_COLLECTIVE_COMPLETE,
        MPI_PROBE,             MPI_IMRECV_REQUEST,
    };
    static constexpr uint8_t ACCESSES[] = {
        RMA_PUT, RMA_GET, RMA_OP_COMPLETE_BLOCKING, RMA_OP_COMPLETE_NON_BLOCKING, RMA_OP_COMPLETE_REMOTE,
    };
    for (const uint8_t type : {CALLING_CONTEXT_ENTER, CALLING_CONTEXT_LEAVE, MPI_SEND, MPI_ISEND, MPI_RECV, MPI_IRECV,
                               MPI_MRECV, MPI_IMRECV, PROGRAM_BEGIN, PROGRAM_END})
        wanted_[type] = true;
    for (const uint8_t type : CALLS)
        wanted_[type] = keeps_rows_;
    for (const uint8_t type : ACCESSES)
        wanted_[type] = is_device_ && keeps_phases_;
    wanted_[METRIC] = shared_.budget.counter_samples > 0;
}

void HostSink::find_direct_indices()
{
    const IdTable &table = locals_.tables[static_cast<size_t>(MapKind::REGION)];
    if (table.is_empty()) {
        direct_ = shared_.region_index;
        return;
    }
    uint64_t highest = table.dense().size();
    for (const auto &[local, global] : table.sparse())
        highest = local < 4 * table.sparse().size() + DIRECT_SLACK ? std::max(highest, local + 1) : highest;
    direct_.resize(highest);
    for (uint64_t local = 0; local < highest; local++)
        direct_[local] = shared_.index_of(table.global(local));
}

bool HostSink::next_chunk()
{
    const uint64_t rows = calls_.size(), phases = result_.phases.size() + result_.steps.size() + result_.devices.size();
    if (keeps_rows_ && (shared_.rows += rows - told_rows_) > shared_.budget.rows)
        shared_.too_many_rows = true;
    if (keeps_phases_ && (shared_.phases += phases - told_phases_) > shared_.budget.phases)
        shared_.too_many_phases = true;
    told_rows_ = rows;
    told_phases_ = phases;
    return !shared_.too_many_rows && !shared_.too_many_phases;
}

void HostSink::unwind(uint64_t time, uint32_t region)
{
    if (!stack_.totals()[region].depth) {
        result_.stray_leaves++;
        return;
    }
    while (stack_.top().region != region) { // ends what was left without a leave
        result_.left_open++;
        pop(time);
    }
    pop(time);
}

void HostSink::begin_role(uint64_t time, uint32_t region, const RegionTotals &totals)
{
    if (totals.role & DEVICE) {
        open_devices_.push_back(result_.devices.size());
        const int64_t at = clock_.ns(time);
        result_.devices.push_back({at, at, location_, region, 0, static_cast<uint8_t>(StreamWork::CALL)});
        return;
    }
    const RegionRole &role = shared_.roles[region];
    if ((totals.role & MPI) && mpi_depth_++ == 0) {
        mpi_start_ = time;
        result_.mpi_calls++;
        if (keeps_rows_) {
            calls_.begin(clock_.ns(time), role.op, static_cast<CallKind>(role.call));
            if (is_told_)
                calls_.told(facts_.flags(), facts_.calls, facts_.nobody);
        }
    }
    if (totals.role & PHASE)
        begin_phase(time, role, totals);
    if (is_told_)
        facts_ = Facts();
    is_told_ = false;
}

void HostSink::begin_phase(uint64_t time, const RegionRole &role, const RegionTotals &totals)
{
    if (!is_kept(totals.depth))
        return;
    const int64_t at = clock_.ns(time);
    const auto epoch = static_cast<int32_t>(std::clamp<int64_t>(facts_.epoch, -1, INT32_MAX));
    if (role.phase & RegionRole::STEP) {
        open_phases_.push_back(result_.steps.size());
        result_.steps.push_back({at, at, facts_.step, epoch, facts_.samples, facts_.global_batch});
        return;
    }
    open_phases_.push_back(result_.phases.size());
    const auto kind = static_cast<uint16_t>(role.phase & ~RegionRole::SAMPLED);
    const auto flags = static_cast<uint16_t>(facts_.flags() | (role.phase & RegionRole::SAMPLED ? ROW_SAMPLED : 0));
    result_.phases.push_back({at, at, kind, flags, location_ + 1, role.name, facts_.step, epoch});
}

void HostSink::end_role(uint64_t time, uint32_t region, const RegionTotals &totals)
{
    if (totals.role & DEVICE) {
        StreamRow &row = result_.devices[open_devices_.back()];
        const int64_t start = row.t0, stop = clock_.ns(time);
        row.t1 = stop > start ? stop : start;
        open_devices_.pop_back();
        return;
    }
    if ((totals.role & MPI) && --mpi_depth_ == 0) {
        result_.mpi_ticks = wrapping_sum(result_.mpi_ticks, static_cast<int64_t>(time - mpi_start_));
        if (keeps_rows_)
            calls_.end(clock_.ns(time), 0);
        if (bins_.is_used())
            bins_.add(static_cast<int64_t>(mpi_start_), static_cast<int64_t>(time));
    }
    if (totals.role & PHASE)
        end_phase(time, shared_.roles[region], totals);
}

void HostSink::end_phase(uint64_t time, const RegionRole &role, const RegionTotals &totals)
{
    if (!is_kept(totals.depth + 1))
        return;
    const size_t place = open_phases_.back();
    const bool is_step = role.phase & RegionRole::STEP;
    int64_t &end = is_step ? result_.steps[place].t1 : result_.phases[place].t1;
    end = std::max(end, clock_.ns(time)); // it is where the row begins
    open_phases_.pop_back();
}

LocationResult HostSink::finish(const EventCounts &counts)
{
    result_.counts = counts;
    result_.clock_measurements = locals_.clock_measurements;
    if (counts.events && counts.first > counts.last)
        result_.counts.first = result_.counts.last = static_cast<int64_t>(shared_.archive.definitions.clock.offset);
    const auto last = static_cast<uint64_t>(result_.counts.last);
    while (stack_.depth()) { // the location ended inside them
        const RegionTotals &totals = stack_.totals()[stack_.top().region];
        result_.left_open++;
        if ((totals.role & MPI) && mpi_depth_ == 1 && keeps_rows_)
            calls_.end(clock_.ns(last), ROW_OPEN);
        if ((totals.role & PHASE) && is_kept(totals.depth) &&
            !(shared_.roles[stack_.top().region].phase & RegionRole::STEP))
            result_.phases[open_phases_.back()].flags |= ROW_OPEN;
        pop(last);
    }
    result_.stray_messages = calls_.stray;
    result_.unstarted_requests = calls_.unstarted;
    result_.undefined_regions = stack_.totals().back().count;
    keep_profile();
    keep_counters();
    if (bins_.is_used())
        keep_bins();
    else
        result_.operations = std::move(calls_.rows);
    result_.completions = std::move(calls_.completions);
    return std::move(result_);
}

void HostSink::keep_profile()
{
    const auto &totals = stack_.totals();
    uint64_t calls = 0;
    for (uint32_t region = 0; region < totals.size(); region++) {
        if (!totals[region].count)
            continue;
        calls += totals[region].count;
        result_.profile.push_back(
            {region, location_, totals[region].count, totals[region].inclusive, totals[region].exclusive});
    }
    result_.by_type.assign(by_type_, by_type_ + EVENT_TYPES);
    result_.by_type[ENTER] = calls - result_.by_type[CALLING_CONTEXT_ENTER];
    result_.by_type[LEAVE] =
        calls - result_.left_open + result_.stray_leaves - result_.by_type[CALLING_CONTEXT_LEAVE];
}

void HostSink::keep_counters()
{
    const int64_t end = clock_.ns(static_cast<uint64_t>(result_.counts.last));
    for (const auto &[key, sum] : sums_) { // what was counted from the last value on
        const auto member = static_cast<uint32_t>(key);
        if (sum.is_next)
            counters_.at(member).add({end, location_, member, sum.value});
    }
    std::vector<uint32_t> members;
    for (const auto &entry : counters_)
        members.push_back(entry.first);
    std::sort(members.begin(), members.end());
    for (const uint32_t member : members) {
        auto &series = counters_.at(member);
        result_.counters_thinned |= series.is_thinned();
        const auto kept = series.take();
        result_.counters.insert(result_.counters.end(), kept.begin(), kept.end());
    }
}

void HostSink::keep_bins()
{
    for (size_t bin = 0; bin < bins_.size(); bin++) {
        if (!bins_.count(bin) && !bins_.spent(bin))
            continue;
        OperationRow row{};
        row.t0 = clock_.ns(static_cast<uint64_t>(bins_.start(bin)));
        row.t1 = clock_.ns(static_cast<uint64_t>(bins_.start(bin) + bins_.spent(bin)));
        row.op = 0;
        row.flags = ROW_COALESCED;
        row.tid = location_ + 1;
        row.comm = row.tag = -1;
        row.seq = -1;
        row.peer = PEER_NONE;
        row.request = static_cast<int64_t>(bins_.count(bin));
        result_.operations.push_back(row);
    }
}

} // namespace perfscope::otf2
