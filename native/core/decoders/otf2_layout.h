// Which fields each OTF2 record has. Facts from the BSD-licensed sources of OTF2 3.2.
#pragma once

#include <cstdint>

namespace perfscope::otf2 {

// Numbers of the tables that map local ids to global ones.
enum class MapKind : uint8_t {
    STRING,
    ATTRIBUTE,
    LOCATION,
    REGION,
    GROUP,
    METRIC,
    COMM,
    PARAMETER,
    RMA_WIN,
    SOURCE_CODE_LOCATION,
    CALLING_CONTEXT,
    INTERRUPT_GENERATOR,
    IO_FILE,
    IO_HANDLE,
    LOCATION_GROUP,
    COUNT,
};

enum Event : uint8_t {
    BUFFER_FLUSH = 10,
    MEASUREMENT_ON_OFF = 11,
    ENTER = 12,
    LEAVE = 13,
    MPI_SEND = 14,
    MPI_ISEND = 15,
    MPI_ISEND_COMPLETE = 16,
    MPI_IRECV_REQUEST = 17,
    MPI_RECV = 18,
    MPI_IRECV = 19,
    MPI_REQUEST_TEST = 20,
    MPI_REQUEST_CANCELLED = 21,
    MPI_COLLECTIVE_BEGIN = 22,
    MPI_COLLECTIVE_END = 23,
    METRIC = 31,
    RMA_PUT = 46,
    RMA_GET = 47,
    RMA_ATOMIC = 48,
    RMA_OP_COMPLETE_BLOCKING = 49,
    RMA_OP_COMPLETE_NON_BLOCKING = 50,
    RMA_OP_COMPLETE_REMOTE = 52,
    CALLING_CONTEXT_ENTER = 66,
    CALLING_CONTEXT_LEAVE = 67,
    PROGRAM_BEGIN = 83,
    PROGRAM_END = 84,
    NON_BLOCKING_COLLECTIVE_REQUEST = 85,
    NON_BLOCKING_COLLECTIVE_COMPLETE = 86,
    MPI_PROBE = 89,
    MPI_MRECV = 90,
    MPI_IMRECV_REQUEST = 91,
    MPI_IMRECV = 92,
};
constexpr unsigned EVENT_TYPES = 93; // what has a higher number is newer than OTF2 3.2

// The fields of an event, one letter each:
//   b one byte, w 32 bits, q 64 bits, t a time in 64 full bits;
//   an id that a local table may map: S string, R region, G group, M metric, C communicator, P parameter,
//   W window, X calling context, N interrupt generator, F file, H file handle;
//   v (type, value) pairs behind their count, s ids of strings behind their count.
// nullptr: no such event is known.
const char *event_fields(uint8_t type);

// Whether the event holds one number and no length before it.
constexpr bool is_single(uint8_t type)
{
    constexpr uint32_t SINGLE = 1u << 12 | 1u << 13 | 1u << 16 | 1u << 17 | 1u << 20 | 1u << 21 | 1u << 24 | 1u << 28 |
                                1u << 29 | 1u << 30;
    return type < 32 && (SINGLE >> type & 1);
}

MapKind map_kind(char field);

enum Definition : uint8_t {
    LOCAL_MAPPING_TABLE = 5,
    LOCAL_CLOCK_OFFSET = 6,
    CLOCK_PROPERTIES = 5,
    PARADIGM = 6,
    STRING = 10,
    ATTRIBUTE = 11,
    SYSTEM_TREE_NODE = 12,
    LOCATION_GROUP = 13,
    LOCATION = 14,
    REGION = 15,
    GROUP = 18,
    METRIC_MEMBER = 19,
    METRIC_CLASS = 20,
    METRIC_INSTANCE = 21,
    COMM = 22,
    CALLING_CONTEXT = 34,
    INTER_COMM = 43,
};
constexpr unsigned DEFINITION_TYPES = 44;

} // namespace perfscope::otf2
