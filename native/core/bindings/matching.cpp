// Matching for numpy: the columns of a Pool in, rows of it out.
#include "arrays.h"
#include "bindings.h"
#include "matching/ends_of_meetings.h"
#include "matching/waits.h"
#include "pool_columns.h"

#include <algorithm>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>

namespace nb = nanobind;

namespace perfscope {

namespace {

Communicators communicators_of(const Ints &starts, const Ints &members, const std::optional<Bytes> &comparable)
{
    const size_t count = starts.size() ? starts.size() - 1 : 0;
    const bool fits = starts.size() && starts.data()[0] == 0 &&
                      starts.data()[count] == static_cast<int64_t>(members.size()) &&
                      (!comparable || comparable->size() == count);
    if (!fits)
        throw nb::value_error("the members of communicators do not fit");
    return {starts.data(), members.data(), count, comparable ? comparable->data() : nullptr};
}

nb::dict collectives(const nb::handle &pool, const nb::tuple &codes, const Ints &starts, const Ints &members,
                     const std::optional<Bytes> &comparable)
{
    const PoolColumns columns(pool, codes);
    const Communicators communicators = communicators_of(starts, members, comparable);
    Instances found;
    {
        const nb::gil_scoped_release unlocked;
        found = match_collectives(columns.view(), communicators);
    }
    nb::dict result;
    result["comm"] = to_numpy(std::move(found.comm));
    result["seq"] = to_numpy(std::move(found.seq));
    result["op"] = to_numpy(std::move(found.op));
    result["starts"] = to_numpy(std::move(found.starts));
    result["members"] = to_numpy(std::move(found.members));
    result["need"] = to_numpy(std::move(found.need));
    result["last"] = to_numpy(std::move(found.last));
    result["cause"] = to_numpy(std::move(found.cause));
    result["synchronizing"] = to_numpy(std::move(found.synchronizing));
    result["unmatched"] = to_numpy(std::move(found.unmatched));
    result["waiting"] = to_numpy(std::move(found.waiting));
    return result;
}

nb::tuple messages(const nb::handle &pool, const nb::tuple &codes, const Ints &starts, const Ints &members,
                   const std::optional<Bytes> &comparable)
{
    const PoolColumns columns(pool, codes);
    const Communicators communicators = communicators_of(starts, members, comparable);
    Messages found;
    {
        const nb::gil_scoped_release unlocked;
        found = match_messages(columns.view(), communicators);
    }
    return nb::make_tuple(to_numpy(std::move(found.send_of)), to_numpy(std::move(found.unmatched)),
                          to_numpy(std::move(found.blind)), found.matched);
}

nb::tuple requests(const nb::handle &pool, const nb::tuple &codes, const std::vector<Bytes> &completions)
{
    const PoolColumns columns(pool, codes);
    const CallColumns calls = columns.view();
    if (completions.size() != calls.ranks)
        throw nb::value_error("each rank has completions");
    std::vector<CompletionRows> rows;
    for (const Bytes &bytes : completions) {
        if (bytes.size() % sizeof(OperationRow))
            throw nb::value_error("these bytes are no rows of the table");
        rows.push_back({reinterpret_cast<const OperationRow *>(bytes.data()), bytes.size() / sizeof(OperationRow)});
    }
    CompletedRequests found;
    {
        const nb::gil_scoped_release unlocked;
        found = completed_requests(calls, rows);
    }
    return nb::make_tuple(to_numpy(std::move(found.started)), to_numpy(std::move(found.finished)));
}

nb::tuple rendezvous(const nb::handle &pool, const nb::tuple &codes, const nb::tuple &threads,
                     const AnyColumn &send_of, const AnyColumn &wait_of)
{
    const PoolColumns columns(pool, codes);
    const CallColumns calls = columns.view();
    const auto column = [&](size_t place) { return nb::cast<Ints>(threads[place], false); };
    const AnyColumn row = nb::cast<AnyColumn>(threads[0], false);
    const Ints enter = column(1), leave = column(2), starts = column(3);
    const size_t count = size_of(row);
    const bool fits = enter.size() == count && leave.size() == count && starts.size() == calls.ranks + 1 &&
                      size_of(send_of) == calls.count && size_of(wait_of) == calls.count &&
                      are_rows(send_of, calls.count, -1) && are_rows(wait_of, calls.count, -1) &&
                      are_rows(row, calls.count, 0);
    if (!fits)
        throw nb::value_error("the calls of the threads do not fit the rows");
    Rendezvous found;
    {
        const nb::gil_scoped_release unlocked;
        found = find_rendezvous(
            calls, {numbers_of<int64_t>(row), enter.data(), leave.data(), starts.data(), count},
            numbers_of<int64_t>(send_of), numbers_of<int64_t>(wait_of));
    }
    return nb::make_tuple(to_numpy(std::move(found.end)), to_numpy(std::move(found.inside)),
                          to_numpy(std::move(found.waits)));
}

nb::tuple waits(const nb::handle &pool, const nb::tuple &codes, const nb::tuple &collective, const Ints &waiting,
                const Ints &send_of, const nb::tuple &completed, const Column<uint32_t> &main_tids, bool is_one_clock)
{
    const PoolColumns columns(pool, codes);
    const CallColumns calls = columns.view();
    const Ints members = nb::cast<Ints>(collective[0], false), need = nb::cast<Ints>(collective[1], false),
               cause = nb::cast<Ints>(collective[2], false);
    const Ints started = nb::cast<Ints>(completed[0], false), finished = nb::cast<Ints>(completed[1], false);
    bool fits = need.size() == members.size() && cause.size() == members.size() && send_of.size() == calls.count &&
                started.size() == finished.size() && main_tids.size() == calls.ranks;
    for (const Ints *rows : {&cause, &send_of, &started, &finished})
        fits = fits && are_rows(*rows, calls.count, -1);
    for (const Ints *rows : {&members, &waiting})
        fits = fits && are_rows(*rows, calls.count, 0);
    if (!fits)
        throw nb::value_error("what was matched does not fit the rows");
    const MatchedCalls matched{members.data(), need.data(),    cause.data(),    members.size(),  waiting.data(),
                               waiting.size(), send_of.data(), started.data(), finished.data(), started.size()};
    CallWaits found;
    {
        const nb::gil_scoped_release unlocked;
        found = split_calls(calls, matched, main_tids.data(), is_one_clock);
    }
    return nb::make_tuple(to_numpy(std::move(found.need)), to_numpy(std::move(found.known)),
                          to_numpy(std::move(found.cause)), to_numpy(std::move(found.for_receiver)));
}

nb::tuple meeting_ends(const std::tuple<Ints, Ints, Ints, Column<uint16_t>> &calls, const Ints &members,
                       const Ints &starts, const Bytes &chosen, const Bytes &strictness)
{
    const auto &[enter, leave, sent, flags] = calls;
    const size_t count = chosen.size();
    if (leave.size() != enter.size() || sent.size() != enter.size() || flags.size() != enter.size())
        throw nb::value_error("the columns are not equally long");
    if (starts.size() != count + 1 || strictness.size() != count || !are_starts(starts, members.size()) ||
        !are_rows(members, enter.size(), 0))
        throw nb::value_error("the members of the instances do not fit");
    MeetingEnds found;
    {
        const nb::gil_scoped_release unlocked;
        found = ends_of_meetings({enter.data(), leave.data(), sent.data(), flags.data()},
                                 {members.data(), starts.data(), count}, chosen.data(), strictness.data());
    }
    return nb::make_tuple(to_numpy(std::move(found.rows)), to_numpy(std::move(found.early_ns)));
}

std::map<std::string, uint32_t> call_traits()
{
    return {{"SEND", SEND},
            {"ISEND", ISEND},
            {"SENDRECV", SENDRECV},
            {"RECV", RECV},
            {"IRECV", IRECV},
            {"PROBE", PROBE},
            {"WAIT", WAIT},
            {"TEST", TEST},
            {"FINALIZE", FINALIZE},
            {"COLLECTIVE", COLLECTIVE},
            {"N_TO_N", N_TO_N},
            {"TO_ALL", TO_ALL},
            {"TO_ROOT", TO_ROOT},
            {"SCAN", SCAN},
            {"NONBLOCKING", NONBLOCKING},
            {"SYNCHRONOUS", SYNCHRONOUS},
            {"FRAMEWORK", FRAMEWORK}};
}

} // namespace

void bind_matching(nb::module_ &module)
{
    module.attr("EAGER_BYTES") = EAGER_BYTES;
    module.def("call_traits", &call_traits);
    module.def("match_collectives", &collectives, nb::arg("pool"), nb::arg("codes"), nb::arg("starts"),
               nb::arg("members"), nb::arg("comparable").none());
    module.def("match_messages", &messages, nb::arg("pool"), nb::arg("codes"), nb::arg("starts"), nb::arg("members"),
               nb::arg("comparable").none());
    module.def("completed_requests", &requests, nb::arg("pool"), nb::arg("codes"), nb::arg("completions"));
    module.def("ends_of_meetings", &meeting_ends, nb::arg("calls"), nb::arg("members"), nb::arg("starts"),
               nb::arg("chosen"), nb::arg("strictness"));
    module.def("find_rendezvous", &rendezvous, nb::arg("pool"), nb::arg("codes"), nb::arg("threads"),
               nb::arg("send_of"), nb::arg("wait_of"));
    module.def("split_calls", &waits, nb::arg("pool"), nb::arg("codes"), nb::kw_only(), nb::arg("collective"),
               nb::arg("waiting"), nb::arg("send_of"), nb::arg("completed"), nb::arg("main_tids"),
               nb::arg("is_one_clock"));
}

} // namespace perfscope
