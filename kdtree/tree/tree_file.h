/// @file
/// Trees as files, `.kdt`: a tree with its triangles and its configuration, so that rays can be
/// traced without the scene's own file. kdtree/README.md has a table of the bytes.
#pragma once

#include <stdexcept>
#include <string>

#include "allocators/memory/buffer.h"
#include "kdtree/config.h"
#include "kdtree/tree/tree.h"
#include "scenes/scene.h"

namespace heapwood::kdtree {

/// Thrown for a file that is no sound tree file, or cannot be read or written. what() names the
/// file, the byte where there is one, and the remedy.
class TreeFileError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown for a tree file that cannot be written.
class TreeWriteError : public TreeFileError {
public:
    using TreeFileError::TreeFileError;
};

/// What a tree file holds.
struct StoredTree {
    Tree tree;            ///< canonical
    scenes::Scene scene;  ///< its path is that of the tree file
    BuildConfig config;   ///< the fields that the tree depends on; the others are the defaults
};

/// Whether it is a regular file that begins as a tree file does, whatever its name.
bool is_tree_file(const std::string& path);

/// The bytes of a tree file, on the host. They depend on nothing but the arguments: equal trees of
/// one scene give equal files, whatever built them.
/// @param tree canonical, and a tree of this scene.
allocators::Buffer tree_file(const Tree& tree, const scenes::Scene& scene,
                             const BuildConfig& config);

/// Writes tree_file() to `path` by TreeWriter, so that there is a whole file or the former one at
/// any time. @throws TreeWriteError.
void save_tree(const std::string& path, const Tree& tree, const scenes::Scene& scene,
               const BuildConfig& config);

/// Reads a tree file that may come from anywhere. Memory is taken for what the file's real size has
/// room for, and after the checksum is found right. A tree that is returned has passed
/// verify_structure against its scene and configuration, so that no walk leaves its arrays; that no
/// triangle is missing from a leaf is left to verify().
/// @throws TreeFileError; std::bad_alloc if there is too little memory for a sound file.
StoredTree load_tree(const std::string& path);

}  // namespace heapwood::kdtree
