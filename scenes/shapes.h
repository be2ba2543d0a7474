/// @file
/// The shapes behind the generators. Each adds triangles until the mesh is full, and passes over
/// objects that end before its piece.
///
/// Random numbers are drawn, and vertices added, at most once in an expression: compilers differ in
/// the order in which they evaluate operands and arguments (but not what is in braces).
#pragma once

#include <cstdint>

#include "scenes/mesh.h"

namespace heapwood::scenes {

/// How many triangles a shape is made for, and the seed of everything random in it.
struct ShapeSize {
    std::uint64_t triangles = 1;
    std::uint64_t seed = 1;
};

/// A bumpy sphere of radius about 1: a cube's six faces as grids, pushed outwards. Like a scan of
/// a rounded object: triangles of like size, no two parallel.
void make_sphere(Mesh& mesh, ShapeSize size);

/// A height field of 100 x 100 units.
void make_terrain(Mesh& mesh, ShapeSize size);

/// Boxes along the axes on a ground of two triangles: nothing but axis-aligned triangles, most of
/// the space empty.
void make_city(Mesh& mesh, ShapeSize size);

/// Unconnected random triangles in a unit cube, of a size that keeps their density.
void make_soup(Mesh& mesh, ShapeSize size);

/// Long thin bent ribbons on a ball: small triangles with large overlapping boxes per strand.
void make_hair(Mesh& mesh, ShapeSize size);

/// The "teapot in a stadium": seven eighths of the triangles in a bumpy sphere of radius 1, the
/// rest in stands of 2000 x 2000 units around it.
void make_stadium(Mesh& mesh, ShapeSize size);

/// Unconnected needles 100 to 100 000 times as long as wide, in all directions.
void make_slivers(Mesh& mesh, ShapeSize size);

/// A grid with moved vertices in the plane y = 0: a scene of no height.
void make_plane(Mesh& mesh, ShapeSize size);

/// One triangle over and over: no split can separate any two.
void make_coincident(Mesh& mesh, ShapeSize size);

}  // namespace heapwood::scenes
