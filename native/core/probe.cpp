// perfscope_engine_probe FILE: reads a file with the decoder of its format; exit code 0 read, 3 said what is wrong.
#include "error.h"
#include "input.h"
#include "probe_text.h"
#include "sinks/device.h"
#include "sources/kineto.h"

#include <cstdio>
#include <cstring>
#include <exception>

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

int main(int count, char **words)
{
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FORMAT FILE\n", words[0]);
        return 2;
    }
    try {
        if (std::strcmp(words[1], "kineto") == 0)
            return kineto(words[2]);
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
    }
    return 3;
}
