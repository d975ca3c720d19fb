// FormatError and ReadError as Python exceptions.
#include "bindings.h"
#include "error.h"

#include <cstring>
#include <string>

namespace nb = nanobind;

namespace perfscope {

static PyObject *format_error; // args: (path, offset, reason)

static void translate(const std::exception_ptr &thrown, void *)
{
    try {
        std::rethrow_exception(thrown);
    } catch (const FormatError &error) {
        PyErr_SetObject(format_error, nb::make_tuple(nb::steal(PyUnicode_DecodeFSDefault(error.path().c_str())),
                                                     error.offset(), error.what())
                                          .ptr());
    } catch (const ReadError &error) {
        const std::string reason = error.reason().empty() ? std::strerror(error.code()) : error.reason();
        PyErr_SetObject(PyExc_OSError, nb::make_tuple(error.code(), reason.c_str(),
                                                      nb::steal(PyUnicode_DecodeFSDefault(error.path().c_str())))
                                           .ptr());
    }
}

void bind_errors(nb::module_ &module)
{
    format_error = PyErr_NewExceptionWithDoc(
        "perfscope._core.FormatError",
        "A file is damaged or of another format: path, byte offset, reason, in `args`.", PyExc_ValueError, nullptr);
    module.attr("FormatError") = nb::borrow(format_error);
    nb::register_exception_translator(translate, nullptr);
}

} // namespace perfscope
