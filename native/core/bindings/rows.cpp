// The layouts of packed rows, for the test that compares them with the trace model.
#include "bindings.h"
#include "rows.h"
#include "decoders/inspector.h"
#include "decoders/made_events.h"
#include "decoders/recorded_calls.h"
#include "decoders/rocprof_json.h"
#include "decoders/xplane.h"

#include <cstddef>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace perfscope {

using Layout = std::map<std::string, size_t>;

static std::map<std::string, Layout> row_layouts()
{
#define AT(row, field) {#field, offsetof(row, field)}
    return {
        {"devices",
         {AT(DeviceRow, t0), AT(DeviceRow, t1), AT(DeviceRow, launch), AT(DeviceRow, correlation),
          AT(DeviceRow, bytes), AT(DeviceRow, seq), AT(DeviceRow, name), AT(DeviceRow, device), AT(DeviceRow, stream),
          AT(DeviceRow, comm), AT(DeviceRow, op), AT(DeviceRow, kind), AT(DeviceRow, flags), AT(DeviceRow, members),
          {"", sizeof(DeviceRow)}}},
        {"operations",
         {AT(OperationRow, t0), AT(OperationRow, t1), AT(OperationRow, op), AT(OperationRow, flags),
          AT(OperationRow, tid), AT(OperationRow, comm), AT(OperationRow, seq), AT(OperationRow, peer),
          AT(OperationRow, tag), AT(OperationRow, sent), AT(OperationRow, received), AT(OperationRow, request),
          {"", sizeof(OperationRow)}}},
        {"phases",
         {AT(PhaseRow, t0), AT(PhaseRow, t1), AT(PhaseRow, kind), AT(PhaseRow, flags), AT(PhaseRow, tid),
          AT(PhaseRow, name), AT(PhaseRow, step), AT(PhaseRow, epoch), {"", sizeof(PhaseRow)}}},
        {"records",
         {AT(RecordedRow, t0_ns), AT(RecordedRow, t1_ns), AT(RecordedRow, kind), AT(RecordedRow, op),
          AT(RecordedRow, tid), AT(RecordedRow, comm), AT(RecordedRow, seq), AT(RecordedRow, peer),
          AT(RecordedRow, tag), AT(RecordedRow, sent), AT(RecordedRow, received), AT(RecordedRow, request),
          {"", sizeof(RecordedRow)}}},
        {"inspector",
         {AT(InspectorRow, group), AT(InspectorRow, name), AT(InspectorRow, rank), AT(InspectorRow, is_message),
          AT(InspectorRow, number), AT(InspectorRow, bytes), AT(InspectorRow, us), AT(InspectorRow, gbs),
          {"", sizeof(InspectorRow)}}},
        {"rocprof",
         {AT(RocprofRow, t0), AT(RocprofRow, t1), AT(RocprofRow, call), AT(RocprofRow, thread), AT(RocprofRow, agent),
          AT(RocprofRow, source), AT(RocprofRow, target), AT(RocprofRow, queue), AT(RocprofRow, bytes), AT(RocprofRow, kernel),
          AT(RocprofRow, kind), AT(RocprofRow, operation), AT(RocprofRow, list), {"", sizeof(RocprofRow)}}},
        {"made",
         {AT(MadeRow, t0), AT(MadeRow, t1), AT(MadeRow, correlation), AT(MadeRow, bytes), AT(MadeRow, thread),
          AT(MadeRow, device), AT(MadeRow, stream), AT(MadeRow, name), AT(MadeRow, category), {"", sizeof(MadeRow)}}},
        {"xplane_events",
         {AT(XEventRow, t0), AT(XEventRow, t1), AT(XEventRow, step), AT(XEventRow, correlation), AT(XEventRow, name),
          AT(XEventRow, told), {"", sizeof(XEventRow)}}},
        {"steps",
         {AT(StepRow, t0), AT(StepRow, t1), AT(StepRow, number), AT(StepRow, epoch), AT(StepRow, samples),
          AT(StepRow, global_batch), {"", sizeof(StepRow)}}},
        {"negotiations",
         {AT(NegotiationRow, t0), AT(NegotiationRow, t1), AT(NegotiationRow, first_tick), AT(NegotiationRow, last_tick),
          AT(NegotiationRow, tensor), AT(NegotiationRow, operation), AT(NegotiationRow, first_rank),
          AT(NegotiationRow, last_rank), AT(NegotiationRow, ticks), AT(NegotiationRow, flags),
          {"", sizeof(NegotiationRow)}}},
        {"paraver_calls",
         {AT(ParaverCallRow, t0), AT(ParaverCallRow, t1), AT(ParaverCallRow, sent), AT(ParaverCallRow, received),
          AT(ParaverCallRow, location), AT(ParaverCallRow, value), AT(ParaverCallRow, communicator),
          AT(ParaverCallRow, kind), AT(ParaverCallRow, flags), AT(ParaverCallRow, is_root),
          {"", sizeof(ParaverCallRow)}}},
        {"paraver_counters",
         {AT(ParaverCounterRow, t), AT(ParaverCounterRow, value), AT(ParaverCounterRow, location),
          AT(ParaverCounterRow, type), {"", sizeof(ParaverCounterRow)}}},
        {"paraver_messages",
         {AT(ParaverMessageRow, send), AT(ParaverMessageRow, sent), AT(ParaverMessageRow, receive),
          AT(ParaverMessageRow, received), AT(ParaverMessageRow, bytes), AT(ParaverMessageRow, sender),
          AT(ParaverMessageRow, receiver), AT(ParaverMessageRow, tag), {"", sizeof(ParaverMessageRow)}}},
        {"paraver_states",
         {AT(ParaverStateRow, t0), AT(ParaverStateRow, t1), AT(ParaverStateRow, location),
          {"", sizeof(ParaverStateRow)}}},
        {"ticks", {AT(TickRow, t), AT(TickRow, negotiation), AT(TickRow, rank), {"", sizeof(TickRow)}}},
        {"tensor_activities",
         {AT(TensorActivityRow, t0), AT(TensorActivityRow, t1), AT(TensorActivityRow, bytes),
          AT(TensorActivityRow, tensor), AT(TensorActivityRow, name), AT(TensorActivityRow, parent),
          AT(TensorActivityRow, depth), AT(TensorActivityRow, flags), {"", sizeof(TensorActivityRow)}}},
    };
#undef AT
}

void bind_rows(nb::module_ &module)
{
    module.def("row_layouts", &row_layouts,
               "Byte offsets of the fields of each packed row; under the empty name the size of a row.");
}

} // namespace perfscope
