// perfscope_engine_probe FORMAT FILE: reads a file with the decoder of its format; exit code 0 read, 3 said what is
// wrong. `kineto-damaged` reads a small file cut at every length and with every bit flipped, and ends with 0.
#include "error.h"
#include "input.h"
#include "probe_layers.h"
#include "probe_matching.h"
#include "probe_otf2.h"
#include "probe_replay.h"
#include "probe_rows.h"
#include "probe_text.h"
#include "reducers/device.h"
#include "decoders/kineto.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

static int reduce_kineto(perfscope::KinetoFile &file)
{
    const perfscope::DeviceRows rows{file.device.data(), file.device.size()};
    const perfscope::Window whole{file.first, file.last};
    const auto devices = perfscope::device_use(rows, {whole});
    const auto streams = perfscope::stream_idle(rows, whole, 30);
    std::printf("kineto: %zu rows of %zu devices and %zu streams, %zu kernels by name, %zu host rows\n", rows.count,
                devices.size(), streams.size(), perfscope::kernel_totals(rows, whole).size(), file.host.size());
    return 0;
}

static int kineto(const char *path)
{
    perfscope::KinetoFile file(path);
    file.read();
    file.finish();
    return reduce_kineto(file);
}

static bool survives(const std::string &text, size_t bytes, size_t block)
{
    perfscope::KinetoFile file("damaged");
    try {
        for (size_t start = 0; start < bytes; start += block)
            file.parser().feed(text.data() + start, std::min(block, bytes - start));
        file.finish();
    } catch (const perfscope::FormatError &) {
        return false;
    }
    const perfscope::DeviceRows rows{file.device.data(), file.device.size()};
    const perfscope::Window whole{file.first, file.last};
    if (file.first <= file.last) {
        perfscope::device_use(rows, {whole});
        perfscope::stream_idle(rows, whole, 30);
        perfscope::kernel_totals(rows, whole);
    }
    return true;
}

static int kineto_damaged(const char *path)
{
    const perfscope::InputFile file(path);
    std::string text(file.size(), '\0');
    file.read_at(0, text.data(), text.size());
    size_t read = 0, refused = 0;
    for (size_t bytes = 0; bytes <= text.size(); bytes++)
        (survives(text, bytes, 1 + bytes % 61) ? read : refused)++;
    for (size_t bit = 0; bit < 8 * text.size(); bit++) {
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
        (survives(text, text.size(), 4096) ? read : refused)++;
        text[bit / 8] = static_cast<char>(text[bit / 8] ^ 1 << bit % 8);
    }
    std::printf("kineto: %zu damaged files read, %zu refused\n", read, refused);
    return 0;
}

int main(int count, char **words)
{
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FORMAT FILE | replay COUNT | layers COUNT | matching COUNT\n", words[0]);
        return 2;
    }
    try {
        if (std::strcmp(words[1], "kineto") == 0)
            return kineto(words[2]);
        if (std::strcmp(words[1], "otf2") == 0)
            return perfscope::probe_otf2(words[2]);
        if (std::strcmp(words[1], "kineto-damaged") == 0)
            return kineto_damaged(words[2]);
        if (std::strcmp(words[1], "replay") == 0) {
            perfscope::replay_random_programs(static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
            perfscope::probe_random_rows(static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
            return 0;
        }
        if (std::strcmp(words[1], "layers") == 0) {
            perfscope::make_random_timelines(static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
            return 0;
        }
        if (std::strcmp(words[1], "matching") == 0) {
            perfscope::match_random_calls(static_cast<unsigned>(std::strtoul(words[2], nullptr, 10)));
            return 0;
        }
        const perfscope::InputFile file(words[2]);
        if (const auto probe = perfscope::text_probe(words[1]))
            return probe(file);
        std::printf("%s: %llu bytes\n", words[1], static_cast<unsigned long long>(file.size()));
        return 0;
    } catch (const perfscope::FormatError &error) {
        std::fprintf(stderr, "%s: byte %llu: %s\n", error.path().c_str(),
                     static_cast<unsigned long long>(error.offset()), error.what());
    } catch (const perfscope::ReadError &error) {
        std::fprintf(stderr, "%s: %s\n", error.path().c_str(), error.what());
    } catch (const perfscope::ReplayError &error) {
        std::fprintf(stderr, "replay: %s\n", error.what());
    }
    return 3;
}
