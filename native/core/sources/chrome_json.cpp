#include "chrome_json.h"

#include "error.h"
#include "json_text.h"

#include <algorithm>

namespace perfscope {

using json::Malformed;

ChromeParser::ChromeParser(std::string path, ChromeSink &sink) : path_(std::move(path)), sink_(sink) {}

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
    if (*p != '"')
        throw Malformed{p, "a member of the trace has no name"};
    const char *quote = json::string_end(p + 1);
    const char *colon = quote < end ? json::skip_space(quote + 1) : end;
    if (colon >= end)
        return nullptr;
    if (*colon != ':')
        throw Malformed{colon, "a name without a value"};
    const char *value = json::skip_space(colon + 1);
    if (value >= end)
        return nullptr;
    const std::string_view name(p + 1, static_cast<size_t>(quote - p - 1));
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

static std::string_view between(const char *p, const char *end)
{
    return {p, static_cast<size_t>(end - p)};
}

// Takes one member of an event; the position behind its value, nullptr when the text ends before it.
static const char *take_member(ChromeEvent &found, std::string_view key, const char *p, const char *end)
{
    const auto number = [&](bool &has, int64_t &value) -> const char * {
        const char *behind = p;
        has = json::thousandths(behind, value);
        if (has && behind < end && *behind != '"')
            return behind;
        return json::value_end(p, end);
    };
    if (key == "ts")
        return number(found.has_time, found.time);
    if (key == "dur")
        return number(found.has_duration, found.duration);
    const char *behind = json::value_end(p, end);
    if (!behind)
        return nullptr;
    const bool is_text = *p == '"';
    const std::string_view whole = between(p, behind);
    const std::string_view text = is_text ? between(p + 1, behind - 1) : std::string_view();
    switch (key.size()) {
    case 2:
        if (key == "ph")
            found.phase = text.size() == 1 ? text[0] : '\0';
        else if (key == "id")
            found.id = whole;
        break;
    case 3:
        if (key == "cat")
            found.category = text;
        else if (key == "pid")
            found.process = whole;
        else if (key == "tid")
            found.thread = whole;
        break;
    case 4:
        if (key == "name")
            found.name = text;
        else if (key == "args")
            found.arguments = *p == '{' ? whole : std::string_view();
        break;
    default:
        break;
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
        if (*p != '"')
            throw Malformed{p, "a member of an event has no name"};
        const char *quote = json::string_end(p + 1);
        const char *colon = quote < end ? json::skip_space(quote + 1) : end;
        if (colon >= end)
            return nullptr;
        if (*colon != ':')
            throw Malformed{colon, "a name without a value"};
        const char *value = json::skip_space(colon + 1);
        const char *behind = value < end ? take_member(found, between(p + 1, quote), value, end) : nullptr;
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
