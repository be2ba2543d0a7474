/// @file
/// The parameters of a tree as Python has them: a preset, and fields by their names in config.h.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "kdtree/config.h"

namespace heapwood::python {

/// The preset with these fields in place of its own.
/// @throws std::invalid_argument for an unknown preset, a value of the wrong kind or out of range;
/// nanobind::type_error for an unknown field.
kdtree::BuildConfig read_parameters(const std::string& preset, const nanobind::dict& fields);

}  // namespace heapwood::python
