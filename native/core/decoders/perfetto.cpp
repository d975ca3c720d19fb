// Packets: tracks, clocks and interned words, in the order of the file.
#include "perfetto.h"

#include "error.h"

#include <algorithm>

namespace perfscope {

using proto::Field;
using proto::Fields;
using proto::Malformed;
using proto::Step;

namespace {

enum PacketField : uint64_t {
    CLOCK_SNAPSHOT = 6,
    TIMESTAMP = 8,
    SEQUENCE = 10,
    TRACK_EVENT = 11,
    INTERNED_DATA = 12,
    SEQUENCE_FLAGS = 13,
    TIMESTAMP_CLOCK = 58,
    DEFAULTS = 59,
    TRACK_DESCRIPTOR = 60,
};
constexpr uint64_t REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6; // clocks
constexpr uint64_t FIRST_OF_SEQUENCE = 64; // clocks from here on belong to one sequence of packets
constexpr uint64_t WORDS_ARE_VOID = 1;     // flag of a packet: what was interned before it

// A difference or sum; what 64 bits do not hold is the furthest moment that they do.
int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

int64_t clipped(uint64_t value)
{
    return value > static_cast<uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<int64_t>(value);
}

int64_t scaled(uint64_t value, uint64_t scale)
{
    uint64_t product;
    return __builtin_mul_overflow(value, scale, &product) ? INT64_MAX : clipped(product);
}

std::string_view text_of(std::string_view message, uint64_t number)
{
    PerfettoLast last;
    Field field;
    for (Fields fields(message); fields.next(field);)
        if (field.number == number)
            last.take(field);
    return last.held;
}

} // namespace

void PerfettoTrace::feed(const char *data, size_t size)
{
    if (is_full())
        return;
    buffer_.append(data, size);
    if (buffer_.size() >= retry_at_)
        parse(false);
}

void PerfettoTrace::parse(bool is_last)
{
    Fields fields(buffer_);
    Field field;
    try {
        for (;;) {
            const Step step = fields.take(field);
            if (step == Step::SHORT && is_last)
                throw Malformed{fields.place(), "a field is longer than what is left"};
            if (step != Step::FIELD)
                break;
            if (field.is_part(1))
                packet(field.held);
            if (is_full()) {
                buffer_.clear();
                return;
            }
        }
    } catch (const Malformed &problem) {
        throw FormatError(path_, offset_ + static_cast<uint64_t>(problem.at - buffer_.data()), problem.why);
    }
    const auto consumed = static_cast<size_t>(fields.place() - buffer_.data());
    buffer_.erase(0, consumed);
    offset_ += consumed;
    if (buffer_.size() > MOST_BYTES_OF_A_PACKET)
        throw FormatError(path_, offset_, "one packet is longer than 256 MiB");
    retry_at_ = 2 * buffer_.size();
}

void PerfettoTrace::packet(std::string_view message)
{
    PerfettoLast sequence_told, flags, time, clock;
    std::vector<std::string_view> snapshots, events, interned, defaults;
    Field field;
    for (Fields fields(message); fields.next(field);) {
        switch (field.number) {
        case SEQUENCE:
            sequence_told.take(field);
            break;
        case SEQUENCE_FLAGS:
            flags.take(field);
            break;
        case TIMESTAMP:
            time.take(field);
            break;
        case TIMESTAMP_CLOCK:
            clock.take(field);
            break;
        case CLOCK_SNAPSHOT:
            if (!field.is_whole)
                snapshots.push_back(field.held);
            break;
        case TRACK_EVENT:
            if (!field.is_whole)
                events.push_back(field.held);
            break;
        case INTERNED_DATA:
            if (!field.is_whole)
                interned.push_back(field.held);
            break;
        case DEFAULTS:
            if (!field.is_whole)
                defaults.push_back(field.held);
            break;
        case TRACK_DESCRIPTOR:
            if (!field.is_whole)
                describe(field.held);
            break;
        default:
            break;
        }
    }
    const uint64_t sequence = sequence_told.number();
    if (flags.number() & WORDS_ARE_VOID)
        words_.erase(sequence);
    for (const std::string_view part : interned)
        intern(sequence, part);
    for (const std::string_view part : defaults) {
        PerfettoLast by_default;
        for (Fields fields(part); fields.next(field);)
            if (field.number == TIMESTAMP_CLOCK)
                by_default.take(field);
        defaults_[sequence] = by_default.number();
        entries_++;
    }
    for (const std::string_view part : snapshots) {
        take_offset(part);
        set_clocks(sequence, part);
    }
    const std::optional<int64_t> when = moment(sequence, time, clock);
    if (when)
        for (const std::string_view part : events)
            event(*when, sequence, part);
}

void PerfettoTrace::describe(std::string_view message)
{
    PerfettoLast uuid, name, parent;
    std::vector<std::string_view> processes, threads, counters;
    Field field;
    for (Fields fields(message); fields.next(field);) {
        if (field.number == 1)
            uuid.take(field);
        else if (field.number == 2 || field.number == 10 || field.number == 13) // one of three names
            name.take(field);
        else if (field.number == 5)
            parent.take(field);
        else if (field.is_part(3))
            processes.push_back(field.held);
        else if (field.is_part(4))
            threads.push_back(field.held);
        else if (field.is_part(8))
            counters.push_back(field.held);
    }
    entries_++;
    const auto [found, is_new] = track_places_.emplace(uuid.number(), tracks.size());
    if (is_new) {
        tracks.emplace_back();
        tracks.back().uuid = uuid.number();
    }
    PerfettoTrack &track = tracks[found->second];
    const auto rename = [](std::string &of, const PerfettoLast &told) {
        if (!told.held.empty())
            of = told.held;
    };
    const auto number = [](const PerfettoLast &told) {
        return told.is_whole ? std::optional<uint64_t>(told.value) : std::nullopt;
    };
    rename(track.name, name);
    if (parent.is_there)
        track.parent = number(parent);
    for (const bool is_thread : {false, true})
        for (const std::string_view part : is_thread ? threads : processes) {
            PerfettoLast pid, tid, thread_name, process_name;
            std::vector<std::string_view> labels;
            for (Fields fields(part); fields.next(field);) {
                if (field.number == 1)
                    pid.take(field);
                else if (field.number == 2)
                    tid.take(field);
                else if (field.number == 5)
                    thread_name.take(field);
                else if (field.number == 6)
                    process_name.take(field);
                else if (field.is_part(8))
                    labels.push_back(field.held);
            }
            track.pid = number(pid);
            if (is_thread) {
                track.tid = number(tid);
                rename(track.name, thread_name);
                continue;
            }
            rename(track.process_name, process_name);
            entries_ += labels.size();
            track.labels.insert(track.labels.end(), labels.begin(), labels.end());
        }
    for (const std::string_view part : counters)
        track.unit = text_of(part, 6);
}

// A snapshot of several clocks at one moment: from that of the trace to the wall clock.
void PerfettoTrace::take_offset(std::string_view message)
{
    std::optional<uint64_t> wall, boot, monotonic;
    Field field, inner;
    for (Fields fields(message); fields.next(field);) {
        if (!field.is_part(1))
            continue;
        PerfettoLast clock, value;
        for (Fields inside(field.held); inside.next(inner);) {
            if (inner.number == 1)
                clock.take(inner);
            else if (inner.number == 2)
                value.take(inner);
        }
        if (!clock.is_whole)
            continue;
        if (clock.value == REALTIME)
            wall = value.number();
        else if (clock.value == BOOTTIME)
            boot = value.number();
        else if (clock.value == MONOTONIC)
            monotonic = value.number();
    }
    const std::optional<uint64_t> base = boot ? boot : monotonic;
    if (base && wall && !offset_ns)
        offset_ns = plus(clipped(*wall), -clipped(*base));
}

void PerfettoTrace::intern(uint64_t sequence, std::string_view message)
{
    static constexpr std::pair<uint64_t, Word> LISTS[] = {{1, CATEGORY}, {2, NAME}, {3, ANNOTATION}, {29, VALUE}};
    std::array<Texts, WORDS> &words = words_[sequence];
    Field field, inner;
    for (Fields fields(message); fields.next(field);)
        for (const auto &[number, which] : LISTS) {
            if (!field.is_part(number))
                continue;
            PerfettoLast id, text;
            for (Fields inside(field.held); inside.next(inner);) {
                if (inner.number == 1)
                    id.take(inner);
                else if (inner.number == 2)
                    text.take(inner);
            }
            words[which][id.number()] = text.held;
            entries_ += 1 + text.held.size() / 64;
        }
}

// Clocks of a sequence: where they stand, in what, and the trace's clock at that moment.
void PerfettoTrace::set_clocks(uint64_t sequence, std::string_view message)
{
    struct Told {
        PerfettoLast clock, value, counts_on, scale;
    };
    std::vector<Told> told;
    Field field, inner;
    for (Fields fields(message); fields.next(field);) {
        if (!field.is_part(1))
            continue;
        told.emplace_back();
        for (Fields inside(field.held); inside.next(inner);) {
            if (inner.number == 1)
                told.back().clock.take(inner);
            else if (inner.number == 2)
                told.back().value.take(inner);
            else if (inner.number == 3)
                told.back().counts_on.take(inner);
            else if (inner.number == 4)
                told.back().scale.take(inner);
        }
    }
    const auto base = std::find_if(told.begin(), told.end(), [](const Told &one) {
        return one.clock.is_whole && one.clock.value == BOOTTIME;
    });
    if (base == told.end() || !base->value.is_whole)
        return;
    for (const Told &one : told) {
        if (one.clock.number() < FIRST_OF_SEQUENCE)
            continue;
        Clock clock;
        clock.scale = one.scale.number() ? one.scale.value : 1;
        clock.base = plus(clipped(base->value.value), -scaled(one.value.number(), clock.scale));
        if (one.counts_on.number())
            clock.value = one.value.number();
        clocks_[{sequence, one.clock.value}] = clock;
        entries_++;
    }
}

std::optional<int64_t> PerfettoTrace::moment(uint64_t sequence, const PerfettoLast &time, const PerfettoLast &told)
{
    if (!time.is_whole)
        return std::nullopt;
    uint64_t clock = told.number();
    if (!clock) {
        const auto by_default = defaults_.find(sequence);
        clock = by_default == defaults_.end() ? 0 : by_default->second;
    }
    const auto known = clock ? clocks_.find({sequence, clock}) : clocks_.end();
    if (known == clocks_.end())
        return clipped(time.value);
    uint64_t value = time.value;
    if (known->second.value) { // each time counts from the one before
        value = static_cast<uint64_t>(plus(clipped(value), clipped(*known->second.value)));
        known->second.value = value;
    }
    return plus(known->second.base, scaled(value, known->second.scale));
}

} // namespace perfscope
