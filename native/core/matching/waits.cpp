#include "matching/waits.h"

#include <algorithm>
#include <array>

namespace perfscope {

namespace {

constexpr int SIZE_CLASSES = 65;

// Of each size class, whether its sends wait; one that cannot tell is like the next smaller.
class LearnedLimit {
public:
    // Whether it would have been clearly earlier without waiting for the receiver, and was still there when it came.
    void tell(int size, bool is_free, bool has_stayed)
    {
        told_[static_cast<size_t>(size)] += is_free;
        agreed_[static_cast<size_t>(size)] += is_free && has_stayed;
    }
    std::array<bool, SIZE_CLASSES> waits() const
    {
        std::array<bool, SIZE_CLASSES> found{};
        for (size_t size = 0; size < SIZE_CLASSES; size++)
            found[size] = told_[size] ? static_cast<double>(agreed_[size]) >=
                                            SYNCHRONIZING_SHARE * static_cast<double>(told_[size])
                                      : size > 0 && found[size - 1];
        return found;
    }

private:
    std::array<int64_t, SIZE_CLASSES> told_{}, agreed_{};
};

std::vector<int64_t> receives_of(const CallColumns &calls, const AnyInts &send_of)
{
    std::vector<int64_t> found(calls.count, -1);
    for (int64_t row = 0; row < static_cast<int64_t>(calls.count); row++)
        if (send_of[row] >= 0 && calls.is_of(row, RECV | SENDRECV | IRECV))
            found[send_of[row]] = row;
    return found;
}

// Whether some send that was received may wait for its receiver.
bool may_meet(const CallColumns &calls, const AnyInts &send_of)
{
    for (int64_t row = 0; row < static_cast<int64_t>(calls.count); row++)
        if (send_of[row] >= 0 && calls.is_of(row, RECV | SENDRECV | IRECV) &&
            (calls.is_of(send_of[row], SYNCHRONOUS) || !calls.is_eager(send_of[row])))
            return true;
    return false;
}

// All calls of the main threads but collectives of frameworks, in which no message of MPI moves.
class MainCalls {
public:
    MainCalls(const CallColumns &calls, const uint32_t *main_tids)
    {
        for (size_t rank = 0; rank < calls.ranks; rank++) {
            for (int64_t row = calls.offsets[rank]; row < calls.offsets[rank + 1]; row++) {
                const bool is_elsewhere = calls.is_of(row, FRAMEWORK) && calls.is_of(row, COLLECTIVE);
                if (calls.tid[row] != main_tids[rank] || is_elsewhere)
                    continue;
                rows_.push_back(row);
                enter_.push_back(calls.enter[row]);
                leave_.push_back(calls.leave[row]);
            }
            starts_.push_back(static_cast<int64_t>(rows_.size()));
        }
    }
    ThreadCalls view() const { return {AnyInts(rows_.data()), enter_.data(), leave_.data(), starts_.data(), rows_.size()}; }

private:
    std::vector<int64_t> rows_, enter_, leave_, starts_{0};
};

class Splitting {
public:
    Splitting(const CallColumns &calls, const MatchedCalls &matched)
        : calls_(calls), matched_(matched), wait_of_(calls.count, -1)
    {
        found_.need.assign(calls.enter, calls.enter + calls.count);
        found_.cause.assign(calls.count, -1);
        found_.known.assign(calls.count, 0);
        found_.for_receiver.assign(calls.count, 0);
        for (size_t i = 0; i < matched.completion_count; i++)
            if (matched.started[i] >= 0 && matched.finished[i] >= 0)
                wait_of_[matched.started[i]] = matched.finished[i];
    }

    void collectives()
    {
        for (size_t i = 0; i < matched_.member_count; i++) {
            const int64_t row = matched_.members[i], setter = matched_.cause[i];
            if (!calls_.is_of(row, NONBLOCKING))
                set(row, matched_.need[i], setter != row ? setter : -1);
        }
        // a rank that never came: all of the call was waiting for it
        for (size_t i = 0; i < matched_.waiting_count; i++) {
            const int64_t row = matched_.waiting[i];
            found_.need[row] = calls_.leave[row];
            found_.known[row] = 1;
        }
    }

