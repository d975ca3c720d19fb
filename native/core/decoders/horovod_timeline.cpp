#include "decoders/horovod_timeline.h"

#include "error.h"

#include <algorithm>
#include <limits>
#include <map>

namespace perfscope {
namespace {

constexpr size_t longest_event = 16 << 20;
constexpr int32_t most_ranks = 1 << 18;
constexpr uint32_t open_flag = 1; // RowFlag.OPEN
constexpr std::string_view negotiation = "NEGOTIATE_";
constexpr uint16_t deepest = std::numeric_limits<uint16_t>::max();

bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

// A rank's number, -1 for any other text.
int32_t rank_number(const std::string &text)
{
    if (text.empty() || text.size() > 8)
        return -1;
    int32_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9')
            return -1;
        value = value * 10 + (c - '0');
    }
    return value < most_ranks ? value : -1;
}

// Bytes of one element, 0 for a type that is not known.
int64_t element_bytes(const std::string &dtype)
{
    static const std::map<std::string, int64_t> sizes = {
        {"uint8", 1},   {"int8", 1},    {"bool", 1},    {"uint16", 2},  {"int16", 2},
        {"float16", 2}, {"bfloat16", 2}, {"int32", 4},  {"float32", 4}, {"int64", 8},
        {"float64", 8},
    };
    const auto found = sizes.find(dtype);
    return found == sizes.end() ? 0 : found->second;
}

// Bytes of a tensor of shape "[20, 64]", -1 where that cannot be told.
int64_t tensor_bytes(const std::string &dtype, const std::string &shape)
{
    int64_t total = element_bytes(dtype);
    if (total == 0 || shape.size() < 2 || shape.front() != '[' || shape.back() != ']')
        return -1;
    for (size_t at = 1; at + 1 < shape.size();) {
        int64_t extent = 0;
        size_t digits = 0;
        for (; shape[at] >= '0' && shape[at] <= '9' && digits < 18; at++, digits++)
            extent = extent * 10 + (shape[at] - '0');
        if (digits == 0 || (extent && total > std::numeric_limits<int64_t>::max() / extent))
            return -1;
        total *= extent;
        while (shape[at] == ',' || shape[at] == ' ')
            at++;
        if (shape[at] != ']' && !(shape[at] >= '0' && shape[at] <= '9'))
            return -1;
    }
    return total;
}

} // namespace

void HorovodTimeline::feed(const char *bytes, size_t count)
{
    pending_.erase(0, at_);
    consumed_ += at_;
    at_ = 0;
    pending_.append(bytes, count);
    while (skips_between() && completes_object()) {
        event(std::string_view(pending_).substr(at_, scanned_));
        at_ += scanned_;
        scanned_ = 0;
    }
}

// Goes to the next object; false when there is none yet.
bool HorovodTimeline::skips_between()
{
    if (scanned_)
        return true;
    for (; at_ < pending_.size(); at_++) {
        const char c = pending_[at_];
        if (is_space(c))
            continue;
        if (!began_ && c == '[') {
            began_ = true;
        } else if (!began_) {
            throw FormatError(path_, consumed_ + at_, "a Horovod timeline begins with a list");
        } else if (is_terminated) {
            throw FormatError(path_, consumed_ + at_, "something follows the end of the list");
        } else if (c == ']') {
            is_terminated = true;
        } else if (c == '{') {
            return true;
        } else if (c != ',') {
            throw FormatError(path_, consumed_ + at_, "an event was expected");
        }
    }
    return false;
}

// Looks for the end of the object at at_, going on where the last look ended.
bool HorovodTimeline::completes_object()
{
    while (at_ + scanned_ < pending_.size()) {
        const char c = pending_[at_ + scanned_++];
        if (after_backslash_)
            after_backslash_ = false;
        else if (in_text_ && c == '\\')
            after_backslash_ = true;
        else if (c == '"')
            in_text_ = !in_text_;
        else if (!in_text_ && c == '{')
            depth_++;
        else if (!in_text_ && c == '}' && --depth_ == 0)
            return true;
    }
    if (scanned_ > longest_event)
        throw FormatError(path_, consumed_ + at_, "an event is longer than 16 MiB");
    return false;
}

void HorovodTimeline::finish()
{
    if (!began_)
        throw FormatError(path_, consumed_ + pending_.size(), "it holds no list of events");
    is_cut = scanned_ > 0;
    for (auto &[pid, tensor] : by_pid_)
        for (const Open &open : tensor.open) {
            close(open, last_ns, true);
            unclosed_begins++;
        }
    by_pid_.clear();
    pending_ = std::string();
}

