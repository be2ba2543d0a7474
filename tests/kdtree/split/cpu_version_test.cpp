/// @file
/// The versions of functions for CPUs with more instructions against the plain ones, bit by bit.
#include "kdtree/split/cpu_version.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "allocators/platform/warp.cuh"
#include "kdtree/split/divide_serial.h"
#include "kdtree/split/split_binned_serial.h"
#include "kdtree/split/split_exact_serial.h"
#include "tests/kdtree/split/split_cases.h"

namespace heapwood::kdtree::tests {
namespace {

constexpr unsigned kCases = 3000;

template <class T>
bool same_bits(const T& a, const T& b) {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
}

std::string name_of(const ::testing::TestParamInfo<CpuVersion>& info) {
    return info.param == CpuVersion::avx2 ? "avx2" : "avx512";
}

class CpuVersions : public ::testing::TestWithParam<CpuVersion> {
protected:
    void SetUp() override {
        if (GetParam() > fastest_cpu_version()) GTEST_SKIP() << "this CPU, or compiler, has none";
    }

    static std::vector<Reference> references_of(const SplitCases& cases, const SplitCase& node) {
        std::vector<Reference> references(node.count);
        std::transform(cases.boxes.begin() + node.first,
                       cases.boxes.begin() + node.first + node.count, references.begin(),
                       reference_of);
        for (std::uint32_t i = 0; i < node.count; ++i) references[i].primitive = i;
        return references;
    }

    /// What no scene has, but what must not make a difference: some ends are no numbers.
    void spoil_some(std::vector<Reference>& references) {
        for (Reference& r : references) {
            if (dice_.below(9) == 0) r.lo[static_cast<int>(dice_.below(3))] = std::nanf("");
            if (dice_.below(9) == 0) r.hi[static_cast<int>(dice_.below(3))] = std::nanf("");
        }
    }

    /// A triangle of which the box is the reference's, if it is flat nowhere.
    Triangle triangle_in(const Reference& r) {
        Triangle t{};
        for (int k = 0; k < 3; ++k) {
            const float ends[2] = {r.lo[k], r.hi[k]};
            t.a[k] = ends[dice_.below(2)];
            t.b[k] = ends[dice_.below(2)];
            t.c[k] = dice_.below(2) == 0 ? dice_.uniform(0.0F, 1.0F) * (ends[1] - ends[0]) + ends[0]
                                         : ends[dice_.below(2)];
        }
        return t;
    }

    static void expect_alike(const Choice& choice, const Choice& wanted, unsigned i) {
        ASSERT_EQ(std::isnan(choice.cost), std::isnan(wanted.cost)) << "case " << i;
        if (std::isnan(wanted.cost)) return;
        ASSERT_TRUE(same_bits(choice, wanted)) << "case " << i;
    }

    Dice dice_;
};

TEST_P(CpuVersions, ExactSearchesChooseAlike) {
    const SplitCases cases = random_split_cases(dice_, kCases, kExactMax);
    SerialExactSearch plain;
    SerialExactSearch fast;
    for (unsigned i = 0; i < kCases; ++i) {
        const SplitCase& node = cases.nodes[i];
        std::vector<Reference> references = references_of(cases, node);
        if (i % 4 == 0) spoil_some(references);
        plain.count(references.data(), node.count, CpuVersion::plain);
        fast.count(references.data(), node.count, GetParam());
        const platform::SerialWarp warp;
        expect_alike(fast.best(warp, node.cell, node.count, node.model, GetParam()),
                     plain.best(warp, node.cell, node.count, node.model, CpuVersion::plain), i);
        if (HasFatalFailure()) return;
    }
}

TEST_P(CpuVersions, BinsCountAndChooseAlike) {
    const SplitCases cases = random_split_cases(dice_, kCases, 200);
    for (unsigned i = 0; i < kCases; ++i) {
        const SplitCase& node = cases.nodes[i];
        std::vector<Reference> references = references_of(cases, node);
        if (i % 4 == 0) spoil_some(references);
        const BinFrame frame = BinFrame::of(node.frame, node.grid);
        Bins wanted{};
        Bins bins{};
        GrowingBox wanted_box;
        GrowingBox box;
        bin_serially(references.data(), node.count, wanted, frame, wanted_box, CpuVersion::plain);
        bin_serially(references.data(), node.count, bins, frame, box, GetParam());
        ASSERT_TRUE(same_bits(bins, wanted)) << "case " << i;
        ASSERT_TRUE(same_bits(box, wanted_box)) << "case " << i;
        expect_alike(split_binned_serially(bins, frame, node.grid, node.cell, node.tight,
                                           node.count, node.model, GetParam()),
                     split_binned_serially(bins, frame, node.grid, node.cell, node.tight,
                                           node.count, node.model, CpuVersion::plain),
                     i);
        if (HasFatalFailure()) return;
    }
}

TEST_P(CpuVersions, BlocksAreDividedAlike) {
    const SplitCases cases = random_split_cases(dice_, kCases, SerialSides::kMost);
    unsigned cut = 0;
    for (unsigned i = 0; i < kCases; ++i) {
        const SplitCase& node = cases.nodes[i];
        const std::vector<Reference> references = references_of(cases, node);
        std::vector<Triangle> triangles;
        for (const Reference& r : references) triangles.push_back(triangle_in(r));
        const unsigned axis = dice_.below(3);
        const Reference& at = references[dice_.below(references.size())];
        const float position = dice_.below(2) == 0
                                   ? component(at.lo, axis)
                                   : 0.5F * (component(at.lo, axis) + component(at.hi, axis));
        const Split split{position, axis, static_cast<Side>(dice_.below(2)), 0, 0};
        const bool clip = dice_.below(4) != 0;
        std::vector<Reference> sides[2][2];  // plain, and the version
        for (const CpuVersion version : {CpuVersion::plain, GetParam()}) {
            auto& [left, right] = sides[version == CpuVersion::plain ? 0 : 1];
            left.resize(references.size());
            right.resize(references.size());
            Reference* to[2] = {left.data(), right.data()};
            divide_block(triangles.data(), clip, references.data(), node.count, split, to, version);
            left.resize(static_cast<std::size_t>(to[0] - left.data()));
            right.resize(static_cast<std::size_t>(to[1] - right.data()));
        }
        for (unsigned side = 0; side < 2; ++side) {
            ASSERT_EQ(sides[1][side].size(), sides[0][side].size()) << "case " << i;
            for (std::size_t j = 0; j < sides[0][side].size(); ++j) {
                ASSERT_TRUE(same_bits(sides[1][side][j], sides[0][side][j])) << "case " << i;
            }
        }
        cut += sides[0][0].size() + sides[0][1].size() > references.size();
    }
    EXPECT_GT(cut, kCases / 4);
}

INSTANTIATE_TEST_SUITE_P(Faster, CpuVersions,
                         ::testing::Values(CpuVersion::avx2, CpuVersion::avx512), name_of);

}  // namespace
}  // namespace heapwood::kdtree::tests
