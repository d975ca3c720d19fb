#include "otf2_layout.h"

namespace perfscope::otf2 {

static constexpr EventLayout EVENTS[EVENT_TYPES] = {
    {nullptr, false}, {nullptr, false}, {nullptr, false}, {nullptr, false}, {nullptr, false},
    {nullptr, false}, {nullptr, false}, {nullptr, false}, {nullptr, false}, {nullptr, false},
    {"t", false},      // 10 BufferFlush
    {"b", false},      // 11 MeasurementOnOff
    {"R", true},       // 12 Enter
    {"R", true},       // 13 Leave
    {"wCwq", false},   // 14 MpiSend
    {"wCwqq", false},  // 15 MpiIsend
    {"q", true},       // 16 MpiIsendComplete
    {"q", true},       // 17 MpiIrecvRequest
    {"wCwq", false},   // 18 MpiRecv
    {"wCwqq", false},  // 19 MpiIrecv
    {"q", true},       // 20 MpiRequestTest
    {"q", true},       // 21 MpiRequestCancelled
    {"", false},       // 22 MpiCollectiveBegin
    {"bCwqq", false},  // 23 MpiCollectiveEnd
    {"w", true},       // 24 OmpFork
    {"", false},       // 25 OmpJoin
    {"ww", false},     // 26 OmpAcquireLock
    {"ww", false},     // 27 OmpReleaseLock
    {"q", true},       // 28 OmpTaskCreate
    {"q", true},       // 29 OmpTaskSwitch
    {"q", true},       // 30 OmpTaskComplete
    {"Mv", false},     // 31 Metric
    {"PS", false},     // 32 ParameterString
    {"Pq", false},     // 33 ParameterInt
    {"Pq", false},     // 34 ParameterUnsignedInt
    {"W", false},      // 35 RmaWinCreate
    {"W", false},      // 36 RmaWinDestroy
    {"", false},       // 37 RmaCollectiveBegin
    {"bwWwqq", false}, // 38 RmaCollectiveEnd
    {"wWG", false},    // 39 RmaGroupSync
    {"Wwqb", false},   // 40 RmaRequestLock
    {"Wwqb", false},   // 41 RmaAcquireLock
    {"Wwqb", false},   // 42 RmaTryLock
    {"Wwq", false},    // 43 RmaReleaseLock
    {"Wwb", false},    // 44 RmaSync
    {"W", false},      // 45 RmaWaitChange
    {"Wwqq", false},   // 46 RmaPut
    {"Wwqq", false},   // 47 RmaGet
    {"Wwbqqq", false}, // 48 RmaAtomic
    {"Wq", false},     // 49 RmaOpCompleteBlocking
    {"Wq", false},     // 50 RmaOpCompleteNonBlocking
    {"Wq", false},     // 51 RmaOpTest
    {"Wq", false},     // 52 RmaOpCompleteRemote
    {"bw", false},     // 53 ThreadFork
    {"b", false},      // 54 ThreadJoin
    {"C", false},      // 55 ThreadTeamBegin
    {"C", false},      // 56 ThreadTeamEnd
    {"bww", false},    // 57 ThreadAcquireLock
    {"bww", false},    // 58 ThreadReleaseLock
    {"Cww", false},    // 59 ThreadTaskCreate
    {"Cww", false},    // 60 ThreadTaskSwitch
    {"Cww", false},    // 61 ThreadTaskComplete
    {"Cq", false},     // 62 ThreadCreate
    {"Cq", false},     // 63 ThreadBegin
    {"Cq", false},     // 64 ThreadWait
    {"Cq", false},     // 65 ThreadEnd
    {"Xw", false},     // 66 CallingContextEnter
    {"X", false},      // 67 CallingContextLeave
    {"XwN", false},    // 68 CallingContextSample
    {"Hbww", false},   // 69 IoCreateHandle
    {"H", false},      // 70 IoDestroyHandle
    {"HHw", false},    // 71 IoDuplicateHandle
    {"Hqbq", false},   // 72 IoSeek
    {"Hw", false},     // 73 IoChangeStatusFlags
    {"bF", false},     // 74 IoDeleteFile
    {"Hbwqq", false},  // 75 IoOperationBegin
    {"Hq", false},     // 76 IoOperationTest
    {"Hq", false},     // 77 IoOperationIssued
    {"Hqq", false},    // 78 IoOperationComplete
    {"Hq", false},     // 79 IoOperationCancelled
    {"Hb", false},     // 80 IoAcquireLock
    {"Hb", false},     // 81 IoReleaseLock
    {"Hb", false},     // 82 IoTryLock
    {"Ss", false},     // 83 ProgramBegin
    {"q", false},      // 84 ProgramEnd
    {"q", false},      // 85 NonBlockingCollectiveRequest
    {"bCwqqq", false}, // 86 NonBlockingCollectiveComplete
    {"C", false},      // 87 CommCreate
    {"C", false},      // 88 CommDestroy
    {"wCwq", false},   // 89 MpiProbe
    {"qq", false},     // 90 MpiMrecv
    {"qq", false},     // 91 MpiImrecvRequest
    {"qq", false},     // 92 MpiImrecv
};

const EventLayout &event_layout(uint8_t type)
{
    return EVENTS[type < EVENT_TYPES ? type : 0];
}

MapKind map_kind(char field)
{
    switch (field) {
    case 'S':
        return MapKind::STRING;
    case 'R':
        return MapKind::REGION;
    case 'G':
        return MapKind::GROUP;
    case 'M':
        return MapKind::METRIC;
    case 'C':
        return MapKind::COMM;
    case 'P':
        return MapKind::PARAMETER;
    case 'W':
        return MapKind::RMA_WIN;
    case 'X':
        return MapKind::CALLING_CONTEXT;
    case 'N':
        return MapKind::INTERRUPT_GENERATOR;
    case 'F':
        return MapKind::IO_FILE;
    case 'H':
        return MapKind::IO_HANDLE;
    default:
        return MapKind::COUNT;
    }
}

} // namespace perfscope::otf2
