// What accelerators did, reduced: unions of intervals by kind, idle time of streams, kernels by name.
#pragma once

#include "rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace perfscope {

constexpr size_t DEVICE_KINDS = 4;
constexpr size_t DEVICE_STATES = size_t(1) << DEVICE_KINDS;

struct Window {
    int64_t start, end; // ns
};

// Rows of the trace model's device table, in order of t0.
struct DeviceRows {
    const DeviceRow *first;
    size_t count;
    const DeviceRow *begin() const { return first; }
    const DeviceRow *end() const { return first + count; }
};

// How long each combination of kinds was at work on one device: bit k of a state is DeviceKind k. State 0 is idle.
// Every sum that people use (busy, exposed communication, overlap) is a sum over states.
struct DeviceUse {
    int32_t device;
    std::vector<std::array<int64_t, DEVICE_STATES>> ns;  // by window; sums to the window's length
    std::vector<std::array<int64_t, DEVICE_KINDS>> rows; // by window: those that begin in it
};

// Of every device that occurs, in order of its number. Throws std::invalid_argument where rows are out of order.
std::vector<DeviceUse> device_use(DeviceRows rows, const std::vector<Window> &windows);

// The gaps between successive rows of one stream, inside a window, by what they waited for.
struct StreamIdle {
    int32_t device, stream;
    int64_t rows;
    int64_t busy_ns;        // union of the rows
    int64_t host_wait_ns;   // what came next was launched after what came before had ended
    int64_t kernel_wait_ns; // launched in time, and the gap is shorter than the threshold
    int64_t other_ns;       // launched in time, or nobody knows when, and the gap is longer
    int64_t edge_ns;        // before the first and after the last row of the stream
};
std::vector<StreamIdle> stream_idle(DeviceRows rows, Window window, int64_t kernel_wait_below_ns);

// All rows of one name and kind that begin in a window.
struct KernelTotal {
    int32_t name;
    uint32_t kind;
    int64_t count, total_ns, least_ns, most_ns, bytes;
    int64_t launched;        // rows of which the launch is known
    int64_t launch_delay_ns; // from the launch to the start, over those
};
// Most nanoseconds first.
std::vector<KernelTotal> kernel_totals(DeviceRows rows, Window window);

} // namespace perfscope
