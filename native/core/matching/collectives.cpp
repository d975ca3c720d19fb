#include "matching/collectives.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

namespace perfscope {

namespace {

using Rows = std::vector<int64_t>;

constexpr int64_t LAST_SEQ = (int64_t{1} << 40) - 1; // damaged numbers beyond it are in no order
constexpr int64_t NEVER = std::numeric_limits<int64_t>::min();
constexpr int64_t MOST_SPREAD = 4; // numbers that spread over so many times their count are sorted, others counted

// Rows of one communicator, which are ordered by rank, by sequence number and then by rank.
class SeqOrder {
public:
    explicit SeqOrder(const CallColumns &calls) : calls_(calls) {}

    void sort(int64_t *first, int64_t *end)
    {
        if (first == end)
            return;
        const auto earlier = [this](int64_t a, int64_t b) { return seq(a) < seq(b); };
        const auto [low, high] = std::minmax_element(first, end, earlier);
        const int64_t lowest = seq(*low), spread = seq(*high) - lowest;
        if (spread > MOST_SPREAD * (end - first) + 64) {
            std::stable_sort(first, end, earlier);
            return;
        }
        begins_.assign(static_cast<size_t>(spread) + 2, 0);
        for (const int64_t *row = first; row != end; ++row)
            begins_[static_cast<size_t>(seq(*row) - lowest) + 1]++;
        for (size_t i = 1; i < begins_.size(); i++)
            begins_[i] += begins_[i - 1];
        kept_.assign(first, end);
        for (const int64_t row : kept_)
            first[begins_[static_cast<size_t>(seq(row) - lowest)]++] = row;
    }

private:
    int64_t seq(int64_t row) const { return std::min(calls_.seq[row], LAST_SEQ); }

    const CallColumns &calls_;
    std::vector<int64_t> begins_;
    Rows kept_;
};

// Who came to an instance when.
struct CallsOfMembers {
    int64_t latest = NEVER, last = -1; // of those for whom others wait
    int64_t root = -1, root_enter = NEVER;
};

class InstanceMatching {
public:
    InstanceMatching(const CallColumns &calls, const Communicators &communicators)
        : calls_(calls), communicators_(communicators)
    {
    }

    Instances take()
    {
        Rows stray;
        Rows rows = ordered(stray);
        keep_complete(rows);
        found_.unmatched.insert(found_.unmatched.end(), stray.begin(), stray.end());
        const size_t count = found_.starts.size() - 1;
        found_.members = std::move(rows);
        found_.synchronizing.resize(count);
        learn_rooted(count);
        found_.need.resize(found_.members.size());
        found_.cause.resize(found_.members.size());
        for (std::vector<int64_t> *column : {&found_.comm, &found_.seq, &found_.op, &found_.last})
            column->resize(count);
        for (size_t instance = 0; instance < count; instance++)
            explain(instance);
        return std::move(found_);
    }

private:
    uint32_t traits(int64_t row) const { return calls_.codes.of(calls_.op[row]); }
    bool is_root(int64_t row) const { return calls_.peer[row] == calls_.rank[row]; }

    // Collective calls by communicator, sequence number and rank; `stray` are those of none.
    Rows ordered(Rows &stray) const
    {
        std::vector<size_t> begins(communicators_.count + 1, 0);
        Rows all;
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++) {
            if (!(traits(row) & COLLECTIVE))
                continue;
            if (communicators_.holds(calls_.comm[row]) && calls_.seq[row] >= 0) {
                begins[static_cast<size_t>(calls_.comm[row]) + 1]++;
                all.push_back(row);
            } else {
                stray.push_back(row);
            }
        }
        for (size_t i = 1; i < begins.size(); i++)
            begins[i] += begins[i - 1];
        if (communicators_.count > 1) {
            const Rows unordered = all;
            std::vector<size_t> next = begins;
            for (const int64_t row : unordered)
                all[next[static_cast<size_t>(calls_.comm[row])]++] = row;
        }
        SeqOrder order(calls_);
        for (size_t i = 1; i < begins.size(); i++)
            order.sort(all.data() + begins[i - 1], all.data() + begins[i]);
        return all;
    }

