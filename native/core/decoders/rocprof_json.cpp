#include "rocprof_json.h"

#include "error.h"
#include "json_fields.h"

#include <algorithm>

namespace perfscope {

using json::Malformed;

namespace {

constexpr std::string_view RECORDS = "buffer_records";
constexpr int64_t LATEST_NS = INT64_C(1) << 62;

int64_t told(std::string_view value)
{
    int64_t number;
    return json::whole_amount(value, number) ? number : -1;
}

int32_t small(std::string_view value)
{
    const int64_t number = told(value);
    return number <= INT32_MAX ? static_cast<int32_t>(number) : -1;
}

// Visits the members of what is an object. Throws Malformed where it is no proper one.
template <class Visit> void each(std::string_view value, Visit &&visit)
{
    if (json::is_object(value) && !json::for_each_member(value, visit))
        throw Malformed{value.data(), "the members of a record are no proper JSON"};
}

// A member of an object, where the value is one.
int64_t member(std::string_view value, std::string_view name)
{
    int64_t found = -1;
    each(value, [&](auto key, auto inner) {
        if (key == name)
            found = told(inner);
    });
    return found;
}

bool moment(std::string_view value, int64_t &number)
{
    return json::whole_number(value.data(), value.data() + value.size(), number) && value[0] != '"' &&
           value.find('.') == std::string_view::npos;
}

} // namespace

RocprofJson::RocprofJson(std::string path, std::string key, std::vector<std::string> lists,
                         std::vector<std::string> kept, uint64_t most_rows)
    : path_(std::move(path)), key_(std::move(key)), lists_(std::move(lists)), kept_(std::move(kept)), most_(most_rows)
{
}

void RocprofJson::feed(const char *data, size_t size)
{
    if (is_full())
        return;
    buffer_.append(data, size);
    if (buffer_.size() >= retry_at_)
        parse(false);
}

void RocprofJson::finish()
{
    if (is_full())
        return;
    parse(true);
    if (!is_begun_ || !open_.empty())
        throw FormatError(path_, offset_ + buffer_.size(), "the text ends early");
    buffer_ = {};
}

void RocprofJson::parse(bool is_last)
{
    const size_t length = buffer_.size();
    buffer_.append(json::PADDING, json::PAD);
    const char *start = buffer_.data(), *end = start + length, *p = start;
    try {
        while (const char *behind = is_full() ? nullptr : step(p, end))
            p = behind;
    } catch (const Malformed &problem) {
        // behind the end of the text stand only padding quotes: more of the text may make sense of it
        if (problem.at < end || is_last)
            fail(std::min(problem.at, end), problem.why);
    }
    const auto consumed = static_cast<size_t>(p - start);
    buffer_.resize(length);
    buffer_.erase(0, consumed);
    offset_ += consumed;
    if (buffer_.size() > MOST_BYTES_OF_A_VALUE && !is_last && !is_full())
        throw FormatError(path_, offset_, "one value is longer than 64 MiB");
    retry_at_ = 2 * buffer_.size();
}

// What comes next, from p to where the returned pointer is; nullptr when more text is needed.
const char *RocprofJson::step(const char *p, const char *end)
{
    if (!open_.empty() && open_.back().part == Part::SKIPPED)
        return skip(p, end);
    const char *q = json::skip_space(p);
    if (q >= end)
        return p < end ? end : nullptr;
    if (!open_.empty())
        return inside(q, end);
    if (is_begun_)
        throw Malformed{q, "text follows the end of the profile"};
    if (*q != '{')
        throw Malformed{q, "this is no JSON object"};
    is_begun_ = true;
    return enter(Part::DOCUMENT, q);
}

const char *RocprofJson::inside(const char *p, const char *end)
{
    const Open &open = open_.back();
    if (*p == ',')
        return p + 1;
    if (*p == (open.is_list ? ']' : '}')) {
        open_.pop_back();
        return p + 1;
    }
    if (open.is_list)
        return value({}, p, end);
    std::string_view name;
    const char *begin = json::member_value(p, end, name, "a member has no name");
    return begin ? value(name, begin, end) : nullptr;
}

// Takes a value that is a member of this name, or one of a list.
const char *RocprofJson::value(std::string_view name, const char *p, const char *end)
{
    const Open open = open_.back();
    const bool is_object = *p == '{', is_list = *p == '[';
    if (open.part == Part::DOCUMENT && name == key_ && (is_object || is_list))
        return enter(is_list ? Part::PROCESSES : Part::PROCESS, p);
    if (open.part == Part::PROCESSES && is_object)
        return enter(Part::PROCESS, p);
    if (open.part == Part::PROCESS && name == RECORDS && is_object)
        return enter(Part::RECORDS, p);
    if (open.part == Part::RECORDS && is_list) {
        const auto found = std::find(lists_.begin(), lists_.end(), name);
        return enter(found == lists_.end() ? Part::SKIPPED : Part::ROWS, p,
                     static_cast<uint32_t>(found - lists_.begin()));
    }
    const bool is_kept = open.part == Part::PROCESS && std::find(kept_.begin(), kept_.end(), name) != kept_.end();
    const bool is_row = open.part == Part::ROWS && is_object;
    if (!is_kept && !is_row && (is_object || is_list))
        return enter(Part::SKIPPED, p);
    const char *behind = json::value_end(p, end);
    if (!behind)
        return nullptr;
    if (is_row)
        row(json::between(p, behind), open.list);
    else if (is_kept)
        processes.back().members[std::string(name)] = json::between(p, behind);
    return behind;
}

const char *RocprofJson::enter(Part part, const char *p, uint32_t list)
{
    if (open_.size() >= MOST_LEVELS)
        throw Malformed{p, "values are nested deeper than 64 levels"};
    open_.push_back({part, *p == '[', list});
    if (part == Part::PROCESS) {
        if (processes.size() >= MOST_PROCESSES)
            throw Malformed{p, "it is of more than 65,536 processes"};
        processes.emplace_back();
    }
    return p + 1;
}

// Passes over what nobody asks for, bracket by bracket.
const char *RocprofJson::skip(const char *p, const char *end)
{
    const char *q = json::structure(p);
    if (q >= end)
        return p < end ? end : nullptr;
    if (*q == '"') {
        const char *quote = json::string_end(q + 1);
        if (quote < end)
            return quote + 1;
        return q > p ? q : nullptr; // the text of the string may come
    }
    if (*q == '{' || *q == '[')
        return enter(Part::SKIPPED, q);
    if (*q != (open_.back().is_list ? ']' : '}'))
        throw Malformed{q, "a bracket closes another kind of bracket"};
    open_.pop_back();
    return q + 1;
}

void RocprofJson::row(std::string_view record, uint32_t list)
{
    RocprofRow found{0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, list};
    int64_t begin = 0, end = 0;
    each(record, [&](auto key, auto value) {
        if (key == "start_timestamp")
            begin = moment(value, begin) ? begin : 0;
        else if (key == "end_timestamp")
            end = moment(value, end) ? end : 0;
        else if (key == "correlation_id")
            found.call = member(value, "internal");
        else if (key == "thread_id")
            found.thread = told(value);
        else if (key == "kind")
            found.kind = small(value);
        else if (key == "operation")
            found.operation = small(value);
        else if (key == "bytes")
            found.bytes = told(value);
        else if (key == "dst_agent_id")
            found.target = member(value, "handle");
        else if (key == "src_agent_id")
            found.source = member(value, "handle");
        else if (key == "dispatch_info")
            each(value, [&](auto name, auto inner) {
                if (name == "kernel_id")
                    found.kernel = told(inner);
                else if (name == "agent_id")
                    found.agent = member(inner, "handle");
                else if (name == "queue_id")
                    found.queue = member(inner, "handle");
            });
    });
    rows_++;
    if (begin <= 0 || begin > end || end >= LATEST_NS) {
        processes.back().without_time++;
        return;
    }
    found.t0 = begin;
    found.t1 = end;
    processes.back().rows.push_back(found);
}

void RocprofJson::fail(const char *at, const std::string &why) const
{
    throw FormatError(path_, offset_ + static_cast<uint64_t>(at - buffer_.data()), why);
}

} // namespace perfscope
