#include "decoders/paraver.h"

#include "error.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace perfscope {
namespace {

constexpr size_t longest_line = 64 << 20;
constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr int64_t near_threads = 64;
constexpr int64_t first_counter = 42000000, last_counter = 42999999;
constexpr int64_t first_call = 50000001, last_call = 50000005;
constexpr int64_t send_size = 50100001, receive_size = 50100002, root = 50100003, communicator = 50100004;
constexpr uint16_t open_flag = 1; // RowFlag.OPEN

int32_t narrow(int64_t value)
{
    const bool fits = value >= 0 && value <= std::numeric_limits<int32_t>::max();
    return fits ? static_cast<int32_t>(value) : -1;
}

} // namespace

// The numbers of one line, separated by colons.
struct ParaverTrace::Fields {
    const char *at;
    const char *end;
    const std::string &path;
    uint64_t offset; // of the line
    int64_t unit;

    [[noreturn]] void fail(const char *reason) const { throw FormatError(path, offset, reason); }
    bool more() const { return at < end; }
    int64_t number()
    {
        if (at < end && *at == ':')
            at++;
        const bool negative = at < end && *at == '-';
        at += negative;
        const uint64_t value = digits(static_cast<uint64_t>(most));
        return negative ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
    }
    // The value of an event: 64 bits, written with a sign or, as counters are, without one.
    int64_t bits()
    {
        const bool is_signed = end - at > 1 && *at == ':' && at[1] == '-';
        if (is_signed)
            return number();
        at += at < end && *at == ':';
        return static_cast<int64_t>(digits(std::numeric_limits<uint64_t>::max()));
    }
    uint64_t digits(uint64_t limit)
    {
        uint64_t value = 0;
        const char *first = at;
        for (; at < end; at++) {
            const unsigned digit = static_cast<unsigned char>(*at) - '0';
            if (digit > 9)
                break;
            value = value * 10 + digit;
        }
        // 18 digits always fit; longer ones are counted again with care
        if (at == first)
            fail("a number was expected");
        if (at - first > 18)
            value = long_number(first, limit);
        if (at < end && *at != ':')
            fail("a colon was expected");
        return value;
    }
    uint64_t long_number(const char *first, uint64_t limit) const
    {
        uint64_t value = 0;
        for (; first < at; first++) {
            const auto digit = static_cast<uint64_t>(*first - '0');
            if (value > (limit - digit) / 10)
                fail("a number is out of range");
            value = value * 10 + digit;
        }
        return value;
    }
    int64_t time()
    {
        const int64_t value = number();
        if (value > most / 4 / unit || value < -(most / 4 / unit))
            fail("a time is out of range");
        return value * unit;
    }
};

void ParaverTrace::feed(const char *bytes, size_t count)
{
    const char *const end = bytes + count;
    const char *begin = bytes;
    if (!tail_.empty()) {
        const auto *stop = static_cast<const char *>(std::memchr(bytes, '\n', count));
        tail_.append(bytes, stop ? static_cast<size_t>(stop + 1 - bytes) : count);
        if (tail_.size() > longest_line)
            throw FormatError(path_, consumed_, "a line is longer than 64 MiB");
        if (!stop)
            return;
        const std::string whole = std::move(tail_);
        tail_.clear();
        lines(whole.data(), whole.data() + whole.size(), consumed_);
        consumed_ += whole.size();
        begin = stop + 1;
    }
    const auto *last = static_cast<const char *>(memrchr(begin, '\n', static_cast<size_t>(end - begin)));
    const char *complete = last ? last + 1 : begin;
    lines(begin, complete, consumed_);
    consumed_ += static_cast<uint64_t>(complete - begin);
    tail_.assign(complete, end);
}