    bool belong_together(int64_t a, int64_t b) const
    {
        return calls_.comm[a] == calls_.comm[b] && calls_.seq[a] == calls_.seq[b];
    }

    // Leaves the rows of complete instances, and tells where each begins.
    void keep_complete(Rows &rows)
    {
        size_t kept = 0;
        for (size_t first = 0; first < rows.size();) {
            size_t end = first + 1;
            while (end < rows.size() && belong_together(rows[first], rows[end]))
                end++;
            if (is_complete(rows.data() + first, rows.data() + end)) {
                std::copy(rows.data() + first, rows.data() + end, rows.data() + kept);
                kept += end - first;
                found_.starts.push_back(static_cast<int64_t>(kept));
            } else {
                for (size_t i = first; i < end; i++)
                    leave_out(rows[i]);
            }
            first = end;
        }
        rows.resize(kept);
    }

    // A call of each member, all of the same collective.
    bool is_complete(const int64_t *first, const int64_t *end) const
    {
        const int32_t comm = calls_.comm[*first];
        if (end - first != communicators_.size(comm) || !communicators_.may_be_matched(comm))
            return false;
        const uint16_t form = calls_.codes.blocking(calls_.op[*first]);
        for (const int64_t *row = first + 1; row < end; ++row)
            if (calls_.codes.blocking(calls_.op[*row]) != form || calls_.rank[*row] <= calls_.rank[row[-1]])
                return false;
        return true;
    }

    void leave_out(int64_t row)
    {
        const uint32_t own = traits(row);
        const bool waits = (calls_.flags[row] & FLAG_OPEN) && (own & N_TO_N) && !(own & NONBLOCKING);
        (waits ? found_.waiting : found_.unmatched).push_back(row);
    }

    const int64_t *begin_of(size_t instance) const { return found_.members.data() + found_.starts[instance]; }
    const int64_t *end_of(size_t instance) const { return begin_of(instance + 1); }

    CallsOfMembers arrivals(size_t instance) const
    {
        const int64_t *const first = begin_of(instance), *const end = end_of(instance);
        // who sends nothing where others do is waited for by nobody
        bool is_any_sent = false;
        if (traits(*first) & N_TO_N)
            is_any_sent = std::any_of(first, end, [this](int64_t row) { return calls_.sent[row] > 0; });
        CallsOfMembers found;
        for (const int64_t *row = first; row != end; ++row) {
            const int64_t enter = calls_.enter[*row];
            if ((enter > found.latest || found.last < 0) && !(is_any_sent && calls_.sent[*row] == 0)) {
                found.latest = enter;
                found.last = *row;
            }
            if (is_root(*row)) {
                found.root = found.root < 0 ? *row : found.root;
                found.root_enter = std::max(found.root_enter, enter);
            }
        }
        return found;
    }

    // Before what a member of a rooted collective cannot leave, if it does not synchronize; else its own arrival.
    int64_t own_need(int64_t row, uint32_t own, const CallsOfMembers &arrived) const
    {
        if ((own & TO_ROOT) && is_root(row))
            return arrived.latest;
        return own & TO_ALL ? std::max(calls_.enter[row], arrived.root_enter) : calls_.enter[row];
    }

    using Kind = std::tuple<int64_t, int32_t, int>; // operation, communicator, class of the size
    struct Told {
        int64_t instances = 0; // in which somebody could have left clearly before the last came
        int64_t agreed = 0;    // and nobody did
    };

    static bool is_learned(uint32_t traits) { return (traits & (TO_ALL | TO_ROOT)) && !(traits & NONBLOCKING); }

    Kind kind_of(size_t instance) const
    {
        int64_t size = 0;
        for (const int64_t *row = begin_of(instance); row != end_of(instance); ++row)
            size = std::max({size, calls_.sent[*row], calls_.received[*row]});
        const int64_t first = *begin_of(instance);
        return {calls_.op[first], calls_.comm[first], size_class(size)};
    }