void HorovodTimeline::event(std::string_view text)
{
    size_t place;
    if (const char *problem = parse_timeline_event(text, event_, place))
        throw FormatError(path_, consumed_ + at_ + place, problem);
    events++;
    if (event_.has_time) {
        first_ns = has_time ? std::min(first_ns, event_.time_ns) : event_.time_ns;
        last_ns = has_time ? std::max(last_ns, event_.time_ns) : event_.time_ns;
        has_time = true;
    }
    if (event_.phase == 'M') {
        if (event_.has_epoch) {
            epoch_us = event_.epoch_us;
            has_epoch = true;
        } else if (event_.name == "process_name") {
            tensors[static_cast<size_t>(tensor(event_.pid).index)] = event_.argument_name;
        }
        return;
    }
    if (event_.name == "CYCLE_START") {
        cycles++;
        return;
    }
    if (event_.phase != 'B' && event_.phase != 'E' && event_.phase != 'X')
        return;
    if (!event_.has_time)
        throw FormatError(path_, consumed_ + at_, "an event has no time");
    Tensor &of = tensor(event_.pid);
    if (event_.phase == 'B')
        begin(of);
    else if (event_.phase == 'E')
        end(of);
    else
        tick(of);
}

HorovodTimeline::Tensor &HorovodTimeline::tensor(int64_t pid)
{
    const auto [found, is_new] = by_pid_.try_emplace(pid);
    if (is_new) {
        found->second.index = row_number(tensors.size());
        tensors.emplace_back();
    }
    return found->second;
}

int32_t HorovodTimeline::row_number(size_t count) const
{
    if (count >= static_cast<size_t>(std::numeric_limits<int32_t>::max()))
        throw FormatError(path_, consumed_ + at_, "there are more events than can be kept");
    return static_cast<int32_t>(count);
}

void HorovodTimeline::begin(Tensor &tensor)
{
    const auto name = static_cast<int32_t>(names.number(event_.name));
    if (event_.name.compare(0, negotiation.size(), negotiation) == 0) {
        tensor.open.push_back({true, row_number(negotiations.size())});
        negotiations.push_back({event_.time_ns, event_.time_ns, 0, 0, tensor.index, name, -1, -1, 0, 0});
        return;
    }
    int32_t parent = -1;
    for (auto open = tensor.open.rbegin(); open != tensor.open.rend() && parent < 0; ++open)
        if (!open->is_negotiation)
            parent = open->row;
    const uint16_t above = parent < 0 ? 0 : activities[static_cast<size_t>(parent)].depth;
    const auto depth = static_cast<uint16_t>(parent < 0 ? 0 : std::min<int>(above + 1, deepest));
    tensor.open.push_back({false, row_number(activities.size())});
    activities.push_back({event_.time_ns, event_.time_ns, -1, tensor.index, name, parent, depth, 0});
}

void HorovodTimeline::end(Tensor &tensor)
{
    if (tensor.open.empty()) {
        unmatched_ends++;
        return;
    }
    const Open last = tensor.open.back();
    tensor.open.pop_back();
    close(last, event_.time_ns, false);
    if (!last.is_negotiation)
        activities[static_cast<size_t>(last.row)].bytes = tensor_bytes(event_.dtype, event_.shape);
}

void HorovodTimeline::close(const Open &open, int64_t time_ns, bool is_open)
{
    const auto row = static_cast<size_t>(open.row);
    const int64_t began = open.is_negotiation ? negotiations[row].t0 : activities[row].t0;
    backwards += time_ns < began;
    const int64_t ended = std::max(time_ns, began);
    if (open.is_negotiation) {
        negotiations[row].t1 = ended;
        negotiations[row].flags = is_open ? open_flag : 0;
    } else {
        activities[row].t1 = ended;
        activities[row].flags = is_open ? open_flag : 0;
    }
}

void HorovodTimeline::tick(Tensor &tensor)
{
    const int32_t rank = rank_number(event_.name);
    const bool inside = !tensor.open.empty() && tensor.open.back().is_negotiation;
    if (rank >= 0)
        ranks.insert(rank);
    if (rank < 0 || !inside) {
        ticks_outside += rank >= 0;
        return;
    }
    const int32_t number = tensor.open.back().row;
    NegotiationRow &row = negotiations[static_cast<size_t>(number)];
    if (row.ticks == 0 || event_.time_ns < row.first_tick) {
        row.first_tick = event_.time_ns;
        row.first_rank = rank;
    }
    if (row.ticks == 0 || event_.time_ns >= row.last_tick) {
        row.last_tick = event_.time_ns;
        row.last_rank = rank;
    }
    row.ticks++;
    row_number(ticks.size());
    ticks.push_back({event_.time_ns, number, rank});
}

} // namespace perfscope
