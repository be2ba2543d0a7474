/// @file
/// Wavefront OBJ files.
#pragma once

#include <string>

#include "scenes/scene.h"

namespace heapwood::scenes {

/// Reads the vertices and faces of a Wavefront OBJ, plain or compressed with xz or gzip, and
/// finishes the scene.
///
/// Accepted: polygons (as a fan of triangles from fan_corner()), indices counted from the front or
/// the back, also of vertices that follow later, texture and normal indices (not looked up), vertex
/// weights and colours, groups, `fo` for `f`, lines continued with `\`, LF, CRLF and CR. Material
/// libraries are never opened. Vertices that no face uses are kept.
///
/// @throws SceneError, with the line, for a coordinate that is not a number or not finite in
/// single precision, a wrong number of coordinates, an index that is 0, not a number or out of
/// range, a face of fewer than three vertices; and without one for a file that cannot be read or
/// holds no triangle, or more than kMaxTriangles.
Scene load_obj(const std::string& path);

}  // namespace heapwood::scenes