    // Which rooted collectives nobody leaves before the last one comes: all of a kind, or none. Where none can tell,
    // both readings give the same waits.
    void learn_rooted(size_t count)
    {
        std::map<Kind, Told> kinds;
        for (size_t instance = 0; instance < count; instance++) {
            const uint32_t own = traits(*begin_of(instance));
            found_.synchronizing[instance] = (own & N_TO_N) != 0;
            if (!is_learned(own))
                continue;
            const CallsOfMembers arrived = arrivals(instance);
            bool tells = false, agrees = true;
            for (const int64_t *row = begin_of(instance); row != end_of(instance); ++row) {
                if (own_need(*row, own, arrived) >= arrived.latest - TELLING_LAG_NS)
                    continue;
                tells = true;
                agrees = agrees && calls_.leave[*row] >= arrived.latest;
            }
            Told &told = kinds[kind_of(instance)];
            told.instances += tells;
            told.agreed += tells && agrees;
        }
        for (size_t instance = 0; instance < count && !kinds.empty(); instance++) {
            if (!is_learned(traits(*begin_of(instance))))
                continue;
            const Told &told = kinds[kind_of(instance)];
            found_.synchronizing[instance] =
                static_cast<double>(told.agreed) >= SYNCHRONIZING_SHARE * static_cast<double>(told.instances);
        }
    }

    void explain(size_t instance)
    {
        const int64_t first = *begin_of(instance);
        const uint32_t own = traits(first);
        const CallsOfMembers arrived = arrivals(instance);
        const bool is_wide = found_.synchronizing[instance];
        const bool is_from_root = (own & TO_ALL) && !is_wide && arrived.root >= 0;
        const Rows before = own & SCAN ? last_before(instance) : Rows();
        found_.comm[instance] = calls_.comm[first];
        found_.seq[instance] = calls_.seq[first];
        found_.op[instance] = calls_.op[first];
        found_.last[instance] = arrived.last;
        for (int64_t place = found_.starts[instance]; place < found_.starts[instance + 1]; place++) {
            const int64_t row = found_.members[place];
            int64_t need = is_wide ? arrived.latest : own_need(row, own, arrived);
            int64_t cause = -1;
            if (!before.empty()) {
                cause = before[static_cast<size_t>(place - found_.starts[instance])];
                need = calls_.enter[cause];
            }
            need = std::max(need, calls_.enter[row]);
            if (cause < 0)
                cause = is_from_root ? arrived.root : need == arrived.latest ? arrived.last : row;
            found_.need[place] = need;
            found_.cause[place] = need > calls_.enter[row] ? cause : row;
        }
    }

    // For whom each member of a scan waits: the last to come up to its own rank in the communicator.
    Rows last_before(size_t instance)
    {
        const int64_t *const first = begin_of(instance);
        const auto count = static_cast<size_t>(end_of(instance) - first);
        std::vector<std::pair<int64_t, size_t>> turns(count); // rank in the communicator, place among the members
        for (size_t i = 0; i < count; i++)
            turns[i] = {rank_in_communicator(first[i]), i};
        std::sort(turns.begin(), turns.end());
        Rows before(count);
        int64_t last = first[turns[0].second];
        for (const auto &[rank, place] : turns) {
            if (calls_.enter[first[place]] >= calls_.enter[last])
                last = first[place];
            before[place] = last;
        }
        return before;
    }

    int64_t rank_in_communicator(int64_t row)
    {
        const int32_t comm = calls_.comm[row];
        const auto [known, is_new] = ranks_.try_emplace(comm);
        if (is_new)
            for (int64_t i = communicators_.starts[comm]; i < communicators_.starts[comm + 1]; i++)
                known->second[communicators_.members[i]] = i - communicators_.starts[comm];
        const auto found = known->second.find(calls_.numbers[calls_.rank[row]]);
        return found == known->second.end() ? 0 : found->second;
    }

    const CallColumns &calls_;
    const Communicators &communicators_;
    std::unordered_map<int32_t, std::unordered_map<int64_t, int64_t>> ranks_; // by communicator and number
    Instances found_;
};

} // namespace

Instances match_collectives(const CallColumns &calls, const Communicators &communicators)
{
    return InstanceMatching(calls, communicators).take();
}

} // namespace perfscope
