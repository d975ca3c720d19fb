#include "device.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace perfscope {

namespace {

struct Span {
    int64_t t0, t1;
};
using Spans = std::vector<Span>;

struct State {
    int64_t since;
    uint8_t kinds;
};

// Rows that overlap may add up to more than 64 bits hold.
void add(int64_t &sum, int64_t more)
{
    if (__builtin_add_overflow(sum, more, &sum))
        sum = INT64_MAX;
}

void extend(Spans &covered, int64_t t0, int64_t t1)
{
    if (!covered.empty() && t0 <= covered.back().t1)
        covered.back().t1 = std::max(covered.back().t1, t1);
    else if (t1 > t0)
        covered.push_back({t0, t1});
}

// The moments at which the kinds at work change.
std::vector<State> states_of(const std::array<Spans, DEVICE_KINDS> &kinds)
{
    std::vector<State> states;
    std::array<size_t, DEVICE_KINDS> place{};
    uint8_t now = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (size_t kind = 0; kind < DEVICE_KINDS; kind++)
            if (place[kind] < kinds[kind].size()) {
                const Span &interval = kinds[kind][place[kind]];
                next = std::min(next, now >> kind & 1 ? interval.t1 : interval.t0);
            }
        if (next == INT64_MAX)
            return states;
        for (size_t kind = 0; kind < DEVICE_KINDS; kind++) {
            if (place[kind] >= kinds[kind].size())
                continue;
            const Span &interval = kinds[kind][place[kind]];
            const bool is_on = now >> kind & 1;
            if (next != (is_on ? interval.t1 : interval.t0))
                continue;
            now = static_cast<uint8_t>(now ^ 1u << kind);
            place[kind] += is_on;
        }
        states.push_back({next, now});
    }
}

std::array<int64_t, DEVICE_STATES> inside(const std::vector<State> &states, Window window)
{
    std::array<int64_t, DEVICE_STATES> ns{};
    if (window.end <= window.start)
        return ns;
    auto after = std::upper_bound(states.begin(), states.end(), window.start,
                                  [](int64_t moment, const State &state) { return moment < state.since; });
    uint8_t now = after == states.begin() ? 0 : std::prev(after)->kinds;
    int64_t since = window.start;
    for (; after != states.end() && after->since < window.end; ++after) {
        ns[now] += after->since - since;
        since = after->since;
        now = after->kinds;
    }
    ns[now] += window.end - since;
    return ns;
}

// By window, in any order and possibly overlapping, the rows of each kind that begin in it.
std::vector<std::array<int64_t, DEVICE_KINDS>> begun(const std::array<std::vector<int64_t>, DEVICE_KINDS> &starts,
                                                     const std::vector<Window> &windows)
{
    std::vector<std::array<int64_t, DEVICE_KINDS>> counts(windows.size());
    for (size_t i = 0; i < windows.size(); i++)
        for (size_t kind = 0; kind < DEVICE_KINDS; kind++) {
            const auto &all = starts[kind];
            const auto low = std::lower_bound(all.begin(), all.end(), windows[i].start);
            const auto high = std::lower_bound(all.begin(), all.end(), windows[i].end);
            counts[i][kind] = std::max<int64_t>(high - low, 0);
        }
    return counts;
}

} // namespace

std::vector<DeviceUse> device_use(DeviceRows rows, const std::vector<Window> &windows)
{
    struct Device {
        std::array<Spans, DEVICE_KINDS> covered;
        std::array<std::vector<int64_t>, DEVICE_KINDS> starts;
    };
    std::map<int32_t, Device> devices;
    int64_t before = INT64_MIN;
    for (const DeviceRow &row : rows) {
        if (row.t0 < before || row.kind >= DEVICE_KINDS)
            throw std::invalid_argument("device rows are out of order or of an unknown kind");
        before = row.t0;
        Device &device = devices[row.device];
        extend(device.covered[row.kind], row.t0, row.t1);
        device.starts[row.kind].push_back(row.t0);
    }
    std::vector<DeviceUse> found;
    for (const auto &[number, device] : devices) {
        const std::vector<State> states = states_of(device.covered);
        DeviceUse use{number, {}, begun(device.starts, windows)};
        for (const Window window : windows)
            use.ns.push_back(inside(states, window));
        found.push_back(std::move(use));
    }
    return found;
}

std::vector<StreamIdle> stream_idle(DeviceRows rows, Window window, int64_t kernel_wait_below_ns)
{
    struct Open {
        StreamIdle idle;
        int64_t reach; // the end of everything so far
    };
    std::map<std::pair<int32_t, int32_t>, Open> streams;
    for (const DeviceRow &row : rows) {
        const int64_t t0 = std::max(row.t0, window.start), t1 = std::min(row.t1, window.end);
        if (t1 < t0)
            continue;
        const auto [found, is_first] =
            streams.try_emplace({row.device, row.stream}, Open{{row.device, row.stream, 0, 0, 0, 0, 0, 0}, t0});
        Open &open = found->second;
        StreamIdle &idle = open.idle;
        if (is_first)
            idle.edge_ns = t0 - window.start;
        const int64_t gap = t0 - open.reach;
        if (gap > 0) {
            const bool was_late = row.launch != LAUNCH_UNKNOWN && row.launch > open.reach;
            (was_late ? idle.host_wait_ns : gap < kernel_wait_below_ns ? idle.kernel_wait_ns : idle.other_ns) += gap;
        }
        idle.busy_ns += std::max<int64_t>(0, t1 - std::max(t0, open.reach));
        open.reach = std::max(open.reach, t1);
        idle.rows++;
    }
    std::vector<StreamIdle> found;
    for (auto &[place, open] : streams) {
        open.idle.edge_ns += window.end - open.reach;
        found.push_back(open.idle);
    }
    return found;
}

std::vector<KernelTotal> kernel_totals(DeviceRows rows, Window window)
{
    std::unordered_map<uint64_t, KernelTotal> totals;
    for (const DeviceRow &row : rows) {
        if (row.t0 < window.start || row.t0 >= window.end)
            continue;
        const uint64_t key = static_cast<uint64_t>(static_cast<uint32_t>(row.name)) << 16 | row.kind;
        KernelTotal &total =
            totals.try_emplace(key, KernelTotal{row.name, row.kind, 0, 0, INT64_MAX, 0, 0, 0, 0}).first->second;
        const int64_t length = row.t1 - row.t0;
        total.count++;
        add(total.total_ns, length);
        total.least_ns = std::min(total.least_ns, length);
        total.most_ns = std::max(total.most_ns, length);
        add(total.bytes, std::max<int64_t>(row.bytes, 0));
        if (row.launch != LAUNCH_UNKNOWN) {
            total.launched++;
            add(total.launch_delay_ns, row.t0 - row.launch);
        }
    }
    std::vector<KernelTotal> found;
    found.reserve(totals.size());
    for (const auto &[key, total] : totals)
        found.push_back(total);
    std::sort(found.begin(), found.end(), [](const KernelTotal &a, const KernelTotal &b) {
        return std::make_tuple(-a.total_ns, a.name, a.kind) < std::make_tuple(-b.total_ns, b.name, b.kind);
    });
    return found;
}

} // namespace perfscope