    void messages()
    {
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++) {
            const uint32_t own = calls_.codes.of(calls_.op[row]);
            const int64_t send = matched_.send_of[row];
            if ((own & (RECV | PROBE | SENDRECV)) && send >= 0)
                set(row, calls_.enter[send], calls_.enter[send] > calls_.enter[row] ? send : -1);
            if (waits_for_nobody(row, own))
                found_.known[row] = 1;
            if (own & TEST) {
                found_.need[row] = calls_.leave[row];
                found_.known[row] = 1;
            }
        }
    }

    // Ranks already in MPI_Finalize wait for the last one to enter it.
    void finalizations()
    {
        int64_t last = -1;
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++)
            if (calls_.is_of(row, FINALIZE) && (last < 0 || calls_.enter[row] > calls_.enter[last]))
                last = row;
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count) && last >= 0; row++)
            if (calls_.is_of(row, FINALIZE))
                set(row, calls_.enter[last], row != last ? last : -1);
    }

    // Waits and tests need the latest of what completed inside them.
    void completions()
    {
        std::vector<int64_t> posted_need, posted_cause;
        needs_of_posted(posted_need, posted_cause);
        const auto each = [&](auto &&work) {
            for (size_t i = 0; i < matched_.completion_count; i++) {
                const int64_t made = matched_.started[i], row = matched_.finished[i];
                if (made >= 0 && row >= 0 && posted_need[made] >= 0)
                    work(row, posted_need[made], posted_cause[made]);
            }
        };
        each([this](int64_t row, int64_t, int64_t) {
            if (calls_.is_of(row, TEST))
                found_.need[row] = calls_.enter[row];
        });
        std::vector<uint8_t> is_raised(calls_.count, 0);
        each([&](int64_t row, int64_t need, int64_t cause) {
            raise(row, need, cause, is_raised);
            found_.known[row] = 1;
        });
    }

    // Large sends, and waits on them, complete when the receiver is inside MPI, or wait for nobody.
    void rendezvous(const uint32_t *main_tids)
    {
        std::vector<int32_t> told(calls_.count, 0);
        if (!may_meet(calls_, AnyInts(matched_.send_of))) {
            sends_completed(told);
            return;
        }
        const MainCalls main(calls_, main_tids);
        const ThreadCalls threads = main.view();
        const Rendezvous met = find_rendezvous(calls_, threads, AnyInts(matched_.send_of), AnyInts(wait_of_.data()));
        for (const int64_t end : met.end) {
            const int64_t row = threads.row[end];
            told[row]++;
            if (calls_.is_of(row, SEND))
                found_.known[row] = 1;
        }
        sends_completed(told);
        for (size_t i = 0; i < met.end.size(); i++)
            if (met.waits[i]) {
                const int64_t on = threads.row[met.inside[i]];
                raise(threads.row[met.end[i]], calls_.enter[on], on, found_.for_receiver);
            }
    }

    CallWaits take()
    {
        for (size_t row = 0; row < calls_.count; row++)
            found_.need[row] = std::min(std::max(found_.need[row], calls_.enter[row]), calls_.leave[row]);
        return std::move(found_);
    }

