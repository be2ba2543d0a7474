#include "app/measure/rays/ray_batch_run.h"

#include <bit>
#include <limits>

#include "kdtree/distance/distance_batch.h"

namespace heapwood::app {
namespace {

using allocators::Buffer;
using kdtree::Hit;
using kdtree::Ray;

template <class T>
std::vector<T> contents(const Buffer& buffer) {
    std::vector<T> values(buffer.size() / sizeof(T));
    buffer.read(0, values.data(), buffer.size());
    return values;
}

/// A hit's bits, but for the sign of a zero; one word for no hit, whose other bits mean nothing.
void add(std::vector<std::uint32_t>& words, const Hit& hit) {
    words.push_back(hit.triangle);
    if (!hit.found()) return;
    for (const float value : {hit.t, hit.u, hit.v}) {
        words.push_back(std::bit_cast<std::uint32_t>(value + 0.0F));
    }
}

}  // namespace

RayBatchRun::RayBatchRun(const kdtree::RayTree& tree, std::span<const Ray> rays, Asked asked,
                         const kdtree::BatchOptions& options)
    : tree_(tree),
      count_(rays.size()),
      asked_(asked),
      options_(options),
      rays_(tree.place(), rays.size_bytes()) {
    rays_.write(0, rays.data(), rays_.size());
    if (asked == Asked::all) {
        lists_ = all_hits(tree, rays_.as<Ray>(), count_, options);
    } else {
        const std::uint64_t each = asked == Asked::any ? sizeof(std::uint32_t) : sizeof(Hit);
        answers_ = Buffer(tree.place(), count_ * each);
    }
}

kdtree::NearestArrays RayBatchRun::nearest() const {
    auto* const words = answers_.as<std::uint32_t>();
    auto* const numbers = answers_.as<float>();
    return {
        .distances = numbers, .triangles = words + count_, .barycentrics = numbers + 2 * count_};
}

void RayBatchRun::trace() const {
    const Ray* rays = rays_.as<Ray>();
    if (asked_ == Asked::all) {
        list_hits(tree_, rays, count_, lists_.offsets.as<std::uint64_t>(), lists_.hits.as<Hit>(),
                  options_);
    } else if (asked_ == Asked::any) {
        any_hits(tree_, rays, count_, answers_.as<std::uint32_t>(), options_);
    } else if (asked_ == Asked::nearest) {
        const kdtree::VectorArray points{&rays->origin.x, sizeof(Ray) / sizeof(float)};
        const kdtree::NumberArray most{.value = std::numeric_limits<float>::infinity()};
        closest_points(tree_, points, count_, most, nearest(), options_);
    } else {
        closest_hits(tree_, rays, count_, answers_.as<Hit>(), options_);
    }
}

RayBatchRun::Found RayBatchRun::found() const {
    Found all;
    if (asked_ == Asked::any) {
        all.words = contents<std::uint32_t>(answers_);
        for (const std::uint32_t one : all.words) all.hits += one;
        return all;
    }
    if (asked_ == Asked::closest) {
        for (const Hit& hit : contents<Hit>(answers_)) {
            all.hits += hit.found() ? 1 : 0;
            add(all.words, hit);
        }
        return all;
    }
    if (asked_ == Asked::nearest) {
        const auto words = contents<std::uint32_t>(answers_);
        const auto number = [&](std::uint64_t at) { return std::bit_cast<float>(words[at]); };
        for (std::uint64_t i = 0; i < count_; ++i) {
            const std::uint64_t uv = 2 * (count_ + i);
            const Hit as_hit{number(i), words[count_ + i], number(uv), number(uv + 1)};
            all.hits += as_hit.found() ? 1 : 0;
            add(all.words, as_hit);
        }
        return all;
    }
    all.hits = lists_.total;
    const auto hits = contents<Hit>(lists_.hits);
    const auto offsets = contents<std::uint64_t>(lists_.offsets);
    for (std::uint64_t i = 0; i < count_; ++i) {
        all.words.push_back(static_cast<std::uint32_t>(offsets[i + 1] - offsets[i]));
        for (std::uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) add(all.words, hits[k]);
    }
    return all;
}

}  // namespace heapwood::app
