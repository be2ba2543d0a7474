/// @file
/// Graphs of Matrix Market files, such as those of the SuiteSparse Matrix Collection, plain or
/// compressed with xz or gzip.
///
///     %%MatrixMarket matrix coordinate pattern symmetric      or with one %
///     % comments
///     4 4 3          rows, columns, entries
///     2 1            an entry: row and column from 1 on, and the numbers of its value
///     3 1
///     4 4
///
/// - **Vertices** are the rows, of which there are as many as columns.
/// - **Edges**: an entry in row i and column j is the edge between i and j. The graph has it in
///   both directions, whether the matrix is symmetric or not.
/// - **Values** are passed over: an entry whose value is 0 or NaN is one like all others. Each must
///   begin as a number does. There are as many in an entry as its kind in the first line says
///   (pattern, real, integer, complex), or, for a kind beyond the standard (double,
///   unsigned-integer), as many as in the first entry.
/// - **Duplicates**: of entries between the same two vertices, in either direction, one counts.
///   **Self loops**, the entries of the diagonal, are left out.
///
/// The format: Boisvert, Pozo and Remington 1996, The Matrix Market Exchange Formats: Initial
/// Design, NISTIR 5935.
#pragma once

#include <string>

#include "app/inputs/graph.h"
#include "app/inputs/input.h"

namespace heapwood::app {

/// The graph of a file, which has one edge at least.
/// @throws InputError for a file that contradicts itself, is in array format, or has no edge
/// between two vertices; scenes::SceneError for what cannot be read or decompressed.
Graph read_matrix_market(const std::string& path);

/// 64-bit FNV-1a of a graph: its number of vertices, their degrees, and the targets.
std::string digest(const Graph& graph);

/// What plans and results say of a graph that was read from there; seconds are still to be set.
GraphFile facts_of(const Graph& graph, const std::string& path);

/// Reads a file for what plans and results say of its graph. @throws what read_matrix_market()
/// does.
GraphFile read_graph(const std::string& path);

}  // namespace heapwood::app
