/// @file
/// How the program ends: the codes that scripts may rely on, and the errors that lead to them.
#pragma once

#include <stdexcept>

namespace heapwood::app {

/// The exit codes.
enum class ExitCode : int {
    done = 0,
    internal = 1,   ///< a bug, a CUDA error, results that could not be written
    usage = 2,      ///< an option or its value is wrong
    bad_input = 3,  ///< a file that cannot be read or made (SceneError, InputError, TreeFileError)
    out_of_memory = 4,  ///< the pool, another array of the builder or the machine's memory ran out
    verification_failed = 5,  ///< the tree is wrong, or trees that must be equal are not
    no_device = 77,           ///< the device asked for is not there
    interrupted = 130,        ///< by Ctrl-C, and its like: 128 + the number of the signal
};

/// The command line asks for something that does not exist; what() says what does.
class UsageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The device that was asked for is not there; what() says why.
class NoDevice : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace heapwood::app
