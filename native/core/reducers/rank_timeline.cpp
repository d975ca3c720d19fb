#include "reducers/rank_timeline.h"

#include <algorithm>
#include <numeric>

namespace perfscope {

namespace {

struct Columns {
    std::vector<int64_t> starts, ends, values;

    void add(int64_t start, int64_t end, int64_t value = 0)
    {
        starts.push_back(start);
        ends.push_back(end);
        values.push_back(value);
    }
    Intervals view() const { return {starts.data(), ends.data(), values.data(), starts.size()}; }
};

Layer cover(const Columns &intervals, int64_t value)
{
    const auto [starts, ends] = union_of(intervals.view());
    const std::vector<int64_t> values(starts.size(), value);
    return disjoint_layer({starts.data(), ends.data(), values.data(), starts.size()});
}

// Marked phases by the rank that they have among the accounts.
class Decided {
public:
    Decided(const AccountRules &rules, const Marks &marks) : rules_(rules)
    {
        Columns steps, special, exposed;
        for (size_t i = 0; i < marks.steps.count; i++)
            steps.add(marks.steps.starts[i], marks.steps.ends[i]);
        const Layer in_step = cover(steps, 1);
        const std::vector<int64_t> starts_in_step =
            layer_at(in_step, marks.starts, marks.count);
        std::vector<Columns> broad(rules.broad_order.size());
        for (size_t i = 0; i < marks.count; i++) {
            const size_t kind = marks.kinds[i];
            const bool trains = marks.kinds[i] == rules.predict && starts_in_step[i] != NOTHING;
            const int64_t account = kind < rules.special.size() ? rules.special[kind] : NOTHING;
            const int64_t wide = kind < rules.broad.size() ? rules.broad[kind] : NOTHING;
            if (account != NOTHING && !trains)
                special.add(marks.starts[i], marks.ends[i], account);
            for (size_t place = 0; place < broad.size(); place++)
                if (rules.broad_order[place] == (trains ? rules.training : wide))
                    broad[place].add(marks.starts[i], marks.ends[i]);
            if (marks.kinds[i] == rules.communication)
                exposed.add(marks.starts[i], marks.ends[i]);
        }
        for (size_t place = 0; place < broad.size(); place++) {
            if (rules.broad_order[place] == rules.training)
                for (size_t i = 0; i < steps.starts.size(); i++)
                    broad[place].add(steps.starts[i], steps.ends[i]);
            broad_.push_back(cover(broad[place], 0));
        }
        special_ = innermost_layer(special.view());
        exposed_ = cover(exposed, rules.marked_communication);
    }

    std::vector<const Layer *> layers() const
    {
        std::vector<const Layer *> all{&special_, &exposed_};
        for (const Layer &layer : broad_)
            all.push_back(&layer);
        return all;
    }

    class Reader {
    public:
        explicit Reader(const Decided &decided)
            : rules_(decided.rules_), special_(decided.special_), exposed_(decided.exposed_)
        {
            for (const Layer &layer : decided.broad_)
                broad_.emplace_back(layer);
        }

        // The account at a moment from marks and, where they leave it open, from samples.
        int64_t at(int64_t moment, int64_t sampled)
        {
            int64_t account = special_.at(moment);
            const auto &special = rules_.special;
            if (account == NOTHING && sampled != NOTHING &&
                std::find(special.begin(), special.end(), sampled) != special.end())
                account = sampled;
            for (size_t place = 0; place < broad_.size(); place++) {
                const int64_t own = rules_.broad_order[place];
                const bool is_here = broad_[place].at(moment) != NOTHING || sampled == own;
                if (account == NOTHING && is_here)
                    account = own;
            }
            const int64_t exposed = exposed_.at(moment);
            return exposed != NOTHING ? exposed : account;
        }

    private:
        const AccountRules &rules_;
        LayerReader special_, exposed_;
        std::vector<LayerReader> broad_;
    };

private:
    const AccountRules &rules_;
    Layer special_, exposed_;
    std::vector<Layer> broad_;
};

bool is_one_after_the_other(const CallSplit &calls)
{
    for (size_t i = 0; i < calls.count; i++)
        if (calls.need[i] < calls.enter[i] || calls.leave[i] < calls.need[i] || (i && calls.enter[i] < calls.leave[i - 1]))
            return false;
    return true;
}

// Of calls one after the other, calls change(moment, account) where a `LayerBuilder` would have it.
template <class Change> void for_changes(const CallSplit &calls, Change change)
{
    bool has_value = false, has_written = false;
    int64_t moment = 0, value = 0, written = 0;
    const auto write = [&] {
        if (has_written && written == value)
            return;
        change(moment, value);
        has_written = true;
        written = value;
    };
    const auto put = [&](int64_t next, int64_t next_value) {
        if (has_value && next != moment)
            write();
        has_value = true;
        moment = next;
        value = next_value;
    };
    for (size_t i = 0; i < calls.count; i++) {
        put(calls.enter[i], calls.wait);
        put(calls.need[i], calls.after[i]);
        put(calls.leave[i], NOTHING);
    }
    if (has_value)
        write();
}

Layer communication_of(const CallSplit &calls)
{
    Columns parts;
    for (size_t i = 0; i < calls.count; i++) {
        parts.add(calls.enter[i], calls.need[i], calls.wait);
        parts.add(calls.need[i], calls.leave[i], calls.after[i]);
    }
    std::vector<size_t> order(parts.starts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return parts.starts[a] < parts.starts[b]; });
    Columns sorted;
    for (const size_t i : order)
        sorted.add(parts.starts[i], parts.ends[i], parts.values[i]);
    return disjoint_layer(sorted.view());
}

std::vector<int64_t> boundaries_of(const Life &life, const std::vector<LayerView> &layers)
{
    std::vector<int64_t> moments{life.start};
    const auto add = [&](int64_t moment) {
        if (moment >= life.start && moment <= life.end)
            moments.push_back(moment);
    };
    for (const int64_t moment : {life.end, life.focus_start, life.focus_end, life.detail_end})
        add(moment);
    if (life.end < life.start) // neither of its ends lies in such a life
        moments.clear();
    for (const LayerView &layer : layers) {
        const int64_t *const end = layer.starts + layer.count;
        const int64_t *const first = std::lower_bound(layer.starts, end, life.start);
        moments.insert(moments.end(), first, std::max(first, std::upper_bound(layer.starts, end, life.end)));
    }
    make_distinct(moments);
    return moments;
}

// What is told of a moment whatever calls there are; it changes where a mark or a sample begins or ends, which is rare.
class BesideCalls {
public:
    BesideCalls(const AccountRules &rules, const Decided &decided, const Layer &marked, const SampledLayers &sampled,
                const Life &life)
        : rules_(rules), life_(life), decided_at_(decided), sampled_at_(sampled.accounts), marked_at_(marked),
          phase_at_(sampled.phases), blocking_at_(sampled.blocking), stack_at_(sampled.stacks)
    {
    }

