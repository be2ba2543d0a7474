/// @file
/// Scenes made by rule, of any number of triangles: `gen:NAME:TRIANGLES[:SEED]`.
///
/// A scene depends on name, number and seed alone, to the last bit, on every machine: see
/// random.h. Every scene has exactly the number of triangles asked for. Where a whole shape would
/// have a few more, its last ones are left out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "scenes/limits.h"
#include "scenes/piece.h"

namespace heapwood::scenes {

/// What the name of a generated scene begins with.
inline constexpr std::string_view kGeneratorPrefix = "gen:";

/// A generator as `list` shows it.
struct GeneratorInfo {
    std::string_view name;
    std::string_view description;  ///< one line
};

/// All generators, in the order of the documentation.
std::span<const GeneratorInfo> generators();

/// What to generate.
struct GeneratorRequest {
    std::string generator;        ///< one of generators()
    std::uint64_t triangles = 1;  ///< 1 to kMaxTriangles
    std::uint64_t seed = 1;
};

/// Reads `gen:NAME:TRIANGLES[:SEED]`: a name of generators(), a number from 1 to kMaxTriangles and
/// an unsigned 64-bit number (1 when left out), both in decimal digits.
/// @throws SceneError that says what is allowed.
GeneratorRequest parse_generator(const std::string& name);

/// Whether load() would generate the scene of that name.
inline bool is_generator(std::string_view name) {
    return name.starts_with(kGeneratorPrefix);
}

/// Makes the scene; its path is the `gen:` name.
/// @throws SceneError for a request that parse_generator would not return.
Scene generate(const GeneratorRequest& request);

/// Makes triangles `first` to `last` of it alone, in time that follows their number.
Piece generate(const GeneratorRequest& request, std::uint64_t first, std::uint64_t last);

}  // namespace heapwood::scenes
