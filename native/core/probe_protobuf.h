// Decoders of protocol buffers, fed as the text decoders are, for sanitizers and fuzzers.
#pragma once

#include "decoders/made_events.h"
#include "decoders/perfetto.h"
#include "decoders/xplane.h"

#include <cstring>
#include <string>

namespace perfscope {

constexpr uint64_t MOST_ENTRIES_OF_PROBE = 100000;

inline void begin_events(KinetoFile &file)
{
    static constexpr char HEAD[] = "{\"traceEvents\":[";
    file.parser().feed(HEAD, std::strlen(HEAD));
}

inline void end_events(KinetoFile &file)
{
    file.parser().feed("]}", 2);
    file.finish();
}

// All lines of all planes, as kernels.
class XPlaneProbe {
public:
    explicit XPlaneProbe(std::string path) : file_(std::move(path), MOST_ENTRIES_OF_PROBE) {}
    void feed(const char *data, size_t size) { file_.feed(data, size); }
    void finish()
    {
        file_.finish();
        KinetoFile kineto("probed", true);
        begin_events(kineto);
        for (size_t plane = 0; plane < file_.planes.size(); plane++) {
            std::vector<std::string> names = file_.planes[plane].names;
            names.emplace_back("unknown");
            uint64_t value;
            file_.told(plane, "profile_start_time", value);
            file_.program_devices();
            for (size_t line = 0; line < file_.planes[plane].lines.size(); line++) {
                std::vector<MadeRow> rows;
                for (const XEventRow &event : file_.events(plane, line))
                    rows.push_back({event.t0, event.t1, static_cast<int64_t>(event.correlation), -1,
                                    static_cast<int64_t>(line), 0, 7, event.name, event.told % 2});
                take_made(kineto, rows.data(), rows.size(), names, {"kernel", "cuda_runtime"}, "0");
            }
        }
        end_events(kineto);
    }

private:
    XPlaneFile file_;
};

// All track events, each with an argument more.
class PerfettoProbe {
public:
    explicit PerfettoProbe(std::string path) : trace_(std::move(path), "perfscope.export", MOST_ENTRIES_OF_PROBE) {}
    void feed(const char *data, size_t size) { trace_.feed(data, size); }
    void finish()
    {
        trace_.finish();
        KinetoFile kineto("probed", true);
        begin_events(kineto);
        std::vector<PerfettoMeaning> meanings;
        for (const auto &[category, name] : trace_.kinds)
            meanings.push_back({category, {{"stream", 0}}, {{"correlation", "corr_id"}}});
        trace_.into(kineto, {trace_.used.size(), {"1", "2", "counter", "value"}}, meanings);
        end_events(kineto);
    }

private:
    PerfettoTrace trace_;
};

} // namespace perfscope
