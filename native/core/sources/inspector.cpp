#include "inspector.h"

#include "json_fields.h"

#include <algorithm>
#include <limits>

namespace perfscope {

namespace {

constexpr std::string_view COLLECTIVE = "coll", MESSAGE = "p2p";

// What stands behind the prefix that all members of an operation have: "_sn" of "coll_sn".
std::string_view behind(std::string_view key, std::string_view prefix)
{
    return key.substr(0, prefix.size()) == prefix ? key.substr(prefix.size()) : std::string_view("?");
}

std::string known(std::string_view value)
{
    std::string found = json::text(value, InspectorLog::LONGEST_NAME);
    return found == "unknown" ? std::string() : found;
}

std::string_view trimmed(std::string_view line)
{
    const auto is_blank = [](char c) { return static_cast<unsigned char>(c) <= ' '; };
    while (!line.empty() && is_blank(line.front()))
        line.remove_prefix(1);
    while (!line.empty() && is_blank(line.back()))
        line.remove_suffix(1);
    return line;
}

} // namespace

void InspectorLog::feed(const char *data, size_t size)
{
    buffer_.append(data, size);
    lines(false);
}

void InspectorLog::finish()
{
    lines(true);
    buffer_ = {};
}

void InspectorLog::lines(bool is_last)
{
    const size_t length = buffer_.size();
    buffer_.append(json::PADDING, json::PAD);
    size_t begin = 0;
    while (begin < length) {
        const size_t found = buffer_.find('\n', begin);
        const bool has_end = found != std::string::npos && found < length;
        if (!has_end && !is_last)
            break;
        const std::string_view line = trimmed(std::string_view(buffer_).substr(begin, (has_end ? found : length) - begin));
        if (is_in_long_line_ || !line.empty())
            odd += is_in_long_line_ || line.size() > LONGEST_LINE || !take(line);
        is_in_long_line_ = false;
        begin = has_end ? found + 1 : length;
    }
    buffer_.resize(length);
    buffer_.erase(0, begin);
    if (buffer_.size() > LONGEST_LINE) { // its end alone is waited for
        is_in_long_line_ = true;
        buffer_.clear();
    }
    if (is_last && is_in_long_line_) {
        odd++;
        is_in_long_line_ = false;
    }
}

// Whether a line tells of an operation.
bool InspectorLog::take(std::string_view line)
{
    if (rows.size() >= most_) {
        is_full = true;
        return true;
    }
    try {
        if (line[0] != '{' || json::container_end(line.data(), line.data() + line.size()) != line.data() + line.size())
            return false;
        std::string_view header, collective, message;
        const bool is_proper = json::for_each_member(line, [&](auto key, auto value) {
            if (key == "header")
                header = value;
            else if (key == "coll_perf")
                collective = value;
            else if (key == "p2p_perf")
                message = value;
        });
        const bool is_message = collective.empty();
        return is_proper && operation(header, is_message ? message : collective, is_message);
    } catch (const json::Malformed &) {
        return false;
    }
}

bool InspectorLog::operation(std::string_view header, std::string_view told, bool is_message)
{
    if (!json::is_object(header) || !json::is_object(told))
        return false;
    InspectorRow row{0, 0, 0, is_message, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()};
    int64_t rank = -1, size = 0;
    bool has_number = false, has_time = false;
    std::string id, named, name, source;
    bool is_proper = json::for_each_member(header, [&](auto key, auto value) {
        if (key == "rank")
            rank = json::whole_amount(value, rank) ? rank : -1;
        else if (key == "n_ranks")
            size = json::whole_amount(value, size) ? size : 0;
        else if (key == "id")
            id = known(value);
        else if (key == "comm_name")
            named = known(value);
    });
    is_proper &= json::for_each_member(told, [&](auto key, auto value) {
        const std::string_view what = behind(key, is_message ? MESSAGE : COLLECTIVE);
        if (what.empty())
            name = json::text(value, LONGEST_NAME);
        else if (what == "_sn")
            has_number = json::whole_amount(value, row.number);
        else if (what == "_exec_time_us")
            has_time = json::amount(value, row.us);
        else if (what == "_msg_size_bytes")
            row.bytes = json::whole_amount(value, row.bytes) ? row.bytes : 0;
        else if (what == "_busbw_gbs")
            row.gbs = json::amount(value, row.gbs) ? row.gbs : std::numeric_limits<double>::quiet_NaN();
        else if (what == "_timing_source")
            source = json::text(value, LONGEST_NAME);
    });
    if (!is_proper || rank < 0 || rank >= size || size > MOST_RANKS || !has_number || !has_time || name.empty())
        return false;
    const std::tuple<std::string, std::string, int64_t> group(id, named, size);
    const bool is_new = !name_places_.count(name) || !group_places_.count(group);
    if (is_new && std::max(names.size(), groups.size()) >= MOST_NAMES)
        return false;
    const auto of_group = group_places_.emplace(group, static_cast<int32_t>(groups.size()));
    if (of_group.second)
        groups.push_back({id, named, size});
    const auto of_name = name_places_.emplace(name, static_cast<int32_t>(names.size()));
    if (of_name.second)
        names.push_back(name);
    row.group = of_group.first->second;
    row.name = of_name.first->second;
    row.rank = static_cast<int32_t>(rank);
    rows.push_back(row);
    if (!source.empty() && sources.size() < MOST_SOURCES &&
        std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
    return true;
}

} // namespace perfscope
