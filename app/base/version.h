/// @file
/// What this program was made from and with.
#pragma once

#include <string>

namespace heapwood::app {

/// Facts about the build of this program; written by CMake at every build.
struct Version {
    const char* version;        ///< of the project
    const char* git;            ///< short commit, "-dirty" if files differed, or "unknown"
    const char* build_type;     ///< Release, Debug, ...
    const char* compiler;       ///< "GNU 12.2.0"
    const char* cuda;           ///< version of the CUDA compiler, "" without one
    const char* architectures;  ///< CUDA architectures, "" without
};

/// Of this program.
const Version& version();

/// In one line, for --version.
std::string version_line();

}  // namespace heapwood::app
