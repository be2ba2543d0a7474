/// @file
/// Errors of the library and the program as exceptions of Python: those of heapwood/errors.py.
#include <new>

#include "allocators/memory/buffer.h"
#include "app/base/exit_code.h"
#include "app/python/objects.h"
#include "kdtree/tree/tree_file.h"

namespace nb = nanobind;

namespace heapwood::python {
namespace {

void raise(const char* name, const std::exception& error) {
    PyErr_SetString(nb::module_::import_("heapwood.errors").attr(name).ptr(), error.what());
}

void translate(const std::exception_ptr& thrown, void*) {
    try {
        std::rethrow_exception(thrown);
    } catch (const scenes::SceneTooLarge& error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    } catch (const scenes::SceneError& error) {
        raise("SceneError", error);
    } catch (const kdtree::TreeFileError& error) {
        raise("TreeFileError", error);
    } catch (const OutOfPool& error) {
        raise("OutOfPool", error);
    } catch (const VerificationError& error) {
        raise("VerificationError", error);
    } catch (const app::NoDevice& error) {
        raise("NoDevice", error);
    } catch (const app::UsageError& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const allocators::BufferError& error) {
        PyErr_SetString(PyExc_MemoryError, error.what());
    }
}

}  // namespace

void add_errors(nb::module_&) {
    nb::register_exception_translator(translate);
}

}  // namespace heapwood::python
