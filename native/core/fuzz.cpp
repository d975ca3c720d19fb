// Coverage-guided fuzzing of the decoders with LLVM's libFuzzer: `fuzz --format=FORMAT CORPUS` with FORMAT of
// kineto, horovod, paraver, xplane, perfetto, inspector, rocprof, recording and matching,
// and `fuzz --format=otf2 --archive=ANCHOR --replace=FILE CORPUS`, which reads the archive with FILE's content replaced.
#include "error.h"
#include "probe_matching.h"
#include "probe_otf2.h"
#include "probe_text.h"
#include "reducers/device.h"
#include "decoders/kineto.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace perfscope;

static std::string format, archive, replaced;

static void read_kineto(const std::string &text)
{
    KinetoFile file("fuzzed");
    try {
        file.parser().feed(text.data(), text.size());
        file.finish();
    } catch (const FormatError &) {
        return;
    }
    if (file.first > file.last)
        return;
    const DeviceRows rows{file.device.data(), file.device.size()};
    const Window whole{file.first, file.last};
    device_use(rows, {whole});
    stream_idle(rows, whole, 30);
    kernel_totals(rows, whole);
}

static void read_otf2(const std::string &bytes)
{
    std::FILE *file = std::fopen(replaced.c_str(), "wb");
    if (!file || std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size())
        std::abort();
    std::fclose(file);
    try {
        read_otf2_archive(archive);
    } catch (const FormatError &) {
        return;
    } catch (const ReadError &) {
        return; // changed definitions name locations that have no file
    }
}

static void take(const char *word, const char *name, std::string &into)
{
    if (std::strncmp(word, name, std::strlen(name)) == 0)
        into = word + std::strlen(name);
}

extern "C" int LLVMFuzzerInitialize(int *count, char ***words)
{
    for (int i = 1; i < *count; i++) {
        take((*words)[i], "--format=", format);
        take((*words)[i], "--archive=", archive);
        take((*words)[i], "--replace=", replaced);
    }
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const std::string text(reinterpret_cast<const char *>(data), size);
    if (format == "kineto")
        read_kineto(text);
    else if (format == "horovod")
        reads<HorovodTimeline>(text, 4096);
    else if (format == "paraver")
        reads<ParaverTrace>(text, 4096);
    else if (format == "xplane")
        reads<XPlaneProbe>(text, 4096);
    else if (format == "perfetto")
        reads<PerfettoProbe>(text, 4096);
    else if (format == "inspector")
        reads<InspectorLog>(text, 4096);
    else if (format == "rocprof")
        reads<RocprofProbe>(text, 4096);
    else if (format == "recording")
        reads<RecordedText>(text, 4096);
    else if (format == "matching")
        match_bytes(data, size);
    else if (format == "otf2")
        read_otf2(text);
    else
        std::abort();
    return 0;
}
