// The columns of a Pool, as those who match and sum calls take them.
#pragma once

#include "arrays.h"
#include "matching/calls.h"
#include "small_codes.h"

#include <algorithm>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace perfscope {

using Ints = Column<int64_t>;
using Bytes = Column<uint8_t>;

// A column of a Python object, kept alive as long as this.
template <class T> class Named {
public:
    Named(const nanobind::handle &object, const char *name, size_t count)
        : column_(nanobind::cast<Column<T>>(object.attr(name), false))
    {
        if (column_.size() != count)
            throw nanobind::value_error("the columns are not equally long");
    }
    const T *data() const { return column_.data(); }

private:
    Column<T> column_;
};

// Such a column of a Python object, kept alive as long as this.
template <class Number> class NamedAny {
public:
    NamedAny(const nanobind::handle &object, const char *name, size_t count)
        : column_(nanobind::cast<AnyColumn>(object.attr(name), false))
    {
        if (size_of(column_) != count)
            throw nanobind::value_error("the columns are not equally long");
    }
    NumbersOfAnyWidth<Number> data() const { return numbers_of<Number>(column_); }
    const AnyColumn &column() const { return column_; }

private:
    AnyColumn column_;
};

inline size_t length_of(const nanobind::handle &object, const char *name)
{
    return nanobind::cast<Ints>(object.attr(name), false).size();
}

// The columns of perfscope.matching.pool.Pool and the traits of its codes.
class PoolColumns {
public:
    PoolColumns(const nanobind::handle &pool, const nanobind::tuple &codes)
        : count_(length_of(pool, "enter")), ranks_(length_of(pool, "numbers")), rank_(pool, "rank", count_),
          enter_(pool, "enter", count_), leave_(pool, "exit", count_), seq_(pool, "seq", count_),
          sent_(pool, "sent", count_), received_(pool, "received", count_), request_(pool, "request", count_),
          offsets_(pool, "offsets", ranks_ + 1), numbers_(pool, "numbers", ranks_), op_(pool, "op", count_),
          flags_(pool, "flags", count_), tid_(pool, "tid", count_), comm_(pool, "comm", count_),
          peer_(pool, "peer", count_), peer_number_(pool, "peer_number", count_), tag_(pool, "tag", count_),
          traits_(nanobind::cast<Column<uint32_t>>(codes[0], false)), forms_(nanobind::cast<Column<uint16_t>>(codes[1], false))
    {
        if (traits_.size() != forms_.size())
            throw nanobind::value_error("each code has traits and a blocking form");
        if (offsets_.data()[0] != 0 || offsets_.data()[ranks_] != static_cast<int64_t>(count_))
            throw nanobind::value_error("the offsets do not fit the rows");
    }

    CallColumns view() const
    {
        return {count_,
                rank_.data(),
                enter_.data(),
                leave_.data(),
                op_.data(),
                flags_.data(),
                tid_.data(),
                comm_.data(),
                peer_.data(),
                peer_number_.data(),
                tag_.data(),
                seq_.data(),
                sent_.data(),
                received_.data(),
                request_.data(),
                ranks_,
                offsets_.data(),
                numbers_.data(),
                {traits_.data(), forms_.data(), traits_.size()}};
    }

private:
    size_t count_, ranks_;
    NamedAny<int32_t> rank_;
    Named<int64_t> enter_, leave_;
    NamedAny<int64_t> seq_, sent_, received_, request_;
    Named<int64_t> offsets_, numbers_;
    Named<uint16_t> op_, flags_;
    Named<uint32_t> tid_;
    NamedAny<int32_t> comm_, peer_, peer_number_, tag_;
    Column<uint32_t> traits_;
    Column<uint16_t> forms_;
};

// `least`: -1 where a row may be unknown.
inline bool are_rows(const Ints &rows, size_t count, int64_t least)
{
    return std::all_of(rows.data(), rows.data() + rows.size(), [count, least](int64_t row) {
        return row >= least && row < static_cast<int64_t>(count);
    });
}

inline bool are_rows(const AnyColumn &rows, size_t count, int64_t least)
{
    return std::visit([&](const auto &held) { return are_between(held, least, count); }, rows);
}

} // namespace perfscope
