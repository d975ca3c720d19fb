#include "otf2_layout.h"

namespace perfscope::otf2 {

static constexpr const char *EVENTS[EVENT_TYPES] = {
    nullptr, nullptr, nullptr, nullptr, nullptr,
    nullptr, nullptr, nullptr, nullptr, nullptr,
    "t",      // 10 BufferFlush
    "b",      // 11 MeasurementOnOff
    "R",       // 12 Enter
    "R",       // 13 Leave
    "wCwq",   // 14 MpiSend
    "wCwqq",  // 15 MpiIsend
    "q",       // 16 MpiIsendComplete
    "q",       // 17 MpiIrecvRequest
    "wCwq",   // 18 MpiRecv
    "wCwqq",  // 19 MpiIrecv
    "q",       // 20 MpiRequestTest
    "q",       // 21 MpiRequestCancelled
    "",       // 22 MpiCollectiveBegin
    "bCwqq",  // 23 MpiCollectiveEnd
    "w",       // 24 OmpFork
    "",       // 25 OmpJoin
    "ww",     // 26 OmpAcquireLock
    "ww",     // 27 OmpReleaseLock
    "q",       // 28 OmpTaskCreate
    "q",       // 29 OmpTaskSwitch
    "q",       // 30 OmpTaskComplete
    "Mv",     // 31 Metric
    "PS",     // 32 ParameterString
    "Pq",     // 33 ParameterInt
    "Pq",     // 34 ParameterUnsignedInt
    "W",      // 35 RmaWinCreate
    "W",      // 36 RmaWinDestroy
    "",       // 37 RmaCollectiveBegin
    "bwWwqq", // 38 RmaCollectiveEnd
    "wWG",    // 39 RmaGroupSync
    "Wwqb",   // 40 RmaRequestLock
    "Wwqb",   // 41 RmaAcquireLock
    "Wwqb",   // 42 RmaTryLock
    "Wwq",    // 43 RmaReleaseLock
    "Wwb",    // 44 RmaSync
    "W",      // 45 RmaWaitChange
    "Wwqq",   // 46 RmaPut
    "Wwqq",   // 47 RmaGet
    "Wwbqqq", // 48 RmaAtomic
    "Wq",     // 49 RmaOpCompleteBlocking
    "Wq",     // 50 RmaOpCompleteNonBlocking
    "Wq",     // 51 RmaOpTest
    "Wq",     // 52 RmaOpCompleteRemote
    "bw",     // 53 ThreadFork
    "b",      // 54 ThreadJoin
    "C",      // 55 ThreadTeamBegin
    "C",      // 56 ThreadTeamEnd
    "bww",    // 57 ThreadAcquireLock
    "bww",    // 58 ThreadReleaseLock
    "Cww",    // 59 ThreadTaskCreate
    "Cww",    // 60 ThreadTaskSwitch
    "Cww",    // 61 ThreadTaskComplete
    "Cq",     // 62 ThreadCreate
    "Cq",     // 63 ThreadBegin
    "Cq",     // 64 ThreadWait
    "Cq",     // 65 ThreadEnd
    "Xw",     // 66 CallingContextEnter
    "X",      // 67 CallingContextLeave
    "XwN",    // 68 CallingContextSample
    "Hbww",   // 69 IoCreateHandle
    "H",      // 70 IoDestroyHandle
    "HHw",    // 71 IoDuplicateHandle
    "Hqbq",   // 72 IoSeek
    "Hw",     // 73 IoChangeStatusFlags
    "bF",     // 74 IoDeleteFile
    "Hbwqq",  // 75 IoOperationBegin
    "Hq",     // 76 IoOperationTest
    "Hq",     // 77 IoOperationIssued
    "Hqq",    // 78 IoOperationComplete
    "Hq",     // 79 IoOperationCancelled
    "Hb",     // 80 IoAcquireLock
    "Hb",     // 81 IoReleaseLock
    "Hb",     // 82 IoTryLock
    "Ss",     // 83 ProgramBegin
    "q",      // 84 ProgramEnd
    "q",      // 85 NonBlockingCollectiveRequest
    "bCwqqq", // 86 NonBlockingCollectiveComplete
    "C",      // 87 CommCreate
    "C",      // 88 CommDestroy
    "wCwq",   // 89 MpiProbe
    "qq",     // 90 MpiMrecv
    "qq",     // 91 MpiImrecvRequest
    "qq",     // 92 MpiImrecv
};

const char *event_fields(uint8_t type)
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
