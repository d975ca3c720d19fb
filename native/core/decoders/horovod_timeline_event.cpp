#include "decoders/horovod_timeline_event.h"

#include <cctype>

namespace perfscope {
namespace {

constexpr int deepest = 64;
constexpr int64_t most_us = 9000000000000000; // about 285 years, so that nanoseconds fit

// A cursor over one JSON object. After a failure `problem` says why and nothing else counts.
class Cursor {
public:
    explicit Cursor(std::string_view text) : text_(text) {}
    const char *problem = nullptr;
    size_t at() const { return at_; }

    bool fail(const char *why)
    {
        if (!problem)
            problem = why;
        return false;
    }
    char peek()
    {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
            at_++;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(char wanted)
    {
        if (peek() != wanted)
            return false;
        at_++;
        return true;
    }
    bool string(std::string &out);
    bool microseconds(int64_t &nanoseconds);
    bool integer(int64_t &value);
    bool skip(int depth = 0);
    // Calls field(key) for each field; it must consume the value.
    template <class Field> bool object(Field &&field);

private:
    bool escape(std::string &out);
    bool hexadecimal(uint32_t &code);
    bool word();

    std::string_view text_;
    size_t at_ = 0;
};

void append_utf8(std::string &out, uint32_t code)
{
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xC0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xE0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        out += static_cast<char>(0xF0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        out += static_cast<char>(0x80 | (code & 0x3F));
    }
}

bool Cursor::hexadecimal(uint32_t &code)
{
    if (at_ + 4 > text_.size())
        return fail("an escape of a text is cut off");
    code = 0;
    for (int i = 0; i < 4; i++) {
        const char c = text_[at_++];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return fail("an escape of a text is not hexadecimal");
        code = code << 4 | static_cast<uint32_t>(digit);
    }
    return true;
}

bool Cursor::escape(std::string &out)
{
    if (at_ >= text_.size())
        return fail("a text is cut off");
    const char c = text_[at_++];
    switch (c) {
    case 'n': out += '\n'; return true;
    case 't': out += '\t'; return true;
    case 'r': out += '\r'; return true;
    case 'b': out += '\b'; return true;
    case 'f': out += '\f'; return true;
    case 'u': break;
    default: out += c; return true;
    }
    uint32_t code, low;
    if (!hexadecimal(code))
        return false;
    if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
        at_ += 2;
        if (!hexadecimal(low))
            return false;
        const bool paired = low >= 0xDC00 && low < 0xE000;
        append_utf8(out, paired ? 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00) : 0xFFFD);
        return true;
    }
    append_utf8(out, code >= 0xD800 && code < 0xE000 ? 0xFFFD : code);
    return true;
}

bool Cursor::string(std::string &out)
{
    out.clear();
    if (!take('"'))
        return fail("a text was expected");
    while (at_ < text_.size()) {
        const char c = text_[at_++];
        if (c == '"')
            return true;
        if (c != '\\')
            out += c;
        else if (!escape(out))
            return false;
    }
    return fail("a text is cut off");
}

bool Cursor::microseconds(int64_t &nanoseconds)
{
    peek();
    const bool negative = at_ < text_.size() && text_[at_] == '-';
    at_ += negative;
    const size_t first = at_;
    int64_t whole = 0, part = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
        whole = whole * 10 + (text_[at_] - '0');
        if (whole > most_us)
            return fail("a time is out of range");
    }
    if (at_ == first)
        return fail("a number was expected");
    if (at_ < text_.size() && text_[at_] == '.') {
        int64_t unit = 100;
        for (at_++; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++, unit /= 10)
            part += (text_[at_] - '0') * unit;
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E'))
        return fail("a time with an exponent");
    nanoseconds = (whole * 1000 + part) * (negative ? -1 : 1);
    return true;
}

bool Cursor::integer(int64_t &value)
{
    int64_t scaled;
    if (!microseconds(scaled))
        return false;
    value = scaled / 1000;
    return scaled % 1000 == 0 || fail("a whole number was expected");
}

bool Cursor::word()
{
    const size_t first = at_;
    while (at_ < text_.size() && (isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '-' ||
                                  text_[at_] == '+' || text_[at_] == '.'))
        at_++;
    return at_ > first || fail("a value was expected");
}

bool Cursor::skip(int depth)
{
    if (depth > deepest)
        return fail("values are nested too deeply");
    std::string ignored;
    switch (peek()) {
    case '"': return string(ignored);
    case '{': return object([&](const std::string &) { return skip(depth + 1); });
    case '[': break;
    default: return word();
    }
    at_++;
    if (take(']'))
        return true;
    do
        if (!skip(depth + 1))
            return false;
    while (take(','));
    return take(']') || fail("a list is not closed");
}

template <class Field> bool Cursor::object(Field &&field)
{
    if (!take('{'))
        return fail("an object was expected");
    if (take('}'))
        return true;
    std::string key;
    do {
        if (!string(key))
            return false;
        if (!take(':'))
            return fail("a colon was expected");
        if (!field(key))
            return false;
    } while (take(','));
    return take('}') || fail("a comma was expected");
}

} // namespace

const char *parse_timeline_event(std::string_view text, TimelineEvent &event, size_t &place)
{
    event = TimelineEvent();
    Cursor cursor(text);
    std::string phase;
    const auto argument = [&](const std::string &key) {
        const bool is_text = cursor.peek() == '"';
        if (key == "start_time_since_epoch_in_micros" && !is_text)
            return event.has_epoch = cursor.integer(event.epoch_us);
        std::string *wanted = key == "name"    ? &event.argument_name
                              : key == "dtype" ? &event.dtype
                              : key == "shape" ? &event.shape
                                               : nullptr;
        return wanted && is_text ? cursor.string(*wanted) : cursor.skip();
    };
    const auto field = [&](const std::string &key) {
        if (key == "name" && cursor.peek() == '"')
            return cursor.string(event.name);
        if (key == "ph")
            return cursor.string(phase);
        if (key == "pid" && cursor.peek() != '"')
            return cursor.integer(event.pid);
        if (key == "ts")
            return event.has_time = cursor.microseconds(event.time_ns);
        if (key == "args" && cursor.peek() == '{')
            return cursor.object(argument);
        return cursor.skip();
    };
    cursor.object(field);
    if (!cursor.problem && cursor.at() != text.size())
        cursor.fail("an event is not closed");
    event.phase = phase.empty() ? '\0' : phase[0];
    place = cursor.at();
    return cursor.problem;
}

} // namespace perfscope
