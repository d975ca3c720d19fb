#include "reducers/free_time.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace perfscope {

namespace {

// What is between equal neighbors is alike: operation, communicator, bytes.
using Neighbor = std::tuple<uint16_t, int32_t, int64_t>;
// Tokens of what comes before and after, the phase, the class of the length.
using Likeness = std::tuple<int64_t, int64_t, int64_t, int>;

struct Mixed {
    static uint64_t mix(uint64_t seed, uint64_t value)
    {
        const uint64_t x = (seed ^ value) * 0x9e3779b97f4a7c15u;
        return x ^ (x >> 29);
    }
    template <class... Part> size_t operator()(const std::tuple<Part...> &whole) const
    {
        return std::apply(
            [](const Part &...part) {
                uint64_t seed = 0;
                ((seed = mix(seed, static_cast<uint64_t>(part))), ...);
                return static_cast<size_t>(seed);
            },
            whole);
    }
};

// Numbers for values as they come, and later in the order of the values.
template <class Value> class Numbered {
public:
    int64_t of(const Value &value)
    {
        const size_t hash = Mixed()(value);
        int64_t &recent = recent_[(hash >> (64 - RECENT_BITS)) & (recent_.size() - 1)];
        if (recent >= 0 && this->value(recent) == value)
            return recent;
        const auto [found, is_new] = places_.try_emplace(value, static_cast<int64_t>(values_.size()));
        if (is_new)
            values_.push_back(value);
        recent = found->second;
        return recent;
    }
    const Value &value(int64_t place) const { return values_[static_cast<size_t>(place)]; }
    size_t size() const { return values_.size(); }

    // The place of each value, by its number, when they are sorted.
    template <class Before> std::vector<int64_t> in_order(Before before) const
    {
        std::vector<int64_t> order(values_.size()), places(values_.size());
        std::iota(order.begin(), order.end(), int64_t{0});
        std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(value(a), value(b)); });
        for (size_t i = 0; i < order.size(); i++)
            places[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
        return places;
    }

private:
    static constexpr size_t RECENT_BITS = 8;

    std::unordered_map<Value, int64_t, Mixed> places_;
    std::vector<Value> values_;
    std::vector<int64_t> recent_ = std::vector<int64_t>(size_t{1} << RECENT_BITS, -1); // by the upper bits of the hash
};

constexpr int64_t NO_NEIGHBOR = -1;

int size_class(int64_t length)
{
    int bits = 0;
    for (auto left = static_cast<uint64_t>(length); left > 1; left >>= 1)
        bits++;
    return bits / 2;
}

class Pieces {
public:
    Pieces(LayerView phases, size_t likely, bool tells_kinds) : phases_(phases), phase_(phases), tells_kinds_(tells_kinds)
    {
        for (auto *column : {&found_.starts, &found_.ends})
            column->reserve(likely);
        found_.kinds.reserve(likely);
        found_.in_phase.reserve(likely);
    }

    // Stretches come in the order of their starts.
    void add(int64_t start, int64_t end, int64_t before, int64_t after)
    {
        if (end <= start)
            return;
        while (cut_ < phases_.count && phases_.starts[cut_] <= start)
            cut_++;
        for (; cut_ < phases_.count && phases_.starts[cut_] < end; cut_++) {
            add_uncut(start, phases_.starts[cut_], before, after);
            start = phases_.starts[cut_];
        }
        add_uncut(start, end, before, after);
    }

    int64_t token(const CallsOfRank &calls, size_t call)
    {
        if (!tells_kinds_)
            return NO_NEIGHBOR;
        const auto bytes = static_cast<uint64_t>(calls.sent[call]) + static_cast<uint64_t>(calls.received[call]);
        return neighbors_.of({calls.op[call], calls.comm[call], static_cast<int64_t>(bytes)});
    }

    FreeTime take()
    {
        if (!tells_kinds_)
            return std::move(found_);
        const std::vector<int64_t> neighbor = neighbors_.in_order(std::less<Neighbor>());
        const auto place = [&](int64_t token) {
            return token == NO_NEIGHBOR ? NO_NEIGHBOR : neighbor[static_cast<size_t>(token)];
        };
        const auto sorted = [&](const Likeness &one) {
            const auto [before, after, phase, size] = one;
            return Likeness{place(before), place(after), phase, size};
        };
        const std::vector<int64_t> kind =
            kinds_.in_order([&](const Likeness &a, const Likeness &b) { return sorted(a) < sorted(b); });
        for (int32_t &number : found_.kinds)
            number = static_cast<int32_t>(kind[static_cast<size_t>(number)]);
        return std::move(found_);
    }

private:
    void add_uncut(int64_t start, int64_t end, int64_t before, int64_t after)
    {
        const int64_t phase = phase_.at(start);
        found_.starts.push_back(start);
        found_.ends.push_back(end);
        found_.kinds.push_back(tells_kinds_ ? static_cast<int32_t>(kinds_.of({before, after, phase, size_class(end - start)})) : 0);
        found_.in_phase.push_back(phase != NOTHING);
    }

    LayerView phases_;
    LayerReader phase_;
    size_t cut_ = 0; // the first start of a phase behind the stretch before
    bool tells_kinds_;
    Numbered<Neighbor> neighbors_;
    Numbered<Likeness> kinds_;
    FreeTime found_;
};

} // namespace

FreeTime free_time(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, LayerView phases,
                   bool tells_kinds)
{
    Pieces pieces(phases, calls.count + 1, tells_kinds);
    int64_t free_from = start, before = NO_NEIGHBOR;
    int64_t token = NO_NEIGHBOR; // of the last call, where it is known
    constexpr size_t NONE = std::numeric_limits<size_t>::max();
    size_t last = NONE;
    for (size_t call = 0; call < calls.count; call++) {
        const int64_t enter = calls.enter[call], leave = calls.leave[call];
        if (calls.tid[call] != main_tid || leave <= enter)
            continue;
        if (last == NONE || enter > free_from) {
            before = token == NO_NEIGHBOR && last != NONE ? pieces.token(calls, last) : token;
            token = pieces.token(calls, call);
            pieces.add(free_from, enter, before, token);
            free_from = leave;
        } else {
            free_from = std::max(free_from, leave);
            token = NO_NEIGHBOR;
        }
        last = call;
    }
    before = token == NO_NEIGHBOR && last != NONE ? pieces.token(calls, last) : token;
    pieces.add(free_from, end, before, NO_NEIGHBOR);
    return pieces.take();
}

} // namespace perfscope
