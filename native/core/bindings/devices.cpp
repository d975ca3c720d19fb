// Reductions of the trace model's device table.
#include "bindings.h"
#include "reducers/device.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;

namespace perfscope {

using Bytes = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pair = std::pair<int64_t, int64_t>;

static DeviceRows rows_of(const Bytes &bytes)
{
    if (bytes.size() % sizeof(DeviceRow))
        throw nb::value_error("these bytes are no rows of the device table");
    return {reinterpret_cast<const DeviceRow *>(bytes.data()), bytes.size() / sizeof(DeviceRow)};
}

template <class Row, size_t N> static nb::list as_list(const std::vector<std::array<Row, N>> &rows)
{
    nb::list found;
    for (const auto &row : rows) {
        nb::list values;
        for (const Row value : row)
            values.append(value);
        found.append(values);
    }
    return found;
}

static nb::list use(const Bytes &bytes, const std::vector<Pair> &windows)
{
    std::vector<Window> wanted;
    for (const auto &[start, end] : windows)
        wanted.push_back({start, end});
    std::vector<DeviceUse> devices;
    {
        const nb::gil_scoped_release unlocked;
        devices = device_use(rows_of(bytes), wanted);
    }
    nb::list found;
    for (const DeviceUse &device : devices)
        found.append(nb::make_tuple(device.device, as_list(device.ns), as_list(device.rows)));
    return found;
}

static nb::list idle(const Bytes &bytes, Pair window, int64_t kernel_wait_below_ns)
{
    std::vector<StreamIdle> streams;
    {
        const nb::gil_scoped_release unlocked;
        streams = stream_idle(rows_of(bytes), {window.first, window.second}, kernel_wait_below_ns);
    }
    nb::list found;
    for (const StreamIdle &s : streams)
        found.append(nb::make_tuple(s.device, s.stream, s.rows, s.busy_ns, s.host_wait_ns, s.kernel_wait_ns,
                                    s.other_ns, s.edge_ns));
    return found;
}

static nb::list kernels(const Bytes &bytes, Pair window)
{
    std::vector<KernelTotal> totals;
    {
        const nb::gil_scoped_release unlocked;
        totals = kernel_totals(rows_of(bytes), {window.first, window.second});
    }
    nb::list found;
    for (const KernelTotal &k : totals)
        found.append(nb::make_tuple(k.name, k.kind, k.count, k.total_ns, k.least_ns, k.most_ns, k.bytes, k.launched,
                                    k.launch_delay_ns));
    return found;
}

void bind_devices(nb::module_ &module)
{
    module.def("device_use", &use, nb::arg("rows"), nb::arg("windows"));
    module.def("stream_idle", &idle, nb::arg("rows"), nb::arg("window"), nb::arg("kernel_wait_below_ns"));
    module.def("kernel_totals", &kernels, nb::arg("rows"), nb::arg("window"));
}

} // namespace perfscope
