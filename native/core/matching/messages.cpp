#include "matching/messages.h"

#include <algorithm>
#include <unordered_map>

namespace perfscope {

namespace {

using Rows = std::vector<int64_t>;

// What orders messages among themselves; source and target are positions of ranks.
struct Channel {
    int64_t tag;
    int32_t source, target, comm;

    bool operator==(const Channel &other) const
    {
        return tag == other.tag && source == other.source && target == other.target && comm == other.comm;
    }
};

struct Mixed {
    size_t operator()(const Channel &channel) const
    {
        uint64_t seed = static_cast<uint64_t>(channel.tag);
        for (const int32_t part : {channel.source, channel.target, channel.comm}) {
            seed = (seed ^ static_cast<uint32_t>(part)) * 0x9e3779b97f4a7c15u;
            seed ^= seed >> 29;
        }
        return static_cast<size_t>(seed);
    }
};

// One end of messages: the rows of each channel, ordered by time.
struct Side {
    Rows rows;
    std::vector<uint32_t> channels; // of each row
    std::vector<size_t> begins;     // of each channel in `rows`, once these are sorted

    // Rows of a channel that came at once keep their order.
    void sort(size_t channel_count, const int64_t *enter)
    {
        begins.assign(channel_count + 1, 0);
        for (const uint32_t channel : channels)
            begins[channel + 1]++;
        for (size_t i = 1; i < begins.size(); i++)
            begins[i] += begins[i - 1];
        const Rows unordered = std::move(rows);
        rows.resize(unordered.size());
        std::vector<size_t> next = begins;
        for (size_t i = 0; i < unordered.size(); i++)
            rows[next[channels[i]]++] = unordered[i];
        const auto earlier = [enter](int64_t a, int64_t b) { return enter[a] < enter[b]; };
        for (size_t channel = 0; channel < channel_count; channel++) {
            const auto first = rows.begin() + static_cast<ptrdiff_t>(begins[channel]);
            const auto end = rows.begin() + static_cast<ptrdiff_t>(begins[channel + 1]);
            if (!std::is_sorted(first, end, earlier))
                std::stable_sort(first, end, earlier);
        }
    }
    const int64_t *begin_of(size_t channel) const { return rows.data() + begins[channel]; }
    size_t size_of(size_t channel) const { return begins[channel + 1] - begins[channel]; }
};

class MessageMatching {
public:
    MessageMatching(const CallColumns &calls, const Communicators &communicators)
        : calls_(calls), communicators_(communicators)
    {
        for (size_t rank = 0; rank < calls.ranks; rank++)
            positions_[calls.numbers[rank]] = static_cast<int32_t>(rank);
    }

    Messages take()
    {
        gather();
        found_.send_of.assign(calls_.count, -1);
        sends_.sort(channels_.size(), calls_.enter);
        receives_.sort(channels_.size(), calls_.enter);
        for (size_t channel = 0; channel < channels_.size(); channel++)
            join(channel);
        for (size_t i = 0; i < probes_.rows.size(); i++)
            look(probes_.rows[i], probes_.channels[i]);
        // a combined call stands on both sides
        Rows &lost = found_.unmatched;
        std::sort(lost.begin(), lost.end());
        lost.erase(std::unique(lost.begin(), lost.end()), lost.end());
        return std::move(found_);
    }

private:
    void gather()
    {
        const auto count = static_cast<int64_t>(calls_.count);
        bool are_combined = false;
        for (int64_t row = 0; row < count; row++) {
            const uint32_t traits = calls_.codes.of(calls_.op[row]);
            const auto own = static_cast<int32_t>(calls_.rank[row]);
            const int32_t peer = calls_.peer[row];
            if (traits & (SEND | ISEND | SENDRECV))
                put(sends_, row, {calls_.tag[row], own, peer, calls_.comm[row]});
            if (traits & (RECV | IRECV))
                put(receives_, row, {calls_.tag[row], peer, own, calls_.comm[row]});
            if (traits & PROBE)
                put(probes_, row, {calls_.tag[row], peer, own, calls_.comm[row]});
            are_combined = are_combined || (traits & SENDRECV);
            if (is_blind(row, traits))
                found_.blind.push_back(row);
        }
        // of receives that came at once combined ones are the last
        for (int64_t row = 0; row < count && are_combined; row++)
            if (calls_.is_of(row, SENDRECV))
                put(receives_, row,
                    {received_tag(row), position_of(calls_.seq[row]), static_cast<int32_t>(calls_.rank[row]),
                     calls_.comm[row]});
    }

    // A combined call keeps the tag of what it receives, plus one, where others keep their request.
    int64_t received_tag(int64_t row) const { return calls_.request[row] > 0 ? calls_.request[row] - 1 : -1; }

    void put(Side &side, int64_t row, const Channel &channel)
    {
        const bool is_known = channel.source >= 0 && channel.target >= 0 && channel.tag >= 0;
        if (!is_known || !communicators_.may_be_matched(channel.comm))
            return;
        const auto next = static_cast<uint32_t>(channels_.size());
        side.channels.push_back(channels_.try_emplace(channel, next).first->second);
        side.rows.push_back(row);
    }

    int32_t position_of(int64_t number) const
    {
        const auto found = positions_.find(number);
        return found == positions_.end() ? -1 : found->second;
    }

    // Formats that only record messages name no peer where there was none: of these a receive alone is blind, as all
    // it does is to wait for somebody.
    bool is_blind(int64_t row, uint32_t traits) const
    {
        if ((traits & SENDRECV) && position_of(calls_.seq[row]) < 0 && calls_.seq[row] != PEER_PROC_NULL &&
            calls_.seq[row] != PEER_NONE)
            return true;
        if (calls_.peer[row] >= 0 || calls_.peer_number[row] == PEER_PROC_NULL)
            return false;
        const bool is_other = traits & (SEND | ISEND | IRECV | SENDRECV);
        return (traits & (RECV | PROBE)) || (is_other && calls_.peer_number[row] != PEER_NONE);
    }

