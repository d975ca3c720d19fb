// What each part of the engine adds to the module.
#pragma once

#include <nanobind/nanobind.h>

namespace perfscope {

void bind_devices(nanobind::module_ &module);
void bind_errors(nanobind::module_ &module);
void bind_horovod_timeline(nanobind::module_ &module);
void bind_json_records(nanobind::module_ &module);
void bind_kineto(nanobind::module_ &module);
void bind_layers(nanobind::module_ &module);
void bind_layout(nanobind::module_ &module);
void bind_leveling(nanobind::module_ &module);
void bind_matching(nanobind::module_ &module);
void bind_memory(nanobind::module_ &module);
void bind_otf2(nanobind::module_ &module);
void bind_packed_times(nanobind::module_ &module);
void bind_paraver(nanobind::module_ &module);
void bind_protobuf(nanobind::module_ &module);
void bind_recording(nanobind::module_ &module);
void bind_replay(nanobind::module_ &module);
void bind_row_collectives(nanobind::module_ &module);
void bind_row_times(nanobind::module_ &module);
void bind_row_work(nanobind::module_ &module);
void bind_rows(nanobind::module_ &module);
void bind_search(nanobind::module_ &module);
void bind_wait_sums(nanobind::module_ &module);

} // namespace perfscope
