// What calls and their waits add up to, for numpy.
#include "matching/alike_messages.h"
#include "matching/wait_sums.h"
#include "arrays.h"
#include "bindings.h"
#include "pool_columns.h"

#include <algorithm>
#include <nanobind/stl/tuple.h>
#include <tuple>
#include <utility>

namespace nb = nanobind;

namespace perfscope {

namespace {

void check(bool fits)
{
    if (!fits)
        throw nb::value_error("what was matched does not fit the rows");
}

// What was matched of the calls, as attributes of perfscope.matching.waits.Waits.
class SplitColumns {
public:
    SplitColumns(const nb::handle &waits, const nb::tuple &codes)
        : pool_(nb::borrow(waits.attr("pool")), codes), calls_(pool_.view()),
          known_object_(waits.attr("known").attr("view")("uint8")),
          receiver_object_(waits.attr("for_receiver").attr("view")("uint8")), need_(waits, "need", calls_.count),
          cause_(waits, "cause", calls_.count), known_(nb::cast<Bytes>(known_object_, false)),
          for_receiver_(nb::cast<Bytes>(receiver_object_, false))
    {
        check(known_.size() == calls_.count && for_receiver_.size() == calls_.count &&
              are_rows(cause_.column(), calls_.count, -1));
    }
    const CallColumns &calls() const { return calls_; }
    SplitCalls view() const { return {need_.data(), known_.data(), cause_.data(), for_receiver_.data()}; }

private:
    PoolColumns pool_;
    CallColumns calls_;
    nb::object known_object_, receiver_object_;
    Named<int64_t> need_;
    NamedAny<int64_t> cause_;
    Bytes known_, for_receiver_;
};

auto by_operation(const nb::handle &waits, const nb::tuple &codes, size_t count)
{
    const SplitColumns split(waits, codes);
    std::vector<int64_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = operation_sums(split.calls(), split.view(), count);
    }
    return to_numpy(std::move(found));
}

nb::tuple alike(const nb::handle &waits, const nb::tuple &codes, const AnyColumn &send_of, const Ints &started,
                const Ints &finished, bool tells_calls)
{
    const SplitColumns split(waits, codes);
    const CallColumns &calls = split.calls();
    check(size_of(send_of) == calls.count && started.size() == finished.size() && are_rows(send_of, calls.count, -1) &&
          are_rows(started, calls.count, -1) && are_rows(finished, calls.count, -1));
    AlikeMessages found;
    {
        const nb::gil_scoped_release unlocked;
        const MatchedMessages matched{numbers_of<int64_t>(send_of), started.data(), finished.data(), started.size()};
        found = alike_messages(calls, split.view(), matched, tells_calls);
    }
    return nb::make_tuple(found.op, found.messages, found.calls, found.bytes, to_numpy(std::move(found.moving)));
}

// The waits of a run, and what their kinds are.
class WaitSums {
public:
    WaitSums(const nb::handle &waits, const nb::tuple &codes, Ints by_code, const nb::dict &kinds, size_t count)
        : waits_(nb::borrow(waits)), codes_(codes), split_(waits, codes), by_code_(std::move(by_code))
    {
        const auto kind = [&](const char *name) { return nb::cast<int64_t>(kinds[name]); };
        kinds_ = {by_code_.data(), kind("late_broadcast"), kind("early_reduce"), kind("late_receiver"), count};
        const auto is_kind = [count](int64_t one) { return static_cast<uint64_t>(one) < count; };
        check(by_code_.size() == split_.calls().codes.count && count &&
              std::all_of(by_code_.data(), by_code_.data() + by_code_.size(), is_kind) &&
              is_kind(kinds_.late_broadcast) && is_kind(kinds_.early_reduce) && is_kind(kinds_.late_receiver));
    }