    void join(size_t channel)
    {
        const size_t sent = sends_.size_of(channel), received = receives_.size_of(channel);
        const size_t matched = std::min(sent, received);
        const int64_t *const send = sends_.begin_of(channel), *const receive = receives_.begin_of(channel);
        for (size_t i = 0; i < matched; i++)
            found_.send_of[receive[i]] = send[i];
        found_.unmatched.insert(found_.unmatched.end(), send + matched, send + sent);
        found_.unmatched.insert(found_.unmatched.end(), receive + matched, receive + received);
        found_.matched += static_cast<int64_t>(matched);
    }

    // A probe sees the first message that no receive before it takes.
    void look(int64_t probe, size_t channel)
    {
        const int64_t *const first = receives_.begin_of(channel), *const end = first + receives_.size_of(channel);
        const auto *const next = std::lower_bound(
            first, end, calls_.enter[probe], [this](int64_t row, int64_t time) { return calls_.enter[row] < time; });
        const auto taken = static_cast<size_t>(next - first);
        if (taken < sends_.size_of(channel))
            found_.send_of[probe] = sends_.begin_of(channel)[taken];
    }

    const CallColumns &calls_;
    const Communicators &communicators_;
    std::unordered_map<int64_t, int32_t> positions_; // of ranks, by number
    std::unordered_map<Channel, uint32_t, Mixed> channels_;
    Side sends_, receives_, probes_;
    Messages found_;
};

// The requests that the calls of a rank made, by number; of equal ones the first.
class Makers {
public:
    Makers(const CallColumns &calls, int64_t first, int64_t end)
    {
        for (int64_t row = first; row < end; row++)
            if (calls.request[row] > 0 && calls.is_of(row, ISEND | IRECV | NONBLOCKING))
                made_.push_back({calls.request[row], row});
        const auto earlier = [](const Made &a, const Made &b) { return a.request < b.request; };
        if (!std::is_sorted(made_.begin(), made_.end(), earlier))
            std::stable_sort(made_.begin(), made_.end(), earlier);
    }

    int64_t of(int64_t request)
    {
        if (last_ < made_.size() && made_[last_].request < request) // mostly they complete as they were made
            last_++;
        if (last_ >= made_.size() || made_[last_].request != request || is_repeated())
            last_ = static_cast<size_t>(std::lower_bound(made_.begin(), made_.end(), request,
                                                         [](const Made &made, int64_t one) { return made.request < one; }) -
                                        made_.begin());
        return last_ < made_.size() && made_[last_].request == request ? made_[last_].row : -1;
    }

private:
    struct Made {
        int64_t request, row;
    };
    bool is_repeated() const { return last_ > 0 && made_[last_ - 1].request == made_[last_].request; }

    std::vector<Made> made_;
    size_t last_ = 0;
};

// The waits and tests of the threads of a rank, each in order of time.
class Endings {
public:
    Endings(const CallColumns &calls, int64_t first, int64_t end) : calls_(calls)
    {
        for (int64_t row = first; row < end; row++)
            if (calls.is_of(row, WAIT | TEST))
                threads_[calls.tid[row]].rows.push_back(row);
    }

    // The call of a thread that a moment is in, -1 none: the last one that began before it.
    int64_t around(uint32_t tid, int64_t moment)
    {
        const auto found = threads_.find(tid);
        if (found == threads_.end())
            return -1;
        const Rows &rows = found->second.rows;
        size_t &last = found->second.last;
        const auto begins = [&](size_t place) { return calls_.enter[rows[place]]; };
        if (begins(last) > moment)
            last = 0;
        if (last + 1 < rows.size() && begins(last + 1) <= moment)
            last++;
        if (last + 1 < rows.size() && begins(last + 1) <= moment) {
            const auto behind = std::upper_bound(rows.begin() + static_cast<ptrdiff_t>(last), rows.end(), moment,
                                                 [this](int64_t time, int64_t row) { return time < calls_.enter[row]; });
            last = static_cast<size_t>(behind - rows.begin()) - 1;
        }
        const int64_t row = rows[last];
        return calls_.enter[row] <= moment && moment <= calls_.leave[row] ? row : -1;
    }

private:
    struct Thread {
        Rows rows;
        size_t last = 0;
    };

    const CallColumns &calls_;
    std::unordered_map<uint32_t, Thread> threads_;
};

} // namespace

Messages match_messages(const CallColumns &calls, const Communicators &communicators)
{
    return MessageMatching(calls, communicators).take();
}

CompletedRequests completed_requests(const CallColumns &calls, const std::vector<CompletionRows> &completions)
{
    CompletedRequests found;
    size_t count = 0;
    for (const CompletionRows &rank : completions)
        count += rank.count;
    found.started.reserve(count);
    found.finished.reserve(count);
    for (size_t rank = 0; rank < completions.size(); rank++) {
        if (!completions[rank].count)
            continue;
        Makers makers(calls, calls.offsets[rank], calls.offsets[rank + 1]);
        Endings endings(calls, calls.offsets[rank], calls.offsets[rank + 1]);
        for (const OperationRow *row = completions[rank].rows; row != completions[rank].rows + completions[rank].count;
             ++row) {
            found.started.push_back(makers.of(row->request));
            found.finished.push_back(endings.around(row->tid, row->t0));
        }
    }
    return found;
}

} // namespace perfscope
