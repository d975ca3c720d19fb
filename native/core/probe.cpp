// perfscope_engine_probe FORMAT FILE: reads a file with the decoder of its format; exit code 0 read, 3 said what is
// wrong. With - for FILE the names of files come from standard input, one a line, and each is answered by a line.
#include "error.h"
#include "input.h"
#include "sinks/device.h"
#include "sources/kineto.h"
#include "sources/otf2_columns.h"
#include "sources/otf2_reduce.h"

#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

static int kineto(const char *path)
{
    perfscope::KinetoFile file(path);
    file.read();
    file.finish();
    const perfscope::DeviceRows rows{file.device.data(), file.device.size()};
    const perfscope::Window whole{file.first, file.last};
    const auto devices = perfscope::device_use(rows, {whole});
    const auto streams = perfscope::stream_idle(rows, whole, 30);
    std::printf("kineto: %zu rows of %zu devices and %zu streams, %zu kernels by name, %zu host rows\n", rows.count,
                devices.size(), streams.size(), perfscope::kernel_totals(rows, whole).size(), file.host.size());
    return 0;
}

// Everything that can be asked of an archive: columns with and without corrections, and the reduction with and
// without a budget that it keeps.
static int otf2(const char *path)
{
    using namespace perfscope::otf2;
    const Archive archive = open_archive(path);
    const Comms comms = build_comms(archive.definitions);
    uint64_t events = 0;
    for (size_t i = 0; i < archive.definitions.locations.size(); i++) {
        events += decode_events(archive, i, true, true).types.size();
        decode_events(archive, i, false, false);
    }
    std::vector<RegionRole> roles(archive.definitions.regions.size());
    for (size_t i = 0; i < roles.size(); i++)
        roles[i] = {static_cast<uint16_t>(i % 3 ? 53 : 0), static_cast<uint8_t>(i % 3), 1, 0};
    size_t rows = 0;
    for (const uint64_t most : {uint64_t{1000000}, uint64_t{1}})
        for (const auto &location : reduce(archive, comms, roles, {most, most, 16, 0}, 2).locations)
            rows += location.operations.size() + location.phases.size() + location.counters.size();
    std::printf("otf2: %llu events, %zu rows\n", static_cast<unsigned long long>(events), rows);
    return 0;
}

static int read(const char *format, const char *path)
{
    try {
        if (std::strcmp(format, "kineto") == 0)
            return kineto(path);
        if (std::strcmp(format, "otf2") == 0)
            return otf2(path);
        const perfscope::InputFile file(path);
        std::printf("%s: %llu bytes\n", format, static_cast<unsigned long long>(file.size()));
        return 0;
    } catch (const perfscope::FormatError &error) {
        std::printf("%s: byte %llu: %s\n", error.path().c_str(), static_cast<unsigned long long>(error.offset()),
                    error.what());
    } catch (const perfscope::ReadError &error) {
        std::printf("%s: %s\n", error.path().c_str(), error.what());
    }
    return 3;
}

int main(int count, char **words)
{
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FORMAT FILE\n", words[0]);
        return 2;
    }
    if (std::strcmp(words[2], "-") != 0)
        return read(words[1], words[2]);
    for (std::string path; std::getline(std::cin, path);) {
        read(words[1], path.c_str());
        std::fflush(stdout);
    }
    return 0;
}
