#include "replay/row_collectives.h"

namespace perfscope {

RowCollectives collectives_of_rows(const InstanceMembers &instances, const int64_t *carried, const int32_t *call,
                                   size_t rows, size_t calls)
{
    std::vector<int32_t> instance_of(calls, -1);
    for (size_t instance = 0; instance < instances.count; instance++)
        for (int64_t place = instances.starts[instance]; place < instances.starts[instance + 1]; place++)
            instance_of[static_cast<size_t>(instances.members[place])] = static_cast<int32_t>(instance);
    RowCollectives found{std::vector<int64_t>(rows), std::vector<int32_t>(rows)};
    for (size_t row = 0; row < rows; row++) {
        const int32_t instance = call[row] < 0 ? -1 : instance_of[static_cast<size_t>(call[row])];
        if (instance >= 0) {
            found.size[row] = carried[instance];
            found.ranks[row] = static_cast<int32_t>(instances.size_of(static_cast<size_t>(instance)));
        }
    }
    return found;
}

static bool are_close(const CallTimes &calls, const int64_t *left, const int64_t *right, size_t count, int64_t most_ns)
{
    for (size_t member = 0; member < count; member++) {
        const int64_t between = calls.enter[right[member]] - calls.exit[left[member]];
        if (between < 0 || between > most_ns || calls.rank[left[member]] != calls.rank[right[member]])
            return false;
    }
    return true;
}

std::vector<uint8_t> follow_closely(const InstanceMembers &instances, const InstanceKinds &kinds, const CallTimes &calls,
                                    const int64_t *order, size_t count, int64_t most_ns)
{
    std::vector<uint8_t> follows(count);
    for (size_t place = 1; place < count; place++) {
        const auto one = static_cast<size_t>(order[place - 1]), next = static_cast<size_t>(order[place]);
        const size_t size = instances.size_of(next);
        follows[place] = kinds.comm[one] == kinds.comm[next] && kinds.op[one] == kinds.op[next] &&
                         kinds.seq[one] < kinds.seq[next] && kinds.seq[next] - 1 == kinds.seq[one] &&
                         instances.size_of(one) == size &&
                         are_close(calls, instances.members + instances.starts[one],
                                   instances.members + instances.starts[next], size, most_ns);
    }
    return follows;
}

} // namespace perfscope
