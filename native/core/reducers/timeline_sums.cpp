#include "reducers/timeline_sums.h"

#include <algorithm>

namespace perfscope {

std::vector<int64_t> spent_by_phase(const TimelineView &timeline, int64_t start, int64_t end, size_t phases,
                                    size_t accounts)
{
    std::vector<int64_t> spent((phases + 1) * accounts);
    const int64_t *const boundaries = timeline.boundaries;
    for (size_t segment = 0; segment < timeline.segments; segment++) {
        const int64_t begin = boundaries[segment];
        if (begin < start || begin >= end || timeline.accounts[segment] >= accounts)
            continue;
        const int64_t phase = timeline.phases[segment];
        const size_t row = phase >= 0 && static_cast<size_t>(phase) < phases ? static_cast<size_t>(phase) + 1 : 0;
        spent[row * accounts + timeline.accounts[segment]] += boundaries[segment + 1] - begin;
    }
    return spent;
}

std::vector<int64_t> spent_by_bin(const TimelineView &timeline, int64_t start, int64_t end, int64_t bin_ns,
                                  size_t accounts)
{
    const int64_t length = std::max<int64_t>(end - start, 0);
    const auto bins = static_cast<size_t>(length / bin_ns + (length % bin_ns != 0));
    std::vector<int64_t> spent(bins * (accounts + 1));
    const int64_t *const last = timeline.boundaries + (timeline.segments ? timeline.segments + 1 : 0);
    const int64_t *next = timeline.boundaries; // the first boundary behind the moment
    size_t bin = 0;
    for (int64_t at = start; at < end; bin++) {
        const int64_t edge = end - at > bin_ns ? at + bin_ns : end;
        while (at < edge) {
            while (next != last && *next <= at)
                ++next;
            const bool is_alive = next != last && next != timeline.boundaries;
            const size_t account = is_alive ? timeline.accounts[next - timeline.boundaries - 1] : accounts;
            const int64_t until = next == last ? edge : std::min(edge, *next);
            spent[bin * (accounts + 1) + std::min(account, accounts)] += until - at;
            at = until;
        }
    }
    return spent;
}

} // namespace perfscope
