// Chrome's trace event format, as Kineto and others write it: events one by one, from blocks of any size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace perfscope {

// One event as it stands in the text: what is not there is empty. Texts are still escaped.
struct ChromeEvent {
    char phase = 0; // X, B, E, M, s, f, t, i, C, ...; 0 none
    bool has_time = false, has_duration = false;
    bool is_beyond = false;  // its time is a number too large for microseconds
    bool is_damaged = false; // its duration is no number
    int64_t time = 0, duration = 0; // ns
    std::string_view name, category; // between the quotes
    std::string_view process, thread, id; // with quotes, where they have any
    std::string_view arguments; // the object with its braces
};

// What becomes of the events of one file.
class ChromeSink {
public:
    virtual ~ChromeSink() = default;
    virtual void event(const ChromeEvent &event) = 0;
    // Any other member of the file's object, the value as JSON text.
    virtual void member(std::string_view name, std::string_view value) = 0;
};

class ChromeParser {
public:
    static constexpr size_t MOST_BYTES_OF_A_VALUE = size_t(64) << 20;

    // Times are microseconds, as the format has them, or nanoseconds.
    ChromeParser(std::string path, ChromeSink &sink, bool is_in_nanoseconds = false);

    // Room for the next `bytes` of the file, which `commit` then takes; without a copy.
    char *room(size_t bytes);
    void commit(size_t bytes);
    void feed(const char *text, size_t bytes);
    // The file is at its end. Throws FormatError where it held no list of events.
    void finish();

    // Whether the text ended before its closing bracket, and where the last whole event ended.
    bool is_cut() const { return is_cut_; }
    uint64_t cut_at() const { return offset_; }
    uint64_t bytes() const { return offset_ + used_; }

private:
    enum class State { START, OBJECT, EVENTS, DONE };

    void parse(bool is_last);
    const char *step(const char *p, const char *end);
    const char *object_step(const char *p, const char *end);
    const char *event(const char *p, const char *end);
    const char *take_member(ChromeEvent &found, std::string_view key, const char *p, const char *end) const;
    const char *moment(ChromeEvent &found, const char *p, const char *end) const;
    bool ns(const char *&p, const char *end, int64_t &value) const;
    [[noreturn]] void fail(const char *at, const char *why) const;

    std::string path_;
    ChromeSink &sink_;
    std::vector<char> buffer_;
    size_t used_ = 0;     // bytes of the buffer that hold text
    size_t retry_at_ = 0; // an incomplete value is tried again when the buffer holds this much
    uint64_t offset_ = 0; // of the buffer's start in the file
    State state_ = State::START;
    bool is_in_nanoseconds_;
    bool is_list_ = false, has_events_ = false, is_cut_ = false;
};

} // namespace perfscope
