#include "tests/kdtree/random_rules.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <vector>

#include "scenes/generators.h"
#include "tests/kdtree/small_scenes.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr float kLargest = 3.4e38F;

float log_uniform(Dice& dice, float lo, float hi) {
    return std::clamp(std::exp(dice.uniform(std::log(lo), std::log(hi))), lo, hi);
}

/// A cost or a ratio above 0, of any magnitude.
float positive(Dice& dice) {
    switch (dice.below(8)) {
        case 0:
            return 1;
        case 1:
            return log_uniform(dice, 1e-37F, 1e-6F);
        case 2:
            return log_uniform(dice, 1e6F, kLargest);
        case 3:
            return log_uniform(dice, 1e-6F, 1e6F);
        default:
            return dice.uniform(0.1F, 4);
    }
}

float not_negative(Dice& dice) {
    return dice.below(4) == 0 ? 0 : positive(dice);
}

/// A bonus, small ones as likely as ordinary ones.
float bonus(Dice& dice) {
    switch (dice.below(4)) {
        case 0:
            return 1;
        case 1:
            return log_uniform(dice, 1e-37F, 1e-3F);
        default:
            return dice.uniform(1e-3F, 1);
    }
}

/// A whole number up to `most`, small ones as likely as large ones.
std::uint32_t whole(Dice& dice, std::uint32_t least, std::uint32_t most) {
    if (dice.below(16) == 0) return most;
    const auto bits = dice.below(static_cast<std::size_t>(std::bit_width(most)) + 1);
    const auto number = static_cast<std::uint32_t>(dice() & ((std::uint64_t{1} << bits) - 1));
    return std::clamp(number, least, most);
}

void draw_depth(Dice& dice, BuildConfig& config) {
    const bool unlimited = config.max_duplication == 0 || config.max_duplication > 100;
    if (unlimited || dice.below(3) == 0) {
        config.depth_base = dice.uniform(-4, 9);
        config.depth_factor = unlimited ? 0 : dice.uniform(-1, 3);
    } else if (dice.below(3) == 0) {
        config.depth_base = dice.below(8) == 0 ? kLargest : dice.uniform(0, kMaxDepth);
        config.depth_factor = dice.below(8) == 0 ? kLargest : dice.uniform(0, kMaxDepth);
    }
}

}  // namespace

BuildConfig random_config(Dice& dice) {
    std::vector<BuildConfig> starts;
    for (const auto& [name, preset] : presets()) starts.push_back(preset);
    BuildConfig c = starts[dice.below(starts.size())];
    const auto sometimes = [&](auto& field, auto draw) {
        if (dice.below(2) == 0) field = draw();
    };
    sometimes(c.traversal_cost, [&] { return not_negative(dice); });
    sometimes(c.intersection_cost, [&] { return positive(dice); });
    sometimes(c.empty_bonus, [&] { return bonus(dice); });
    sometimes(c.empty_rule, [&] {
        return std::vector{EmptyRule::pays, EmptyRule::whole, EmptyRule::tests}[dice.below(3)];
    });
    sometimes(c.leaf_limit, [&] { return whole(dice, 0, ~0U); });
    sometimes(c.leaf_area, [&] { return not_negative(dice); });
    sometimes(c.bad_split_ratio, [&] { return positive(dice); });
    sometimes(c.bad_splits, [&] { return not_negative(dice); });
    sometimes(c.bad_splits_per_level, [&] { return not_negative(dice); });
    sometimes(c.hopeless_ratio, [&] { return not_negative(dice); });
    sometimes(c.exact_limit, [&] { return dice.below(65); });
    sometimes(c.planes, [&] { return 3 + dice.below(91); });
    sometimes(c.tight_cuts, [&] { return dice.below(2) == 0; });
    sometimes(c.snap_limit, [&] { return whole(dice, 0, 65535); });
    sometimes(c.large_limit, [&] {
        return dice.below(4) == 0 ? 0 : whole(dice, std::max(c.exact_limit, 1U), ~0U);
    });
    if (c.large_limit != 0) c.large_limit = std::max(c.large_limit, c.exact_limit);
    sometimes(c.chunk, [&] { return dice.below(4) == 0 ? 0 : whole(dice, 32, ~0U); });
    sometimes(c.clip, [&] { return dice.below(2) == 0; });
    sometimes(c.max_duplication, [&] { return whole(dice, 0, ~0U); });
    sometimes(c.small_arrays, [&] { return dice.below(2) == 0; });
    draw_depth(dice, c);
    validate(c);
    return c;
}

scenes::Scene any_scene(Dice& dice, unsigned most) {
    const unsigned count = dice.below(2) == 0 ? whole(dice, 1, most) : 1 + dice.below(most);
    const auto generators = scenes::generators();
    const auto& kinds = scene_kinds();
    const std::size_t which = dice.below(generators.size() + kinds.size() + 1);
    if (which < generators.size()) {
        return scenes::generate({std::string(generators[which].name), count, dice()});
    }
    if (which == generators.size()) return fan(std::min(count, 150U));
    return random_scene(kinds[which - generators.size() - 1], count, dice());
}

std::string to_text(const BuildConfig& c) {
    std::ostringstream text;
    text.precision(9);
    text << "--traversal-cost " << c.traversal_cost << " --intersection-cost "
         << c.intersection_cost << " --empty-bonus " << c.empty_bonus << " --empty-rule "
         << name(c.empty_rule) << " --leaf-limit " << c.leaf_limit << " --leaf-area " << c.leaf_area
         << " --depth-base " << c.depth_base << " --depth-factor " << c.depth_factor
         << " --bad-split-ratio " << c.bad_split_ratio << " --bad-splits " << c.bad_splits
         << " --bad-splits-per-level " << c.bad_splits_per_level << " --hopeless-ratio "
         << c.hopeless_ratio << " --exact-limit " << c.exact_limit << " --planes " << c.planes
         << " --snap-limit " << c.snap_limit << " --large-limit " << c.large_limit << " --chunk "
         << c.chunk << " --max-duplication " << c.max_duplication
         << (c.tight_cuts ? " --tight-cuts" : " --no-tight-cuts")
         << (c.clip ? " --clip" : " --no-clip") << " --arrays "
         << (c.small_arrays ? "every" : "large");
    return text.str();
}

}  // namespace heapwood::kdtree::tests
