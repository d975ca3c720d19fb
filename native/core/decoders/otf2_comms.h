// Communicators of an OTF2 archive with their members as world ranks.
#pragma once

#include "../reducers/mpi_calls.h"
#include "otf2_definitions.h"

#include <unordered_map>

namespace perfscope::otf2 {

struct NamedComm {
    uint32_t id;     // of the definition, UNDEFINED_32 for a world that the archive does not define
    uint32_t parent; // id
    std::vector<int32_t> members;
};

struct Comms {
    std::vector<uint64_t> world; // location of each world rank; empty where the archive does not speak of MPI ranks
    std::vector<NamedComm> list; // the world first
    std::unordered_map<uint32_t, CommMembers> by_id;

    const CommMembers *find(uint32_t id) const
    {
        const auto found = by_id.find(id);
        return found == by_id.end() ? nullptr : &found->second;
    }
};

Comms build_comms(const Definitions &definitions);

} // namespace perfscope::otf2