void ParaverTrace::lines(const char *begin, const char *end, uint64_t offset)
{
    const char *const start = begin;
    while (begin < end) {
        const auto *stop = static_cast<const char *>(std::memchr(begin, '\n', static_cast<size_t>(end - begin)));
        const char *last = stop;
        if (last > begin && last[-1] == '\r')
            last--;
        line(begin, last, offset + static_cast<uint64_t>(begin - start));
        begin = stop + 1;
    }
}

void ParaverTrace::line(const char *begin, const char *end, uint64_t offset)
{
    if (!has_header_) {
        size_t place;
        const std::string_view text(begin, static_cast<size_t>(end - begin));
        if (const char *problem = parse_paraver_header(text, header, place))
            throw FormatError(path_, offset + place, problem);
        has_header_ = true;
        by_rank_.resize(header.threads.size());
        last_ns = header.duration_ns;
        return;
    }
    if (begin == end || *begin == '#')
        return;
    if (*begin == 'i' || *begin == 'I') // an intercommunicator
        return;
    if (*begin == 'c' || *begin == 'C') {
        if (const char *problem = parse_paraver_communicator({begin, static_cast<size_t>(end - begin)}, header))
            throw FormatError(path_, offset, problem);
        return;
    }
    Fields fields{begin + 1, end, path_, offset, header.unit_ns};
    if (*begin < '0' || *begin > '9' || end - begin < 2 || begin[1] != ':')
        fields.fail("a record was expected");
    records++;
    switch (*begin) {
    case '1': return state(fields);
    case '2': return events(fields);
    case '3': return message(fields);
    default: unknown_records++;
    }
}

// Reads cpu:application:task:thread; the place of the thread in `locations`.
int32_t ParaverTrace::location(Fields &fields)
{
    fields.number(); // the CPU
    const int64_t application = fields.number(), task = fields.number(), thread = fields.number();
    const int32_t rank = header.rank(application, task);
    if (rank < 0)
        fields.fail("a record is of a task that the header does not have");
    if (thread < 1 || thread > std::numeric_limits<int32_t>::max())
        fields.fail("a thread has no valid number");
    int32_t *place;
    if (thread <= near_threads) {
        auto &threads = by_rank_[static_cast<size_t>(rank)];
        if (threads.size() < static_cast<size_t>(thread))
            threads.resize(static_cast<size_t>(thread), -1);
        place = &threads[static_cast<size_t>(thread - 1)];
    } else {
        place = &far_threads_.try_emplace({rank, thread}, -1).first->second;
    }
    if (*place < 0) {
        *place = static_cast<int32_t>(locations.size());
        locations.emplace_back();
        locations.back().rank = rank;
        locations.back().thread = static_cast<int32_t>(thread);
    }
    return *place;
}

void ParaverTrace::touch(ParaverLocation &of, int64_t begin, int64_t end)
{
    below_zero += begin < 0;
    disordered += of.seen && begin < of.reached;
    of.reached = of.seen ? std::max(of.reached, begin) : begin;
    out_of_turn += begin < reached_ns;
    reached_ns = std::max(reached_ns, begin);
    of.first = of.seen ? std::min(of.first, begin) : begin;
    of.last = of.seen ? std::max(of.last, end) : end;
    of.seen = true;
    last_ns = std::max(last_ns, end);
}

void ParaverTrace::state(Fields &fields)
{
    const int32_t place = location(fields);
    const int64_t begin = fields.time();
    int64_t end = fields.time();
    const int64_t value = fields.number();
    ParaverLocation &of = locations[static_cast<size_t>(place)];
    if (end < begin) {
        backwards++;
        end = begin;
    }
    of.state_ns.add(value, end - begin);
    of.state_before = of.state;
    of.state_before_begin = of.state_begin;
    of.state = value;
    of.state_begin = begin;
    touch(of, begin, end);
    if (value == paraver_not_created && begin == (of.created ? of.created : of.first))
        of.created = end;
    if (value == paraver_input_output && end > begin)
        file_states.push_back({begin, end, place});
}

