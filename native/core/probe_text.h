// Decoders of text that are fed with blocks: read a file whole, or damaged in every way, for the sanitizers.
#pragma once

#include "error.h"
#include "input.h"
#include "probe_protobuf.h"
#include "decoders/horovod_timeline.h"
#include "decoders/inspector.h"
#include "decoders/paraver.h"
#include "decoders/recorded_calls.h"
#include "decoders/rocprof_json.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace perfscope {

// Feeds `text` in blocks; whether it could be read.
template <class Decoder> bool reads(const std::string &text, size_t block)
{
    Decoder decoder("damaged");
    try {
        for (size_t at = 0; at < text.size(); at += block)
            decoder.feed(text.data() + at, std::min(block, text.size() - at));
        decoder.finish();
    } catch (const FormatError &) {
        return false;
    }
    return true;
}

// The records of a process, fed as the other decoders are; rules as of a small world that any moment is in the life of.
class RecordedText {
public:
    explicit RecordedText(const std::string &) {}
    void feed(const char *data, size_t size) { bytes_.append(data, size); }
    void finish()
    {
        std::vector<RecordedRow> records(bytes_.size() / sizeof(RecordedRow));
        if (!records.empty())
            std::memcpy(records.data(), bytes_.data(), records.size() * sizeof(RecordedRow));
        RecordRules rules{1, uint64_t{1} << 62, uint64_t{1} << 60, 8, {}};
        for (int code = 0; code < 256; code++)
            rules.operations.push_back(static_cast<uint8_t>(code % 16));
        RecordedCalls calls(std::move(rules));
        calls.expect(records.size() / 2, 0);
        for (size_t at = 0; at < records.size(); at += BLOCK_RECORDS)
            calls.take(records.data() + at, std::min(BLOCK_RECORDS, records.size() - at));
        calls.close(static_cast<int64_t>(calls.last_ns), {2, {{0, 0}}});
        const std::vector<OperationRow> rows = rows_of(calls.operations);
        operation_totals(rows.data(), rows.size(), 256);
    }

private:
    static constexpr size_t BLOCK_RECORDS = 300; // more than the engine looks at in one go
    std::string bytes_;
};

class RocprofProbe : public RocprofJson {
public:
    explicit RocprofProbe(std::string path)
        : RocprofJson(std::move(path), "rocprofiler-sdk-tool", {"kernel_dispatch", "memory_copy", "hip_api"},
                      {"metadata", "agents", "strings", "kernel_symbols"})
    {
    }
};

template <class Decoder> int read_whole(const InputFile &file)
{
    Decoder decoder(file.path());
    std::string block(1 << 20, '\0');
    for (uint64_t at = 0; at < file.size(); at += block.size())
        decoder.feed(block.data(), file.read_at(at, block.data(), block.size()));
    decoder.finish();
    std::printf("%s: read\n", file.path().c_str());
    return 0;
}

// The first 4 KiB cut at every length in blocks of many sizes, with every bit flipped, and with each byte doubled.
template <class Decoder> int read_damaged(const InputFile &file)
{
    std::string text(4096, '\0');
    text.resize(file.read_at(0, text.data(), text.size()));
    size_t read = 0, refused = 0;
    const auto count = [&](const std::string &damaged, size_t block) {
        (reads<Decoder>(damaged, block) ? read : refused)++;
    };
    for (size_t length = 0; length <= text.size(); length++)
        count(text.substr(0, length), 1 + length % 97);
    for (size_t bit = 0; bit < 8 * text.size(); bit++) {
        std::string damaged = text;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        count(damaged, 1 + bit % 4096);
    }
    for (size_t at = 0; at < text.size(); at++)
        count(text.substr(0, at) + std::string(20, text[at]) + text.substr(at), 512);
    std::printf("%s: %zu damaged files read, %zu refused\n", file.path().c_str(), read, refused);
    return 0;
}

using TextProbe = int (*)(const InputFile &);

// What a word of the command line asks for; nullptr for other formats.
inline TextProbe text_probe(const char *word)
{
    const std::string wanted = word;
    if (wanted == "horovod")
        return read_whole<HorovodTimeline>;
    if (wanted == "horovod-damaged")
        return read_damaged<HorovodTimeline>;
    if (wanted == "paraver")
        return read_whole<ParaverTrace>;
    if (wanted == "recording")
        return read_whole<RecordedText>;
    if (wanted == "recording-damaged")
        return read_damaged<RecordedText>;
    if (wanted == "xplane")
        return read_whole<XPlaneProbe>;
    if (wanted == "xplane-damaged")
        return read_damaged<XPlaneProbe>;
    if (wanted == "perfetto")
        return read_whole<PerfettoProbe>;
    if (wanted == "perfetto-damaged")
        return read_damaged<PerfettoProbe>;
    if (wanted == "inspector")
        return read_whole<InspectorLog>;
    if (wanted == "inspector-damaged")
        return read_damaged<InspectorLog>;
    if (wanted == "rocprof")
        return read_whole<RocprofProbe>;
    if (wanted == "rocprof-damaged")
        return read_damaged<RocprofProbe>;
    return wanted == "paraver-damaged" ? read_damaged<ParaverTrace> : nullptr;
}

} // namespace perfscope