    nb::ndarray<nb::numpy, int64_t, nb::ndim<1>> of_rank(size_t rank, uint32_t main_tid, const Ints &boundaries,
                                                        const Bytes &accounts, uint8_t account, int64_t begin,
                                                        int64_t end) const
    {
        check(rank < split_.calls().ranks && boundaries.size() == accounts.size() + 1);
        const Waited waited{boundaries.data(), accounts.data(), boundaries.size(), account, begin, end};
        std::vector<int64_t> found;
        {
            const nb::gil_scoped_release unlocked;
            found = waits_by_kind(split_.calls(), split_.view(), rank, main_tid, waited, kinds_);
        }
        return to_numpy(std::move(found));
    }

private:
    nb::object waits_;
    nb::tuple codes_;
    SplitColumns split_;
    Ints by_code_;
    WaitKinds kinds_{};
};

nb::tuple late(const nb::handle &pool, const nb::tuple &codes, const nb::handle &instances,
               const Column<uint32_t> &main_tids, int64_t begin, int64_t end)
{
    const PoolColumns columns(pool, codes);
    const CallColumns calls = columns.view();
    const size_t members = length_of(instances, "members"), count = length_of(instances, "starts");
    const auto column = [&](const char *name) { return nb::cast<Ints>(instances.attr(name), false); };
    const Ints starts = column("starts"), member = column("members"), need = column("need"), cause = column("cause");
    check(are_starts(starts, members) && need.size() == members && cause.size() == members &&
          main_tids.size() == calls.ranks && are_rows(member, calls.count, 0) && are_rows(cause, calls.count, -1));
    LateArrivals found;
    {
        const nb::gil_scoped_release unlocked;
        found = late_at_collectives(calls, {starts.data(), member.data(), need.data(), cause.data(), count - 1},
                                    main_tids.data(), begin, end);
    }
    return nb::make_tuple(to_numpy(std::move(found.waiting)), to_numpy(std::move(found.stall)),
                          to_numpy(std::move(found.cause)));
}

// Long runs forget the other columns of the calls before this is asked for the last time.
nb::tuple carried(const std::tuple<Ints, Ints, AnyColumn, AnyColumn> &columns, const Ints &starts, const Ints &members)
{
    const auto &[enter, leave, sent, received] = columns;
    check(leave.size() == enter.size() && size_of(sent) == enter.size() && size_of(received) == enter.size() &&
          are_starts(starts, members.size()) && are_rows(members, enter.size(), 0));
    CallColumns calls{};
    calls.enter = enter.data();
    calls.leave = leave.data();
    calls.sent = numbers_of<int64_t>(sent);
    calls.received = numbers_of<int64_t>(received);
    Carried found;
    {
        const nb::gil_scoped_release unlocked;
        found = carried_by(calls, {starts.data(), members.data(), nullptr, nullptr, starts.size() - 1});
    }
    return nb::make_tuple(to_numpy(std::move(found.bytes)), to_numpy(std::move(found.ns)));
}

auto exits(const nb::handle &pool, const nb::tuple &codes, const Ints &members, const Column<uint32_t> &main_tids,
           const Ints &began, const Ints &ranks, const Ints &moments)
{
    const PoolColumns columns(pool, codes);
    const CallColumns calls = columns.view();
    check(are_rows(members, calls.count, 0) && main_tids.size() == calls.ranks && began.size() == calls.ranks &&
          ranks.size() == moments.size() && are_rows(ranks, calls.ranks, 0));
    std::vector<int64_t> found;
    {
        const nb::gil_scoped_release unlocked;
        found = last_exits(calls, members.data(), members.size(), main_tids.data(), began.data(), ranks.data(),
                           moments.data(), moments.size());
    }
    return to_numpy(std::move(found));
}

} // namespace

void bind_wait_sums(nb::module_ &module)
{
    module.def("operation_sums", &by_operation, nb::arg("waits"), nb::arg("codes"), nb::arg("count"));
    module.def("alike_messages", &alike, nb::arg("waits"), nb::arg("codes"), nb::arg("send_of"), nb::arg("started"),
               nb::arg("finished"), nb::arg("tells_calls"));
    nb::class_<WaitSums>(module, "WaitSums", "What the waits of a run add up to by kind and cause.")
        .def(nb::init<const nb::handle &, const nb::tuple &, Ints, const nb::dict &, size_t>(), nb::arg("waits"),
             nb::arg("codes"), nb::arg("by_code"), nb::arg("kinds"), nb::arg("count"))
        .def("of_rank", &WaitSums::of_rank, nb::arg("rank"), nb::arg("main_tid"), nb::arg("boundaries"),
             nb::arg("accounts"), nb::kw_only(), nb::arg("account"), nb::arg("begin"), nb::arg("end"));
    module.def("late_at_collectives", &late, nb::arg("pool"), nb::arg("codes"), nb::arg("instances"),
               nb::arg("main_tids"), nb::arg("begin"), nb::arg("end"));
    module.def("carried_by", &carried, nb::arg("columns"), nb::arg("starts"), nb::arg("members"));
    module.def("last_exits", &exits, nb::arg("pool"), nb::arg("codes"), nb::arg("members"), nb::arg("main_tids"),
               nb::arg("began"), nb::arg("ranks"), nb::arg("moments"));
}

} // namespace perfscope
