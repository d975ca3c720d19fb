#include "sinks/rank_timeline.h"

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
    for (size_t i = 1; i < calls.count; i++)
        if (calls.enter[i] < calls.leave[i - 1])
            return false;
    return true;
}

Layer communication_of(const CallSplit &calls)
{
    if (is_one_after_the_other(calls)) {
        LayerBuilder layer;
        layer.reserve(3 * calls.count);
        for (size_t i = 0; i < calls.count; i++) {
            layer.put(calls.enter[i], calls.wait);
            layer.put(calls.need[i], calls.after[i]);
            layer.put(calls.leave[i], NOTHING);
        }
        return layer.take();
    }
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

} // namespace

RankTimeline rank_timeline(const AccountRules &rules, const Marks &marks, const CallSplit &calls,
                           const SampledLayers &sampled, const Life &life)
{
    const Layer communication = communication_of(calls);
    const Layer marked = innermost_layer({marks.starts, marks.ends, marks.phases, marks.count});
    const Decided decided(rules, marks);
    std::vector<LayerView> layers{communication,    sampled.accounts, marked, sampled.phases,
                                  sampled.blocking, sampled.stacks};
    for (const Layer *layer : decided.layers())
        layers.emplace_back(*layer);
    RankTimeline timeline;
    timeline.boundaries = boundaries_of(life, layers);
    const size_t segments = timeline.boundaries.empty() ? 0 : timeline.boundaries.size() - 1;
    timeline.accounts.reserve(segments);
    timeline.phases.reserve(segments);
    timeline.stacks.reserve(segments);
    LayerReader calls_at(communication), sampled_at(sampled.accounts), marked_at(marked), phase_at(sampled.phases);
    LayerReader blocking_at(sampled.blocking), stack_at(sampled.stacks);
    Decided::Reader decided_at(decided);
    for (size_t i = 0; i < segments; i++) {
        const int64_t at = timeline.boundaries[i];
        const int64_t call = calls_at.at(at), seen = stack_at.at(at);
        const int64_t stack = call == NOTHING ? seen : NOTHING;
        const bool is_free = blocking_at.at(at) == NOTHING;
        const int64_t told = sampled_at.at(at);
        int64_t account = decided_at.at(at, is_free ? told : NOTHING);
        if (account == NOTHING)
            account = stack != NOTHING ? rules.computation : life.unnamed;
        if (call != NOTHING)
            account = call;
        if (at < life.focus_start)
            account = rules.start_up;
        if (at >= life.focus_end)
            account = rules.shut_down;
        if (at >= life.detail_end)
            account = rules.untraced;
        const int64_t row = phase_at.at(at), mark = marked_at.at(at);
        timeline.accounts.push_back(static_cast<uint8_t>(account));
        timeline.phases.push_back(static_cast<int32_t>(is_free && row != NOTHING ? row : mark));
        timeline.stacks.push_back(static_cast<int32_t>(stack));
    }
    return timeline;
}

} // namespace perfscope
