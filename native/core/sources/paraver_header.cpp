#include "sources/paraver_header.h"

#include <limits>

namespace perfscope {
namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();
constexpr size_t most_tasks = 1 << 24;

class Line {
public:
    explicit Line(std::string_view text) : text_(text) {}
    size_t at() const { return at_; }
    bool take(char wanted)
    {
        if (at_ >= text_.size() || text_[at_] != wanted)
            return false;
        at_++;
        return true;
    }
    bool take(std::string_view wanted)
    {
        if (text_.substr(at_, wanted.size()) != wanted)
            return false;
        at_ += wanted.size();
        return true;
    }
    bool number(int64_t &value)
    {
        const size_t first = at_;
        for (value = 0; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; at_++) {
            if (value > (most - 9) / 10)
                return false;
            value = value * 10 + (text_[at_] - '0');
        }
        return at_ > first;
    }
    std::string_view until(char end)
    {
        const size_t first = at_;
        while (at_ < text_.size() && text_[at_] != end)
            at_++;
        return text_.substr(first, at_ - first);
    }
    bool is_done() const { return at_ >= text_.size(); }

private:
    std::string_view text_;
    size_t at_ = 0;
};

// `tasks(threads:node,threads:node)` and an optional `,communicators`.
const char *application(Line &line, ParaverHeader &header)
{
    int64_t count, threads, node, ignored;
    if (!line.number(count) || count > static_cast<int64_t>(most_tasks))
        return "the number of tasks is missing or too large";
    if (!line.take('('))
        return "the threads of the tasks are missing";
    int64_t seen = 0;
    for (; !line.take(')'); seen++) {
        if (seen && !line.take(','))
            return "a comma was expected between tasks";
        if (!line.number(threads))
            return "the number of threads of a task is missing";
        node = 0;
        if (line.take(':') && !line.number(node))
            return "the node of a task is missing";
        if (header.threads.size() >= most_tasks)
            return "there are too many tasks";
        header.threads.push_back(threads);
        header.nodes.push_back(node <= std::numeric_limits<int32_t>::max() ? static_cast<int32_t>(node) : 0);
    }
    if (seen != count)
        return "the number of tasks is not that of the list of tasks";
    header.tasks.push_back(static_cast<int32_t>(count));
    if (line.take(',') && !line.number(ignored))
        return "the number of communicators is missing";
    return nullptr;
}

const char *header_fields(Line &line, ParaverHeader &header)
{
    int64_t applications;
    if (!line.take("#Paraver (") && !line.take("#Paraver("))
        return "it does not begin with #Paraver";
    header.date = std::string(line.until(')'));
    if (!line.take("):") || !line.number(header.duration_ns))
        return "the length of the trace is missing or too large";
    header.unit_ns = line.take("_ns") ? 1 : 1000;
    if (header.duration_ns > most / 4 / header.unit_ns)
        return "the length of the trace is out of range";
    header.duration_ns *= header.unit_ns;
    if (!line.take(':'))
        return "a colon was expected after the length of the trace";
    line.until(':'); // nodes and their CPUs
    if (!line.take(':') || !line.number(applications) || applications > static_cast<int64_t>(most_tasks))
        return "the number of applications is missing or too large";
    for (int64_t i = 0; i < applications; i++) {
        if (!line.take(':'))
            return "an application is missing";
        if (const char *problem = application(line, header))
            return problem;
    }
    return header.threads.empty() ? "it has no task" : nullptr;
}

} // namespace

int32_t ParaverHeader::rank(int64_t application, int64_t task) const
{
    if (application < 1 || application > static_cast<int64_t>(tasks.size()) || task < 1)
        return -1;
    int64_t place = 0;
    for (int64_t i = 0; i + 1 < application; i++)
        place += tasks[static_cast<size_t>(i)];
    return task <= tasks[static_cast<size_t>(application - 1)] ? static_cast<int32_t>(place + task - 1) : -1;
}

const char *parse_paraver_header(std::string_view line, ParaverHeader &header, size_t &place)
{
    Line cursor(line);
    const char *problem = header_fields(cursor, header);
    place = cursor.at();
    return problem;
}

const char *parse_paraver_communicator(std::string_view line, ParaverHeader &header)
{
    Line cursor(line);
    int64_t application, count, task;
    ParaverCommunicator found;
    if (!cursor.take("c:") || !cursor.number(application) || !cursor.take(':') || !cursor.number(found.id) ||
        !cursor.take(':') || !cursor.number(count))
        return "a communicator has no number or size";
    while (cursor.take(':')) {
        if (!cursor.number(task))
            return "a task of a communicator is no number";
        const int32_t rank = header.rank(application, task);
        if (rank < 0)
            return "a communicator has a task that the trace does not have";
        found.ranks.push_back(rank);
    }
    if (!cursor.is_done() || count != static_cast<int64_t>(found.ranks.size()))
        return "the size of a communicator is not that of the list of its tasks";
    found.application = static_cast<int32_t>(application);
    header.communicators.push_back(std::move(found));
    return nullptr;
}

} // namespace perfscope
