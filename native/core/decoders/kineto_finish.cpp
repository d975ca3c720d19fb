// What is done when all events of a Kineto trace were read: ends, launches, times since 1970, order.
#include "error.h"
#include "kineto.h"
#include "kineto_words.h"

#include <algorithm>
#include <numeric>

namespace perfscope {

void KinetoFile::finish()
{
    parser_.finish();
    close_open();
    work_of_devices();
    join_launches();
    rebase();
    order();
}

// Every table by time.
void KinetoFile::order()
{
    const auto by_time = [](const auto &a, const auto &b) { return a.t0 != b.t0 ? a.t0 < b.t0 : a.t1 > b.t1; };
    if (!std::is_sorted(device.begin(), device.end(), by_time)) {
        std::vector<uint32_t> places(device.size());
        std::iota(places.begin(), places.end(), 0);
        std::stable_sort(places.begin(), places.end(),
                         [&](uint32_t a, uint32_t b) { return by_time(device[a], device[b]); });
        std::vector<uint32_t> processes_in_order;
        processes_in_order.reserve(device.size());
        for (const uint32_t place : places)
            processes_in_order.push_back(device_processes[place]);
        device_processes = std::move(processes_in_order);
        std::stable_sort(device.begin(), device.end(), by_time);
    }
    if (!std::is_sorted(host.begin(), host.end(), by_time))
        std::stable_sort(host.begin(), host.end(), by_time);
    if (!std::is_sorted(calls.begin(), calls.end(), by_time))
        std::stable_sort(calls.begin(), calls.end(), by_time);
}

// What had begun and not ended when the file did lasts to its last moment.
void KinetoFile::close_open()
{
    for (const auto &stack : open_)
        for (const Open &opened : stack) {
            counts.unclosed++;
            if (opened.table == Table::HOST)
                host[opened.row].t1 = std::max(host[opened.row].t0, last);
            else if (opened.table == Table::DEVICE)
                device[opened.row].t1 = std::max(device[opened.row].t0, last);
        }
}

// The launch of each device row: in its own process where that has one, else in whichever does.
void KinetoFile::join_launches()
{
    for (auto *moments : {&launches, &flows_})
        if (!std::is_sorted(moments->begin(), moments->end()))
            std::sort(moments->begin(), moments->end());
    const auto of_another = [&](const Moment &launch) { return launch[1] != launches.front()[1]; };
    const bool is_of_one = std::none_of(launches.begin(), launches.end(), of_another);
    for (size_t place = 0; place < device.size(); place++) {
        DeviceRow &row = device[place];
        const int64_t own = device_processes[place];
        for (const auto *moments : {&launches, &flows_}) {
            const auto from = [&](int64_t of) {
                return std::lower_bound(moments->begin(), moments->end(), Moment{row.correlation, of, INT64_MIN});
            };
            auto found = is_of_one ? moments->end() : from(own);
            if (found == moments->end() || (*found)[0] != row.correlation || (*found)[1] != own)
                found = from(INT64_MIN);
            if (row.correlation <= 0 || found == moments->end() || (*found)[0] != row.correlation ||
                (*found)[2] < first || (*found)[2] > last)
                continue;
            row.launch = (*found)[2];
            break;
        }
        counts.without_launch += row.launch == LAUNCH_UNKNOWN;
    }
    flows_ = {};
    const KinetoThread *one = nullptr; // of whose process the calls of the runtime are
    const auto is_elsewhere = [&](const HostRow &row) {
        if (row.kind != uint16_t(HostKind::RUNTIME))
            return false;
        one = one ? one : &threads[row.thread];
        return threads[row.thread].process != one->process;
    };
    if (is_of_one && std::none_of(host.begin(), host.end(), is_elsewhere))
        launches = {};
}

// Profilers of XLA name devices as processes, and give their work no category: of each device the
// lines of its streams count, else the one that holds most events, as others sum these up.
void KinetoFile::work_of_devices()
{
    const auto device_of = [&](size_t thread) -> const KinetoProcess * {
        const auto found = process_numbers_.find(threads[thread].process);
        const bool is_device = found != process_numbers_.end() && names_device(processes[found->second].name);
        return is_device ? &processes[found->second] : nullptr;
    };
    std::map<const KinetoProcess *, std::vector<size_t>> lines;
    for (size_t thread = 0; thread < threads.size(); thread++)
        if (const KinetoProcess *place = device_of(thread))
            lines[place].push_back(thread);
    if (lines.empty())
        return;
    std::vector<uint8_t> is_of_device(threads.size()), is_work(threads.size());
    for (const auto &[place, of] : lines) {
        size_t most = of.front();
        bool has_streams = false;
        for (const size_t thread : of) {
            is_of_device[thread] = true;
            is_work[thread] = threads[thread].name.rfind("Stream", 0) == 0;
            has_streams |= is_work[thread];
            most = threads[thread].events > threads[most].events ? thread : most;
        }
        if (!has_streams)
            is_work[most] = true;
    }
    const auto is_moved = [&](const HostRow &row) {
        return is_of_device[row.thread] &&
               (row.kind == uint32_t(HostKind::OTHER) || row.kind == uint32_t(HostKind::FOREIGN));
    };
    for (const HostRow &row : host) {
        if (!is_moved(row) || !is_work[row.thread])
            continue;
        DeviceRow work{};
        work.t0 = row.t0;
        work.t1 = row.t1;
        work.launch = LAUNCH_UNKNOWN;
        work.correlation = work.bytes = work.seq = -1;
        work.name = static_cast<int32_t>(row.name);
        work.comm = work.op = -1;
        work.flags = row.flags;
        const uint32_t process = process_numbers_.at(threads[row.thread].process);
        work.device = device_number(processes[process].name, static_cast<int32_t>(process));
        work.stream = small(whole(threads[row.thread].thread, -1));
        const uint8_t traits = traits_[row.name];
        const bool talks = traits & TRAIT_COMMUNICATION, copies = traits & TRAIT_COPY;
        work.kind = static_cast<uint32_t>(talks    ? DeviceKind::COMMUNICATION
                                          : copies ? DeviceKind::MEMCPY
                                                   : DeviceKind::COMPUTE);
        counts.device++;
        device_processes.push_back(process);
        device.push_back(work);
    }
    host.erase(std::remove_if(host.begin(), host.end(), is_moved), host.end());
}

void KinetoFile::rebase()
{
    if (base_ >= EPOCH && first >= EPOCH && first <= last) {
        counts.base_twice = 1; // the times count from 1970 already
        return;
    }
    if (!base_ || first > last)
        return;
    int64_t most;
    if (__builtin_add_overflow(first, base_, &most) || most < -FARTHEST ||
        __builtin_add_overflow(last, base_, &most) || most > FARTHEST)
        throw FormatError(path_, 0, "times plus baseTimeNanoseconds are beyond what 64 bits hold");
    // every other time lies between these two
    first += base_;
    last += base_;
    for (DeviceRow &row : device) {
        row.t0 += base_;
        row.t1 += base_;
        row.launch = row.launch == LAUNCH_UNKNOWN ? LAUNCH_UNKNOWN : row.launch + base_;
    }
    for (HostRow &row : host) {
        row.t0 += base_;
        row.t1 += base_;
    }
    for (CallRow &row : calls) {
        row.t0 += base_;
        row.t1 += base_;
    }
    for (CounterSample &sample : counters)
        sample.t += base_;
    for (Moment &launch : launches)
        launch[2] += base_;
    for (auto *moments : {&earliest, &latest})
        for (int64_t &moment : *moments)
            moment += base_;
}

} // namespace perfscope
