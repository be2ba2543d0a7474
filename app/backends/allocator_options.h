/// @file
/// The options of all allocators in this program, for the command line and for JSON; and which
/// allocators it lacks.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "allocators/allocator.cuh"
#include "app/backends/backend.h"

namespace heapwood::app {

/// The options of all allocators in this program, in the order of the backends, each key once.
std::vector<allocators::Option> offered_options();

/// The default of every option that is offered.
allocators::Choices default_choices();

/// Replaces the value of a key, or adds the key.
void choose(allocators::Choices& choices, const std::string& key, const std::string& value);

/// An object with the choices by their keys. A value that is written in digits is a number.
nlohmann::ordered_json choices_json(const allocators::Choices& choices);

/// The schema of choices_json's answer.
nlohmann::ordered_json forms_schema();

/// Warns of options that were given, and that none of the chosen backends has.
/// @param givers the options' flags, or "--page (HEAPWOOD_PAGE)" if a variable gave the value
void warn_of_idle_options(const std::vector<const Backend*>& chosen,
                          const std::vector<std::string>& givers);

/// The allocators of this tree that HEAPWOOD_ALLOCATORS has left out of this program. Generated.
const std::vector<std::string>& left_out_allocators();

/// Whether pip compiled this program, as a part of the Python package. Generated.
bool built_by_pip();

}  // namespace heapwood::app