void ParaverTrace::events(Fields &fields)
{
    const int32_t place = location(fields);
    const int64_t time = fields.time();
    ParaverLocation &of = locations[static_cast<size_t>(place)];
    touch(of, time, time);
    if (!fields.more())
        fields.fail("an event has no type");
    while (fields.more()) {
        const int64_t type = fields.number();
        if (!fields.more())
            fields.fail("an event has no value");
        event(of, place, time, type, fields.bits());
    }
}

void ParaverTrace::event(ParaverLocation &of, int32_t place, int64_t time, int64_t type, int64_t value)
{
    if (type >= first_counter && type <= last_counter)
        return counter(of, place, time, type, value);
    event_types.add(type, 1);
    if (type >= first_call && type <= last_call)
        return call(of, place, time, type - first_call + 1, value);
    if (of.open_call < 0)
        return;
    ParaverCallRow &row = calls[static_cast<size_t>(of.open_call)];
    if (row.t0 != time)
        return;
    if (type == send_size)
        row.sent = value;
    else if (type == receive_size)
        row.received = value;
    else if (type == communicator)
        row.communicator = narrow(value);
    else if (type == root)
        row.is_root = value > 0;
}

void ParaverTrace::call(ParaverLocation &of, int32_t place, int64_t time, int64_t kind, int64_t value)
{
    if (of.open_call < 0 && value == 0) {
        unmatched_leaves++;
        return;
    }
    if (of.open_call >= 0) {
        unclosed_calls += value != 0;
        close(of, time, value != 0);
    }
    if (value == 0)
        return;
    of.open_call = static_cast<int64_t>(calls.size());
    calls.push_back({time, time, 0, 0, place, narrow(value), -1, static_cast<uint16_t>(kind), 0, 0});
}

void ParaverTrace::close(ParaverLocation &of, int64_t time, bool is_open)
{
    ParaverCallRow &row = calls[static_cast<size_t>(of.open_call)];
    const int64_t began = row.t0; // the fields of a packed row cannot be referred to
    const int64_t ended = std::max(time, began);
    backwards += time < began;
    row.t1 = ended;
    row.flags = is_open ? open_flag : 0;
    of.mpi_ns += ended - began;
    of.open_call = -1;
}

void ParaverTrace::counter(ParaverLocation &of, int32_t place, int64_t time, int64_t type, int64_t value)
{
    const auto at = static_cast<size_t>(type - first_counter);
    if (counter_index_.size() <= at)
        counter_index_.resize(at + 1, -1);
    int32_t &index = counter_index_[at];
    if (index < 0) {
        index = static_cast<int32_t>(counter_types.size());
        counter_types.push_back(type);
    }
    counters.push_back({time, value, place, index});
    if (type != paraver_instructions && type != paraver_cycles)
        return;
    // what was counted lies before the event: in the last state that began earlier
    const int64_t before = of.state_begin < time ? of.state : of.state_before_begin < time ? of.state_before : -1;
    ParaverCount &count = type == paraver_cycles ? of.cycles : of.instructions;
    count.seen = true;
    if (before != paraver_running)
        return;
    if (value < 0 || value > most - count.sum)
        count.impossible++;
    else
        count.sum += value;
}

void ParaverTrace::message(Fields &fields)
{
    ParaverMessageRow row;
    row.sender = location(fields);
    row.send = fields.time();
    row.sent = fields.time();
    row.receiver = location(fields);
    row.receive = fields.time();
    row.received = fields.time();
    row.bytes = fields.number();
    row.tag = narrow(fields.number());
    messages.push_back(row);
}

void ParaverTrace::finish()
{
    if (!has_header_)
        throw FormatError(path_, consumed_ + tail_.size(), "it ends inside the header");
    is_cut = !tail_.empty();
    tail_ = std::string();
    for (auto &of : locations)
        if (of.open_call >= 0) {
            unclosed_calls++;
            open_at_end++;
            close(of, of.last, true);
        }
}

} // namespace perfscope
