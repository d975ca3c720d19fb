#include "otf2_comms.h"

#include <algorithm>
#include <numeric>

namespace perfscope::otf2 {

using Groups = std::unordered_map<uint32_t, const Group *>;

static bool is_of(const Group &group, GroupType type)
{
    return group.paradigm == PARADIGM_MPI && group.type == static_cast<uint8_t>(type);
}

static std::vector<int32_t> members_of(const Group &group, size_t ranks)
{
    std::vector<int32_t> members;
    members.reserve(group.members.size());
    for (const uint64_t rank : group.members)
        members.push_back(rank < ranks ? static_cast<int32_t>(rank) : PEER_UNKNOWN);
    return members;
}

static bool is_world(const std::vector<int32_t> &members, size_t ranks)
{
    for (size_t i = 0; i < members.size(); i++)
        if (members[i] != static_cast<int32_t>(i))
            return false;
    return members.size() == ranks;
}

Comms build_comms(const Definitions &definitions)
{
    Comms comms;
    Groups groups;
    for (const Group &group : definitions.groups) {
        groups[group.id] = &group;
        if (comms.world.empty() && is_of(group, GroupType::COMM_LOCATIONS))
            comms.world = group.members;
    }
    const size_t ranks = comms.world.size();
    if (!ranks)
        return comms;
    std::vector<const Comm *> others;
    for (const Comm &comm : definitions.comms) {
        const auto group = groups.find(comm.group);
        if (comm.is_inter || group == groups.end())
            continue;
        if (is_of(*group->second, GroupType::COMM_SELF))
            comms.by_id[comm.id].index = COMM_SELF;
        if (!is_of(*group->second, GroupType::COMM_GROUP))
            continue;
        std::vector<int32_t> members = members_of(*group->second, ranks);
        if (comms.list.empty() && is_world(members, ranks))
            comms.list.push_back({comm.id, comm.parent, std::move(members)});
        else
            others.push_back(&comm);
    }
    if (comms.list.empty()) {
        std::vector<int32_t> everyone(ranks);
        std::iota(everyone.begin(), everyone.end(), 0);
        comms.list.push_back({UNDEFINED_32, UNDEFINED_32, std::move(everyone)});
    }
    for (const Comm *comm : others)
        comms.list.push_back({comm->id, comm->parent, members_of(*groups[comm->group], ranks)});
    for (size_t i = 0; i < comms.list.size(); i++)
        if (comms.list[i].id != UNDEFINED_32)
            comms.by_id[comms.list[i].id] = {static_cast<int32_t>(i), comms.list[i].members};
    return comms;
}

} // namespace perfscope::otf2
