// perfscope._core: the Python interface of the trace engine.
#include "bindings.h"
#include "sources_digest.h"

NB_MODULE(_core, module)
{
    module.doc() = "The trace engine: decoders and reductions that work on a trace in one pass, without the GIL.";
    module.attr("sources") = PERFSCOPE_SOURCES;
    perfscope::bind_devices(module);
    perfscope::bind_errors(module);
    perfscope::bind_horovod_timeline(module);
    perfscope::bind_json_records(module);
    perfscope::bind_kineto(module);
    perfscope::bind_layers(module);
    perfscope::bind_layout(module);
    perfscope::bind_leveling(module);
    perfscope::bind_matching(module);
    perfscope::bind_memory(module);
    perfscope::bind_otf2(module);
    perfscope::bind_packed_times(module);
    perfscope::bind_paraver(module);
    perfscope::bind_protobuf(module);
    perfscope::bind_recording(module);
    perfscope::bind_replay(module);
    perfscope::bind_row_collectives(module);
    perfscope::bind_row_times(module);
    perfscope::bind_row_work(module);
    perfscope::bind_rows(module);
    perfscope::bind_search(module);
    perfscope::bind_wait_sums(module);
}