    void go_to(int64_t at)
    {
        stack = stack_at_.at(at);
        const bool is_free = blocking_at_.at(at) == NOTHING;
        const int64_t told = sampled_at_.at(at);
        account = decided_at_.at(at, is_free ? told : NOTHING);
        if (account == NOTHING)
            account = stack != NOTHING ? rules_.computation : life_.unnamed;
        outside = NOTHING;
        if (at < life_.focus_start)
            outside = rules_.start_up;
        if (at >= life_.focus_end)
            outside = rules_.shut_down;
        if (at >= life_.detail_end)
            outside = rules_.untraced;
        const int64_t row = phase_at_.at(at), mark = marked_at_.at(at);
        phase = is_free && row != NOTHING ? row : mark;
    }

    int64_t account = NOTHING; // where no call is
    int64_t outside = NOTHING; // of the focus: the account, whatever else is told
    int64_t phase = NOTHING, stack = NOTHING;

private:
    const AccountRules &rules_;
    const Life &life_;
    Decided::Reader decided_at_;
    LayerReader sampled_at_, marked_at_, phase_at_, blocking_at_, stack_at_;
};

// Puts the moments at which something changes together, calls and the rest, each in order.
class Partition {
public:
    Partition(BesideCalls &beside, const std::vector<int64_t> &moments, const Life &life)
        : beside_(beside), next_(moments.data()), end_(moments.data() + moments.size()), life_(life)
    {
    }

    void reserve(size_t count)
    {
        found_.boundaries.reserve(count);
        found_.accounts.reserve(count);
        found_.phases.reserve(count);
        found_.stacks.reserve(count);
    }

    void change(int64_t at, int64_t call)
    {
        while (next_ != end_ && *next_ < at)
            begin_other();
        call_ = call;
        if (at < life_.start || at > life_.end)
            return;
        if (next_ != end_ && *next_ == at)
            begin_other();
        else
            begin(at);
    }

    // What is left; the last moment begins nothing.
    RankTimeline take()
    {
        while (next_ != end_)
            begin_other();
        if (!found_.boundaries.empty()) {
            found_.accounts.pop_back();
            found_.phases.pop_back();
            found_.stacks.pop_back();
        }
        return std::move(found_);
    }

private:
    void begin_other()
    {
        beside_.go_to(*next_);
        begin(*next_++);
    }

    void begin(int64_t at)
    {
        const bool is_called = call_ != NOTHING;
        const int64_t account = is_called ? call_ : beside_.account;
        found_.boundaries.push_back(at);
        found_.accounts.push_back(static_cast<uint8_t>(beside_.outside != NOTHING ? beside_.outside : account));
        found_.phases.push_back(static_cast<int32_t>(beside_.phase));
        found_.stacks.push_back(static_cast<int32_t>(is_called ? NOTHING : beside_.stack));
    }

    RankTimeline found_;
    BesideCalls &beside_;
    const int64_t *next_, *const end_; // moments at which something beside the calls changes
    const Life &life_;
    int64_t call_ = NOTHING;
};

} // namespace

RankTimeline rank_timeline(const AccountRules &rules, const Marks &marks, const CallSplit &calls,
                           const SampledLayers &sampled, const Life &life)
{
    const Layer marked = innermost_layer({marks.starts, marks.ends, marks.phases, marks.count});
    const Decided decided(rules, marks);
    std::vector<LayerView> layers{sampled.accounts, marked, sampled.phases, sampled.blocking, sampled.stacks};
    for (const Layer *layer : decided.layers())
        layers.emplace_back(*layer);
    const std::vector<int64_t> moments = boundaries_of(life, layers);
    BesideCalls beside(rules, decided, marked, sampled, life);
    Partition partition(beside, moments, life);
    if (is_one_after_the_other(calls)) {
        size_t changes = 0;
        for_changes(calls, [&](int64_t, int64_t) { changes++; });
        partition.reserve(moments.size() + changes);
        for_changes(calls, [&](int64_t at, int64_t call) { partition.change(at, call); });
    } else {
        const Layer layer = communication_of(calls);
        partition.reserve(moments.size() + layer.starts.size());
        for (size_t i = 0; i < layer.starts.size(); i++)
            partition.change(layer.starts[i], layer.values[i]);
    }
    return partition.take();
}

} // namespace perfscope
