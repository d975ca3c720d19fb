// Calls of communication libraries and ends of their requests, which only exports of perfscope hold.
#include "json_text.h"
#include "kineto.h"
#include "kineto_words.h"

namespace perfscope {

// What an argument says of the partners of a message; whether it is of them.
static bool told_of_partner(CallRow &row, std::string_view key, std::string_view value)
{
    if (key == "peer")
        row.peer = small(whole(value, PEER_UNKNOWN));
    else if (key == "tag")
        row.tag = small(whole(value, -1));
    else if (key == "source")
        row.source = small(whole(value, PEER_UNKNOWN));
    else if (key == "received_tag")
        row.received_tag = small(whole(value, -1));
    else if (key == "request")
        row.request = whole(value, 0);
    else
        return false;
    return true;
}

void KinetoFile::keep_call(const ChromeEvent &event, KinetoCallKind kind, int64_t end, uint32_t flags)
{
    CallRow row;
    row.t0 = event.time;
    row.t1 = end;
    row.name = name(event.name);
    row.thread = thread(event);
    row.kind = static_cast<uint32_t>(kind);
    row.flags = flags;
    KinetoGroup group{name(""), name(""), -1, -1, 0};
    bool is_told = false, is_nobody = false;
    json::for_each_member(event.arguments.empty() ? "{}" : event.arguments, [&](auto key, auto value) {
        if (key == "Seq")
            row.seq = whole(value, -1);
        else if (key == "root")
            row.root = small(whole(value, -1));
        else if (key == "sent_bytes")
            row.sent = whole(value, 0);
        else if (key == "received_bytes")
            row.received = whole(value, 0);
        else if (key == "calls")
            row.calls = whole(value, 0);
        else if (key == "open" && value == "true")
            row.flags |= ROW_OPEN;
        else if (key == "nobody")
            is_nobody = value == "true";
        else if (!told_of_partner(row, key, value))
            is_told |= tell(group, key, value);
    });
    if (is_nobody)
        for (int32_t *partner : {&row.peer, &row.source})
            *partner = *partner < 0 ? PEER_PROC_NULL : *partner;
    row.group = is_told ? number(group) : -1;
    row.flags |= row.calls > 0 ? ROW_COALESCED : 0;
    calls.push_back(row);
}

} // namespace perfscope
