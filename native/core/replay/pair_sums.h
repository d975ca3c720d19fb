// For how long ranks waited for each other, added up by several threads at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace perfscope {

// Numbers by key, in room for twice as many keys as there are.
class SparseSums {
public:
    void add(uint64_t key, int64_t value)
    {
        if (2 * used_ >= slots_.size())
            grow();
        Slot &slot = slot_of(key);
        used_ += slot.key == NONE;
        slot.key = key;
        slot.value += value;
    }

    template <class Each> void for_each(const Each &each) const
    {
        for (const Slot &slot : slots_)
            if (slot.key != NONE)
                each(slot.key, slot.value);
    }

private:
    static constexpr uint64_t NONE = UINT64_MAX;
    static constexpr size_t FEWEST = 64;

    struct Slot {
        uint64_t key = NONE;
        int64_t value = 0;
    };

    Slot &slot_of(uint64_t key)
    {
        const size_t last = slots_.size() - 1; // a power of two, less one
        size_t place = static_cast<size_t>((key * 0x9e3779b97f4a7c15u) >> 32) & last;
        while (slots_[place].key != NONE && slots_[place].key != key)
            place = (place + 1) & last;
        return slots_[place];
    }

    void grow()
    {
        std::vector<Slot> before(std::max(2 * slots_.size(), FEWEST));
        before.swap(slots_);
        for (const Slot &slot : before)
            if (slot.key != NONE)
                slot_of(slot.key) = slot;
    }

    std::vector<Slot> slots_;
    size_t used_ = 0;
};

// Waits of pairs of ranks in fractions of a nanosecond: their sums are the same in whatever order they are made.
class PairSums {
public:
    using Pairs = std::vector<std::pair<uint64_t, double>>;

    // Pairs have a place each, that of all threads, where there are not many more of them than `rows`, which may wait.
    PairSums(size_t ranks, size_t rows) : ranks_(ranks), places_(ranks * ranks / MOST_A_ROW <= rows ? ranks * ranks : 0)
    {
        if (places_)
            few_ = std::make_unique<std::atomic<int64_t>[]>(places_);
    }

    // One thread's hands.
    class Own {
    public:
        explicit Own(PairSums &all) : all_(&all) {}

        void add(size_t waiter, size_t cause, double ns)
        {
            const uint64_t pair = static_cast<uint64_t>(waiter) * all_->ranks_ + cause;
            const auto value = static_cast<int64_t>(std::llround(ns * FRACTIONS));
            if (all_->places_)
                all_->few_[pair].fetch_add(value, std::memory_order_relaxed);
            else
                many_.add(pair, value);
        }

        const SparseSums &many() const { return many_; }

    private:
        PairSums *all_;
        SparseSums many_;
    };

    // Waiter * ranks + cause, and nanoseconds, by pair, of all threads.
    Pairs sorted(const std::vector<const Own *> &owns) const
    {
        Pairs found;
        for (size_t pair = 0; pair < places_; pair++)
            append(found, pair, few_[pair].load(std::memory_order_relaxed));
        SparseSums all;
        for (const Own *own : owns)
            own->many().for_each([&](uint64_t pair, int64_t value) { all.add(pair, value); });
        all.for_each([&](uint64_t pair, int64_t value) { append(found, pair, value); });
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    static constexpr double FRACTIONS = 256.0;
    static constexpr size_t MOST_A_ROW = 4;

    static void append(Pairs &found, uint64_t pair, int64_t value)
    {
        if (value > 0)
            found.emplace_back(pair, static_cast<double>(value) / FRACTIONS);
    }

    size_t ranks_, places_;
    std::unique_ptr<std::atomic<int64_t>[]> few_; // by waiter and cause
};

} // namespace perfscope
