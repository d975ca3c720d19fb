#include "reducers/free_time.h"

#include <algorithm>
#include <deque>
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

// Cuts stretches, which come in the order of their starts, where a layer changes.
class Cuts {
public:
    explicit Cuts(LayerView phases) : phases_(phases) {}

    // Calls each(start, end) for the pieces of a stretch.
    template <class Each> void cut(int64_t start, int64_t end, const Each &each)
    {
        if (end <= start)
            return;
        while (cut_ < phases_.count && phases_.starts[cut_] <= start)
            cut_++;
        for (; cut_ < phases_.count && phases_.starts[cut_] < end; cut_++) {
            each(start, phases_.starts[cut_]);
            start = phases_.starts[cut_];
        }
        each(start, end);
    }

private:
    LayerView phases_;
    size_t cut_ = 0; // the first start of a phase behind the stretch before
};

class Pieces {
public:
    Pieces(LayerView phases, size_t likely, bool tells_kinds) : cuts_(phases), phase_(phases), tells_kinds_(tells_kinds)
    {
        for (auto *column : {&found_.starts, &found_.ends})
            column->reserve(likely);
        found_.kinds.reserve(likely);
        found_.in_phase.reserve(likely);
    }

    void add(int64_t start, int64_t end, int64_t before, int64_t after)
    {
        cuts_.cut(start, end, [&](int64_t first, int64_t behind) { add_uncut(first, behind, before, after); });
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

    Cuts cuts_;
    LayerReader phase_;
    bool tells_kinds_;
    Numbered<Neighbor> neighbors_;
    Numbered<Likeness> kinds_;
    FreeTime found_;
};

// Answers questions as soon as all pieces are known that count, and forgets pieces that count for none that is left.
class Longest {
public:
    Longest(LayerView phases, const int64_t *after, const int64_t *until, size_t asked)
        : cuts_(phases), after_(after), until_(until), order_(asked),
          found_{std::vector<int64_t>(asked, -1), std::vector<int64_t>(asked), std::vector<int64_t>(asked)}
    {
        std::iota(order_.begin(), order_.end(), size_t{0});
        const auto before = [&](size_t a, size_t b) { return after[a] < after[b]; };
        if (!std::is_sorted(order_.begin(), order_.end(), before))
            std::stable_sort(order_.begin(), order_.end(), before);
    }

    int64_t token(const CallsOfRank &, size_t) { return NO_NEIGHBOR; }
    void add(int64_t start, int64_t end, int64_t, int64_t)
    {
        cuts_.cut(start, end, [&](int64_t first, int64_t behind) {
            while (answered_ < order_.size() && until_[order_[answered_]] <= first)
                answer(order_[answered_++]);
            if (answered_ == order_.size())
                return;
            known_.push_back({first, behind});
            forget_until(after_[order_[answered_]]);
        });
    }
    LongestFree take()
    {
        while (answered_ < order_.size())
            answer(order_[answered_++]);
        return std::move(found_);
    }

private:
    struct Piece {
        int64_t start, end;
    };

    void forget_until(int64_t moment)
    {
        for (; !known_.empty() && known_.front().end <= moment; first_++)
            known_.pop_front();
    }

    void answer(size_t question)
    {
        forget_until(after_[question]);
        uint64_t longest = 0;
        int64_t place = first_;
        for (const Piece &piece : known_) {
            if (piece.start >= until_[question])
                break;
            const uint64_t length = static_cast<uint64_t>(piece.end) - static_cast<uint64_t>(piece.start);
            if (length > longest) {
                longest = length;
                found_.places[question] = place;
                found_.starts[question] = piece.start;
                found_.ends[question] = piece.end;
            }
            place++;
        }
    }

    Cuts cuts_;
    const int64_t *after_, *until_;
    std::vector<size_t> order_; // of the questions, by the first moment
    size_t answered_ = 0;
    std::deque<Piece> known_;
    int64_t first_ = 0; // the place of the first of these
    LongestFree found_;
};

// Gives the stretches of a main thread without calls to who takes them, in order, with tokens of the calls beside each.
template <class Taker>
void find_free_time(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, Taker &taker)
{
    int64_t free_from = start, before = NO_NEIGHBOR;
    int64_t token = NO_NEIGHBOR; // of the last call, where it is known
    constexpr size_t NONE = std::numeric_limits<size_t>::max();
    size_t last = NONE;
    for (size_t call = 0; call < calls.count; call++) {
        const int64_t enter = calls.enter[call], leave = calls.leave[call];
        if (calls.tid[call] != main_tid || leave <= enter)
            continue;
        if (last == NONE || enter > free_from) {
            before = token == NO_NEIGHBOR && last != NONE ? taker.token(calls, last) : token;
            token = taker.token(calls, call);
            taker.add(free_from, enter, before, token);
            free_from = leave;
        } else {
            free_from = std::max(free_from, leave);
            token = NO_NEIGHBOR;
        }
        last = call;
    }
    before = token == NO_NEIGHBOR && last != NONE ? taker.token(calls, last) : token;
    taker.add(free_from, end, before, NO_NEIGHBOR);
}

} // namespace

FreeTime free_time(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, LayerView phases,
                   bool tells_kinds)
{
    Pieces pieces(phases, calls.count + 1, tells_kinds);
    find_free_time(calls, main_tid, start, end, pieces);
    return pieces.take();
}

LongestFree longest_free(const CallsOfRank &calls, uint32_t main_tid, int64_t start, int64_t end, LayerView phases,
                         const int64_t *after, const int64_t *until, size_t asked)
{
    Longest longest(phases, after, until, asked);
    find_free_time(calls, main_tid, start, end, longest);
    return longest.take();
}

} // namespace perfscope