private:
    void set(int64_t row, int64_t need, int64_t cause)
    {
        found_.need[row] = need;
        found_.cause[row] = cause;
        found_.known[row] = 1;
    }

    // Of needs that are later than what the row needed before, the latest counts; of equal ones the last.
    void raise(int64_t row, int64_t need, int64_t cause, std::vector<uint8_t> &is_raised)
    {
        if (need < found_.need[row] || (need == found_.need[row] && !is_raised[row]))
            return;
        found_.need[row] = need;
        found_.cause[row] = cause;
        is_raised[row] = 1;
    }

    bool waits_for_nobody(int64_t row, uint32_t own) const
    {
        if (own & (ISEND | IRECV | NONBLOCKING))
            return true;
        const bool is_to_nobody = calls_.peer_number[row] == PEER_PROC_NULL;
        if (own & (SEND | RECV | PROBE))
            return is_to_nobody || ((own & SEND) && calls_.is_eager(row) && !(own & SYNCHRONOUS));
        // a combined call that receives from nobody is a send
        return (own & SENDRECV) && calls_.seq[row] == PEER_PROC_NULL && calls_.is_eager(row);
    }

    // What the request of each row stands for: need, -1 where it is not known, and its cause.
    void needs_of_posted(std::vector<int64_t> &need, std::vector<int64_t> &cause) const
    {
        need.assign(calls_.count, -1);
        cause.assign(calls_.count, -1);
        for (size_t i = 0; i < matched_.member_count; i++) {
            const int64_t row = matched_.members[i];
            if (calls_.is_of(row, NONBLOCKING)) {
                need[row] = matched_.need[i];
                cause[row] = matched_.cause[i];
            }
        }
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++)
            if (matched_.send_of[row] >= 0 && calls_.is_of(row, IRECV)) {
                need[row] = calls_.enter[matched_.send_of[row]];
                cause[row] = matched_.send_of[row];
            }
    }

    // Waits are known in which nothing completes but sends of which it is known when they can, and what is for nobody.
    void sends_completed(std::vector<int32_t> &told)
    {
        std::vector<int32_t> started(calls_.count, 0);
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++) {
            if (wait_of_[row] < 0)
                continue;
            started[wait_of_[row]]++;
            const uint32_t own = calls_.codes.of(calls_.op[row]);
            const bool is_for_nobody = (own & (ISEND | IRECV)) && calls_.peer_number[row] == PEER_PROC_NULL;
            if (is_for_nobody || ((own & ISEND) && calls_.is_eager(row) && !(own & SYNCHRONOUS)))
                told[wait_of_[row]]++;
        }
        for (int64_t row = 0; row < static_cast<int64_t>(calls_.count); row++)
            if (told[row] > 0 && told[row] >= started[row] && calls_.is_of(row, WAIT))
                found_.known[row] = 1;
    }

    const CallColumns &calls_;
    const MatchedCalls &matched_;
    std::vector<int64_t> wait_of_;
    CallWaits found_;
};

} // namespace

Rendezvous find_rendezvous(const CallColumns &calls, const ThreadCalls &threads, const AnyInts &send_of,
                           const AnyInts &wait_of)
{
    if (!may_meet(calls, send_of))
        return {};
    const std::vector<int64_t> receive_of = receives_of(calls, send_of);
    std::vector<int64_t> place_of(calls.count, -1);
    for (size_t place = 0; place < threads.count; place++)
        place_of[threads.row[place]] = static_cast<int64_t>(place);
    Rendezvous found;
    LearnedLimit limit;
    std::vector<uint8_t> size_classes; // SIZE_CLASSES: a synchronous send
    for (int64_t send = 0; send < static_cast<int64_t>(calls.count); send++) {
        const int64_t receive = receive_of[send];
        const bool is_synchronous = calls.is_of(send, SYNCHRONOUS);
        if (receive < 0 || !(is_synchronous || !calls.is_eager(send)))
            continue;
        const int64_t ends_in = calls.is_of(send, ISEND) ? wait_of[send] : send;
        const int64_t end = ends_in < 0 ? -1 : place_of[ends_in];
        int64_t inside = place_of[receive];
        if (inside >= 0 && calls.is_of(receive, IRECV)) {
            // the call in which the receiver first was inside MPI once both sides had come
            const int64_t rank = calls.rank[receive], both = std::max(calls.enter[send], calls.enter[receive]);
            const int64_t *const last = threads.leave + threads.starts[rank + 1];
            const int64_t *const first =
                std::lower_bound(threads.leave + threads.starts[rank], last, both);
            inside = first == last ? -1 : std::max(inside, static_cast<int64_t>(first - threads.leave));
        }
        if (end < 0 || inside < 0)
            continue;
        const bool is_free = threads.enter[inside] > threads.enter[end] + TELLING_LAG_NS;
        const bool has_stayed = threads.leave[end] >= threads.enter[inside];
        const int size = size_class(calls.sent[send]);
        if (!is_synchronous)
            limit.tell(size, is_free, has_stayed);
        found.end.push_back(end);
        found.inside.push_back(inside);
        found.waits.push_back(has_stayed);
        size_classes.push_back(static_cast<uint8_t>(is_synchronous ? SIZE_CLASSES : size));
    }
    const auto waits = limit.waits();
    for (size_t i = 0; i < size_classes.size(); i++)
        found.waits[i] = found.waits[i] && (size_classes[i] == SIZE_CLASSES || waits[size_classes[i]]);
    return found;
}

CallWaits split_calls(const CallColumns &calls, const MatchedCalls &matched, const uint32_t *main_tids,
                      bool is_one_clock)
{
    Splitting splitting(calls, matched);
    splitting.collectives();
    splitting.messages();
    if (is_one_clock)
        splitting.finalizations();
    splitting.completions();
    splitting.rendezvous(main_tids);
    return splitting.take();
}

} // namespace perfscope
