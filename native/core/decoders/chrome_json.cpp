#include "chrome_json.h"

#include "error.h"
#include "json_text.h"

#include <algorithm>
#include <cstring>

namespace perfscope {

using json::Malformed;

ChromeParser::ChromeParser(std::string path, ChromeSink &sink, bool is_in_nanoseconds)
    : path_(std::move(path)), sink_(sink), is_in_nanoseconds_(is_in_nanoseconds)
{
}

char *ChromeParser::room(size_t bytes)
{
    const size_t needed = used_ + bytes + json::PADDING;
    if (buffer_.size() < needed)
        buffer_.resize(std::max(needed, buffer_.size() + buffer_.size() / 2));
    return buffer_.data() + used_;
}

void ChromeParser::commit(size_t bytes)
{
    used_ += bytes;
    if (used_ >= retry_at_)
        parse(false);
}

void ChromeParser::feed(const char *text, size_t bytes)
{
    std::copy(text, text + bytes, room(bytes));
    commit(bytes);
}

void ChromeParser::finish()
{
    room(0);
    parse(true);
    if (state_ == State::START)
        throw FormatError(path_, offset_, "the file is empty");
    if (!has_events_)
        throw FormatError(path_, bytes(), "the text ends before a list of events (\"traceEvents\") begins");
    // the bracket at the end of a bare list may be left out
    is_cut_ = state_ != State::DONE && !(is_list_ && used_ == 0);
}

void ChromeParser::parse(bool is_last)
{
    std::fill_n(buffer_.data() + used_, json::PADDING, json::PAD);
    const char *start = buffer_.data(), *end = start + used_;
    const char *p = start;
    try {
        while (const char *behind = step(p, end))
            p = behind;
    } catch (const Malformed &problem) {
        // behind the end of the text stand only padding quotes: more of the text may make sense of it
        if (problem.at < end)
            fail(problem.at, problem.why);
    }
    const auto consumed = static_cast<size_t>(p - start);
    used_ -= consumed;
    offset_ += consumed;
    std::copy(p, end, buffer_.data());
    if (used_ > MOST_BYTES_OF_A_VALUE && !is_last)
        throw FormatError(path_, offset_, "one value is longer than 64 MiB");
    retry_at_ = 2 * used_;
}

// What comes next, from p to where the returned pointer is; nullptr when more text is needed.
const char *ChromeParser::step(const char *p, const char *end)
{
    const char *q = json::skip_space(p);
    if (q >= end)
        return p < end ? end : nullptr;
    switch (state_) {
    case State::START:
        if (static_cast<unsigned char>(*q) == 0xef && end - q >= 3)
            q += 3; // byte order mark
        is_list_ = *q == '[';
        if (!is_list_ && *q != '{')
            throw Malformed{q, "this is neither a JSON object nor a list of events"};
        has_events_ = is_list_;
        state_ = is_list_ ? State::EVENTS : State::OBJECT;
        return q + 1;
    case State::OBJECT:
        return object_step(q, end);
    case State::EVENTS:
        if (*q == '{')
            return event(q, end);
        if (*q == ']')
            state_ = is_list_ ? State::DONE : State::OBJECT;
        else if (*q != ',')
            throw Malformed{q, "the list of events holds something that is no event"};
        return q + 1;
    case State::DONE:
        break;
    }
    throw Malformed{q, "text follows the end of the trace"};
}

const char *ChromeParser::object_step(const char *p, const char *end)
{
    if (*p == ',')
        return p + 1;
    if (*p == '}') {
        state_ = State::DONE;
        return p + 1;
    }
    std::string_view name;
    const char *value = json::member_value(p, end, name, "a member of the trace has no name");
    if (!value)
        return nullptr;
    if (name == "traceEvents" && *value == '[') {
        if (has_events_)
            throw Malformed{p, "\"traceEvents\" occurs a second time"};
        has_events_ = true;
        state_ = State::EVENTS;
        return value + 1;
    }
    const char *behind = json::value_end(value, end);
    if (behind)
        sink_.member(name, std::string_view(value, static_cast<size_t>(behind - value)));
    return behind;
}

// Compares a name whose length is known with one of that length.
template <size_t Size> static bool is(std::string_view name, const char (&wanted)[Size])
{
    return std::memcmp(name.data(), wanted, Size - 1) == 0;
}

// The nanoseconds of the number at p; moves p behind it. False where it is no number or too large.
bool ChromeParser::ns(const char *&p, const char *end, int64_t &value) const
{
    if (!is_in_nanoseconds_)
        return json::thousandths(p, value);
    const char *behind = json::value_end(p, end);
    if (behind && *p != '"' && json::whole_number(p, behind, value)) {
        p = behind;
        return true;
    }
    return json::nearest_whole(p, value);
}

// Takes the time of an event.
const char *ChromeParser::moment(ChromeEvent &found, const char *p, const char *end) const
{
    const char *behind = p;
    found.has_time = ns(behind, end, found.time);
    if (found.has_time && behind < end && *behind != '"')
        return behind;
    behind = json::value_end(p, end);
    found.is_beyond = behind && *p != '"' && json::nearest_whole(p, found.time);
    return behind;
}

// Takes one member of an event; the position behind its value, nullptr when the text ends before it.
const char *ChromeParser::take_member(ChromeEvent &found, std::string_view key, const char *p, const char *end) const
{
    const size_t length = key.size();
    if (length == 2 && is(key, "ts"))
        return moment(found, p, end);
    if (length == 3 && is(key, "dur")) {
        const char *behind = p;
        found.has_duration = ns(behind, end, found.duration);
        found.is_damaged = !found.has_duration;
        return found.has_duration && behind < end && *behind != '"' ? behind : json::value_end(p, end);
    }
    const char *behind = json::value_end(p, end);
    if (!behind)
        return nullptr;
    const std::string_view whole = json::between(p, behind);
    const std::string_view text = *p == '"' ? json::between(p + 1, behind - 1) : std::string_view();
    if (length == 2) {
        if (is(key, "ph"))
            found.phase = text.size() == 1 ? text[0] : '\0';
        else if (is(key, "id"))
            found.id = whole;
    } else if (length == 3) {
        if (is(key, "cat"))
            found.category = text;
        else if (is(key, "pid"))
            found.process = whole;
        else if (is(key, "tid"))
            found.thread = whole;
    } else if (length == 4) {
        if (is(key, "name"))
            found.name = text;
        else if (is(key, "args"))
            found.arguments = *p == '{' ? whole : std::string_view();
    }
    return behind;
}

const char *ChromeParser::event(const char *p, const char *end)
{
    ChromeEvent found;
    for (p++;;) {
        p = json::skip_space(p);
        while (p < end && *p == ',')
            p = json::skip_space(p + 1);
        if (p >= end)
            return nullptr;
        if (*p == '}')
            break;
        std::string_view name;
        const char *value = json::member_value(p, end, name, "a member of an event has no name");
        const char *behind = value ? take_member(found, name, value, end) : nullptr;
        if (!behind)
            return nullptr;
        p = behind;
    }
    sink_.event(found);
    return p + 1;
}

void ChromeParser::fail(const char *at, const char *why) const
{
    throw FormatError(path_, offset_ + static_cast<uint64_t>(at - buffer_.data()), why);
}

} // namespace perfscope
