/// @file
/// Rules drawn at random from the whole range of every field, and scenes of every kind, for tests
/// that compare one way of building with another.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "kdtree/config.h"
#include "scenes/scene.h"
#include "tests/kdtree/dice.h"
#include "tests/kdtree/slow.h"
#include "tests/thorough.h"

namespace heapwood::kdtree::tests {

/// A configuration that validate() accepts. Every field may have any value that it may have at all,
/// except that the capacities are unlimited, and that trees stay small enough for a test: without a
/// limit of references they are not deep.
BuildConfig random_config(Dice& dice);

/// A scene of at most `most` triangles: of a generator, of random_scene(), or fan().
scenes::Scene any_scene(Dice& dice, unsigned most);

/// The fields that the tree depends on, for messages.
std::string to_text(const BuildConfig& config);

/// Calls check(dice, scene, config) for `draws` scenes of at most `triangles` triangles and
/// configurations, for 40 times as many if HEAPWOOD_TEST_ALL is set. A message names the seed that
/// makes a draw the first one.
template <class Check>
void for_random_rules(unsigned draws, unsigned triangles, const Check& check) {
    const std::uint64_t seed = heapwood::tests::test_seed();
    if (kSlow) draws = draws / 8 + 1;
    if (heapwood::tests::thorough()) draws *= 40;
    for (unsigned i = 0; i < draws; ++i) {
        Dice dice(seed + i);
        const BuildConfig config = random_config(dice);
        const scenes::Scene scene = any_scene(dice, triangles);
        SCOPED_TRACE("HEAPWOOD_TEST_SEED=" + std::to_string(seed + i) + " (draw " +
                     std::to_string(i) + "): " + scene.path + ", " +
                     std::to_string(scene.triangles.size()) + " triangles, " + to_text(config));
        check(dice, scene, config);
        if (::testing::Test::HasFatalFailure()) return;
    }
}

}  // namespace heapwood::kdtree::tests
