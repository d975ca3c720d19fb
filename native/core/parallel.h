// Work on independent items, on several cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace perfscope {

// How many threads beside the calling ones are at work.
inline std::atomic<int> others_at_work{0};

// Calls work(i) for every i below `count`, each exactly once, on at most `threads` threads. The first exception
// stops the rest and is thrown here.
template <class Work> void parallel_for(size_t count, unsigned threads, Work &&work)
{
    std::atomic<size_t> next{0};
    std::exception_ptr failure;
    std::mutex lock;
    auto drain = [&] {
        for (size_t i; (i = next.fetch_add(1)) < count;) {
            try {
                work(i);
            } catch (...) {
                const std::lock_guard<std::mutex> hold(lock);
                if (!failure)
                    failure = std::current_exception();
                next.store(count);
            }
        }
    };
    std::vector<std::thread> others;
    const size_t wanted = std::min<size_t>(threads ? threads : 1, count);
    const int expected = static_cast<int>(std::max<size_t>(wanted, 1) - 1);
    others_at_work += expected;
    try {
        for (size_t i = 1; i < wanted; i++)
            others.emplace_back(drain);
    } catch (const std::system_error &) {
        // fewer threads do the same work
    }
    drain();
    for (auto &thread : others)
        thread.join();
    others_at_work -= expected;
    if (failure)
        std::rethrow_exception(failure);
}

// Hands that are large: each is used by one thread at a time, and again by the next.
template <class Hands> class SharedHands {
public:
    // Calls use(hands) with some that nobody else uses, or that `make()` gives.
    template <class Make, class Use> void with(const Make &make, const Use &use)
    {
        std::unique_ptr<Hands> own;
        {
            const std::lock_guard<std::mutex> hold(lock_);
            if (!idle_.empty()) {
                own = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (!own)
            own = make();
        use(*own);
        const std::lock_guard<std::mutex> hold(lock_);
        idle_.push_back(std::move(own));
    }

    // Calls each(hands), when all are idle.
    template <class Each> void for_each(const Each &each) const
    {
        for (const std::unique_ptr<Hands> &one : idle_)
            each(*one);
    }

private:
    std::mutex lock_;
    std::vector<std::unique_ptr<Hands>> idle_;
};

} // namespace perfscope
