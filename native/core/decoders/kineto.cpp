#include "kineto.h"

#include "error.h"
#include "input.h"
#include "json_text.h"
#include "kineto_words.h"

#include <algorithm>
#include <cstdlib>

namespace perfscope {

namespace {

constexpr size_t BLOCK = size_t(1) << 18; // stays in a core's own cache until it is parsed

bool is_usable(const ChromeEvent &event)
{
    return event.has_time && event.time >= -KinetoFile::FARTHEST && event.time <= KinetoFile::FARTHEST;
}

} // namespace

void KinetoFile::read()
{
    const InputFile file(path_);
    for (uint64_t offset = 0;;) {
        const size_t got = file.read_at(offset, parser_.room(BLOCK), BLOCK);
        if (got == 0)
            break;
        parser_.commit(got);
        offset += got;
    }
}

void KinetoFile::member(std::string_view name, std::string_view value)
{
    if (name == "baseTimeNanoseconds")
        has_base = json::whole_number(value.data(), value.data() + value.size(), base_);
    else if ((member_bytes_ += name.size() + value.size()) <= MOST_BYTES_OF_MEMBERS)
        members[std::string(name)] = value;
}

void KinetoFile::event(const ChromeEvent &event)
{
    counts.events++;
    switch (event.phase) {
    case 'X': {
        int64_t end = 0;
        if (event.is_damaged) {
            counts.damaged++;
            break;
        }
        counts.beyond += event.is_beyond;
        if (!is_usable(event) || __builtin_add_overflow(event.time, event.duration, &end) || end > FARTHEST) {
            counts.without_time++;
            break;
        }
        complete(event, end, 0);
        break;
    }
    case 'B':
        begin(event);
        break;
    case 'E':
        end(event);
        break;
    case 'M':
        counts.metadata++;
        metadata(event);
        break;
    case 'C':
        counter(event);
        break;
    case 's':
        counts.flows++;
        if (event.category == "ac2g" && event.has_time)
            flows_.push_back({whole(event.id, -1), process(event), event.time});
        break;
    case 'f':
    case 't':
        counts.flows++;
        break;
    case 0:
        counts.empty++;
        break;
    default:
        counts.other++;
        if (event.category == "request_completed" && is_usable(event)) {
            note(event.time);
            keep_call(event, KinetoCallKind::REQUEST, event.time, 0);
        }
    }
}

void KinetoFile::complete(const ChromeEvent &event, int64_t end, uint32_t flags)
{
    if (end < event.time) {
        counts.negative++;
        return;
    }
    if (end > event.time)
        shortest = std::min(shortest, end - event.time);
    keep(event, end, flags);
}

// What an export of perfscope says of a phase; 0 of the annotations of others.
static uint32_t exported_flags(std::string_view arguments)
{
    uint32_t flags = 0;
    bool is_phase = false;
    json::for_each_member(arguments.empty() ? "{}" : arguments, [&](auto key, auto value) {
        if (key == "kind")
            is_phase = unquoted(value) == "phase";
        else if (key == "open" && value == "true")
            flags |= ROW_OPEN;
        else if (key == "sampled" && value == "true")
            flags |= ROW_SAMPLED;
    });
    return is_phase ? flags : 0;
}

KinetoFile::Open KinetoFile::keep(const ChromeEvent &event, int64_t end, uint32_t flags)
{
    const Category category = category_of(event.category);
    if (category == Category::SPAN)
        return {Table::NONE, 0};
    first = std::min(first, event.time);
    last = std::max(last, end);
    switch (category) {
    case Category::KERNEL:
    case Category::MTIA:
        return keep_device(event, DeviceKind::COMPUTE, end, flags);
    case Category::MEMCPY:
        return keep_device(event, DeviceKind::MEMCPY, end, flags);
    case Category::MEMSET:
        return keep_device(event, DeviceKind::MEMSET, end, flags);
    case Category::RUNTIME: {
        int64_t correlation = -1;
        json::for_each_member(event.arguments.empty() ? "{}" : event.arguments, [&](auto key, auto value) {
            if (key == "correlation")
                correlation = whole(value, -1);
        });
        if (correlation > 0)
            launches.push_back({correlation, process(event), event.time});
        return keep_host(event, HostKind::RUNTIME, end, flags);
    }
    case Category::CALL:
    case Category::BACKGROUND_CALL:
        keep_call(event, category == Category::CALL ? KinetoCallKind::CALL : KinetoCallKind::BACKGROUND, end, flags);
        return {Table::NONE, 0};
    case Category::ANNOTATION:
        return keep_host(event, HostKind::ANNOTATION, end, flags | exported_flags(event.arguments));
    case Category::NONE:
        return keep_host(event, HostKind::OTHER, end, flags);
    case Category::FOREIGN:
        return keep_host(event, HostKind::FOREIGN, end, flags);
    case Category::OPERATOR: {
        counts.operators++;
        thread(event);
        const uint8_t traits = traits_[name(event.name)];
        if (traits & TRAIT_BACKWARD)
            return keep_host(event, HostKind::BACKWARD, end, flags);
        if (traits & TRAIT_NOTEWORTHY)
            return keep_host(event, HostKind::ANNOTATION, end, flags);
        note(event.time);
        return {Table::NONE, 0};
    }
    case Category::PYTHON:
        counts.python_functions++;
        note(event.time);
        return {Table::NONE, 0};
    default:
        counts.other++;
        note(event.time);
        return {Table::NONE, 0};
    }
}

KinetoFile::Open KinetoFile::keep_host(const ChromeEvent &event, HostKind kind, int64_t end, uint32_t flags)
{
    const uint32_t label = name(event.name);
    const uint32_t category = name(kind == HostKind::FOREIGN ? event.category : "");
    host.push_back({event.time, end, label, thread(event), static_cast<uint16_t>(kind), static_cast<uint16_t>(flags),
                    category});
    return {Table::HOST, host.size() - 1};
}

KinetoFile::Open KinetoFile::keep_device(const ChromeEvent &event, DeviceKind kind, int64_t end, uint32_t flags)
{
    DeviceRow row{};
    row.t0 = event.time;
    row.t1 = end;
    row.launch = LAUNCH_UNKNOWN;
    row.correlation = row.bytes = row.seq = -1;
    row.name = static_cast<int32_t>(name(event.name));
    row.comm = row.op = -1;
    row.flags = flags;
    int64_t on_device = INT64_MIN, stream = INT64_MIN;
    const uint8_t traits = traits_[static_cast<size_t>(row.name)];
    bool is_collective = (traits & TRAIT_COMMUNICATION) && kind == DeviceKind::COMPUTE;
    if (traits & TRAIT_COPY && event.category == "mtia_ccp_events")
        kind = DeviceKind::MEMCPY;
    json::for_each_member(event.arguments.empty() ? "{}" : event.arguments, [&](auto key, auto value) {
        if (key == "correlation")
            row.correlation = whole(value, -1);
        else if (key == "stream")
            stream = whole(value, INT64_MIN);
        else if (key == "device")
            on_device = whole(value, INT64_MIN);
        else if (key == "bytes" || (key == "size" && traits & TRAIT_COPY))
            row.bytes = whole(value, -1);
        else if (key == "Collective name")
            is_collective = true;
    });
    row.device = small(on_device != INT64_MIN ? on_device : whole(event.process, 0));
    row.stream = small(stream != INT64_MIN ? stream : whole(event.thread, 0));
    if (is_collective) {
        kind = DeviceKind::COMMUNICATION;
        communication(row, event.arguments);
    }
    row.kind = static_cast<uint32_t>(kind);
    counts.device++;
    device_processes.push_back(process(event));
    device.push_back(row);
    return {Table::DEVICE, device.size() - 1};
}

// What NCCL's own arguments say of a collective.
void KinetoFile::communication(DeviceRow &row, std::string_view arguments)
{
    int64_t in = 0, out = 0, width = 0;
    KinetoGroup group{name(""), name(""), -1, -1, 0};
    json::for_each_member(arguments.empty() ? "{}" : arguments, [&](auto key, auto value) {
        if (key == "Collective name")
            row.op = static_cast<int32_t>(name(unquoted(value)));
        else if (key == "Seq")
            row.seq = whole(value, -1);
        else if (key == "In msg nelems")
            in = whole(value, 0);
        else if (key == "Out msg nelems")
            out = whole(value, 0);
        else if (key == "dtype")
            width = bytes_of_type(unquoted(value));
        else
            tell(group, key, value);
    });
    row.members = static_cast<uint32_t>(group.size);
    row.comm = number(group);
    const int64_t most = std::max(in, out);
    if (width && most >= 0 && most <= INT64_MAX / width)
        row.bytes = most * width;
}

bool KinetoFile::tell(KinetoGroup &group, std::string_view key, std::string_view value)
{
    if (key == "Process Group Name")
        group.name = name(unquoted(value));
    else if (key == "Process Group Ranks")
        group.ranks = name(unquoted(value));
    else if (key == "Global rank start")
        group.start = whole(value, -1);
    else if (key == "Global rank stride")
        group.stride = whole(value, -1);
    else if (key == "Group size")
        group.size = std::clamp<int64_t>(whole(value, 0), 0, INT32_MAX);
    else
        return false;
    return true;
}

int32_t KinetoFile::number(const KinetoGroup &group)
{
    const std::array<int64_t, 5> key = {group.name, group.ranks, group.start, group.stride, group.size};
    const auto [found, is_new] = group_numbers_.emplace(key, static_cast<int32_t>(groups.size()));
    if (is_new) {
        if (groups.size() >= MOST_THREADS)
            throw FormatError(path_, parser_.bytes(), "the collectives are of more than a million process groups");
        groups.push_back(group);
    }
    return found->second;
}

void KinetoFile::begin(const ChromeEvent &event)
{
    Open opened{Table::NONE, 0};
    if (is_usable(event))
        opened = keep(event, event.time, ROW_OPEN);
    else
        counts.without_time++;
    open_[thread(event)].push_back(opened);
}

void KinetoFile::end(const ChromeEvent &event)
{
    auto &stack = open_[thread(event)];
    if (stack.empty() || !is_usable(event)) {
        stack.empty() ? counts.unopened++ : counts.without_time++;
        return;
    }
    const Open opened = stack.back();
    stack.pop_back();
    last = std::max(last, event.time);
    const auto close = [&](auto &row) {
        row.flags = 0;
        if (event.time < row.t0)
            counts.negative++;
        row.t1 = std::max(event.time, row.t0);
    };
    if (opened.table == Table::HOST)
        close(host[opened.row]);
    else if (opened.table == Table::DEVICE)
        close(device[opened.row]);
}

void KinetoFile::metadata(const ChromeEvent &event)
{
    std::string *told = nullptr;
    if (event.name == "thread_name")
        told = &threads[thread(event)].name;
    else if (event.name == "process_name")
        told = &processes[process(event)].name;
    else if (event.name == "process_labels")
        told = &processes[process(event)].labels;
    if (!told)
        return;
    json::for_each_member(event.arguments.empty() ? "{}" : event.arguments, [&](auto key, auto value) {
        if ((key == "name" || key == "labels") && value.size() <= MOST_BYTES_OF_A_NAME) {
            const std::string_view text = unquoted(value);
            told->clear();
            json::unescape(text.data(), text.data() + text.size(), *told);
        }
    });
}

void KinetoFile::counter(const ChromeEvent &event)
{
    if (!is_usable(event)) {
        counts.without_time++;
        return;
    }
    first = std::min(first, event.time);
    last = std::max(last, event.time);
    const uint32_t of = process(event);
    json::for_each_member(event.arguments.empty() ? "{}" : event.arguments, [&](auto key, auto value) {
        const std::string text(unquoted(value));
        char *behind = nullptr;
        const double number = std::strtod(text.c_str(), &behind);
        if (behind != text.c_str() && *behind == '\0') {
            const std::string whole_name = std::string(event.name) + "." + std::string(key);
            counters.push_back({event.time, name(whole_name), of, number});
        }
    });
}

} // namespace perfscope
