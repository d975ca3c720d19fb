#include "probe_otf2.h"

#include "decoders/otf2_columns.h"
#include "decoders/otf2_reduce.h"

#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>

namespace perfscope {

// Columns with and without corrections, and the reduction within a budget and above it.
void read_otf2_archive(const std::string &path)
{
    using namespace otf2;
    const Archive archive = open_archive(path);
    const Comms comms = build_comms(archive.definitions);
    uint64_t events = 0;
    for (size_t i = 0; i < archive.definitions.locations.size(); i++) {
        events += decode_events(archive, i, true, true).types.size();
        decode_events(archive, i, false, false);
    }
    std::vector<RegionRole> roles(archive.definitions.regions.size());
    for (size_t i = 0; i < roles.size(); i++)
        roles[i] = {static_cast<uint16_t>(i % 3 ? 53 : 0), static_cast<uint8_t>(i % 7), 1, 0};
    size_t rows = 0;
    for (const uint64_t most : {uint64_t{1000000}, uint64_t{1}})
        for (const auto &location : reduce(archive, comms, roles, {most, most, 16, 0}, 2).locations)
            rows += location.operations.size() + location.phases.size() + location.counters.size();
    std::printf("otf2: %llu events, %zu rows\n", static_cast<unsigned long long>(events), rows);
}

int probe_otf2(const char *path)
{
    if (std::strcmp(path, "-") != 0) {
        read_otf2_archive(path);
        return 0;
    }
    for (std::string line; std::getline(std::cin, line); std::fflush(stdout)) {
        try {
            read_otf2_archive(line);
        } catch (const FormatError &error) {
            std::printf("%s: byte %llu: %s\n", error.path().c_str(), static_cast<unsigned long long>(error.offset()),
                        error.what());
        } catch (const ReadError &error) {
            std::printf("%s: %s\n", error.path().c_str(), error.what());
        }
    }
    return 0;
}

} // namespace perfscope
