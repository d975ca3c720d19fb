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

// Whether a line can be read.
bool InspectorLog::take(std::string_view line)
{
    if (rows.size() >= most_) {
        is_full = true;
        return true;
    }
    try {
        if (line[0] != '{' || json::container_end(line.data(), line.data() + line.size()) != line.data() + line.size())
            return false;
        std::string_view header, collective, message, dropped;
        bool has_other = false;
        const bool is_proper = json::for_each_member(line, [&](auto key, auto value) {
            if (key == "header")
                header = value;
            else if (key == "coll_perf")
                collective = value;
            else if (key == "p2p_perf")
                message = value;
            else if (key == "dump_stats")
                dropped = value;
            else
                has_other |= key != "metadata" && json::is_object(value);
        });
        Member of{};
        if (!is_proper || !member(header, of))
            return false;
        const bool is_operation = !collective.empty() || !message.empty();
        if (is_operation)
            return operation(of, collective.empty() ? message : collective, collective.empty());
        const bool is_sound = dropped.empty() ? has_other : loss(of, dropped);
        beside += is_sound;
        return is_sound;
    } catch (const json::Malformed &) {
        return false;
    }
}

// Which rank of which communicator a line is of; false where it does not say so.
bool InspectorLog::member(std::string_view header, Member &of)
{
    if (!json::is_object(header))
        return false;
    int64_t rank = -1, size = 0;
    std::string id, named;
    const bool is_proper = json::for_each_member(header, [&](auto key, auto value) {
        if (key == "rank")
            rank = json::whole_amount(value, rank) ? rank : -1;
        else if (key == "n_ranks")
            size = json::whole_amount(value, size) ? size : 0;
        else if (key == "id")
            id = known(value);
        else if (key == "comm_name")
            named = known(value);
    });
    if (!is_proper || rank < 0 || rank >= size || size > MOST_RANKS)
        return false;
    const std::tuple<std::string, std::string, int64_t> group(id, named, size);
    if (!group_places_.count(group) && groups.size() >= MOST_NAMES)
        return false;
    const auto place = group_places_.emplace(group, static_cast<int32_t>(groups.size()));
    if (place.second)
        groups.push_back({id, named, size});
    of = {place.first->second, static_cast<int32_t>(rank)};
    return true;
}

bool InspectorLog::operation(const Member &of, std::string_view told, bool is_message)
{
    if (!json::is_object(told))
        return false;
    InspectorRow row{of.group, 0, of.rank, is_message, 0, 0, 0, std::numeric_limits<double>::quiet_NaN()};
    bool has_number = false, has_time = false;
    std::string name, source;
    const bool is_proper = json::for_each_member(told, [&](auto key, auto value) {
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
    if (!is_proper || !has_number || !has_time || name.empty())
        return false;
    if (!name_places_.count(name) && names.size() >= MOST_NAMES)
        return false;
    const auto place = name_places_.emplace(name, static_cast<int32_t>(names.size()));
    if (place.second)
        names.push_back(name);
    row.name = place.first->second;
    rows.push_back(row);
    if (!source.empty() && sources.size() < MOST_SOURCES &&
        std::find(sources.begin(), sources.end(), source) == sources.end())
        sources.push_back(source);
    return true;
}

// What was dropped until a dump; the totals grow from dump to dump.
bool InspectorLog::loss(const Member &of, std::string_view told)
{
    if (!json::is_object(told))
        return false;
    int64_t collectives = 0, messages = 0;
    const bool is_proper = json::for_each_member(told, [&](auto key, auto value) {
        if (key == "coll_dropped_total")
            collectives = json::whole_amount(value, collectives) ? collectives : 0;
        else if (key == "p2p_dropped_total")
            messages = json::whole_amount(value, messages) ? messages : 0;
    });
    const int64_t dropped = collectives + messages;
    if (!is_proper || (dropped && lost_.size() >= MOST_LOSSES))
        return false;
    if (dropped) {
        int64_t &most = lost_[{of.group, of.rank}];
        most = std::max(most, dropped);
    }
    return true;
}

int64_t InspectorLog::dropped() const
{
    int64_t all = 0;
    for (const auto &[of, operations] : lost_)
        all = std::min(all + operations, json::MOST_AMOUNT);
    return all;
}

} // namespace perfscope
