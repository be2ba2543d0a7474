#include "scenes/shapes.h"

namespace heapwood::scenes {
namespace {

/// Number i of n + 1 equally spaced numbers from -1 to 1; exactly -1 and 1 at the ends.
double along(std::uint64_t i, std::uint64_t n) {
    return 2 * static_cast<double>(i) / static_cast<double>(n) - 1;
}

/// The cube root by Newton's method, for x >= 1.
double cube_root(double x) {
    double root = x;
    // From 2^30 the error shrinks by a third a step until, after 40 steps, it squares itself away.
    for (int i = 0; i != 60; ++i) root -= (root * root * root - x) / (3 * root * root);
    return root;
}

/// Columns (and rows) of a square grid with at least that many triangles.
std::uint64_t grid_columns(std::uint64_t triangles) {
    return root_up((triangles + 1) / 2);
}

/// Adds up to `triangles` triangles of a bumpy sphere.
void add_sphere(Mesh& mesh, ShapeSize size, Point center, double radius) {
    constexpr double kBumps = 3, kBumpHeight = 0.15;
    const std::uint64_t n = root_up((size.triangles + 11) / 12);
    const Noise noise(size.seed);
    std::uint64_t left = size.triangles;
    for (int face = 0; face != 6 && left != 0; ++face) {
        const std::uint64_t count = std::min(left, 2 * n * n);
        mesh.grid(n, n, count, [&](std::uint64_t i, std::uint64_t j) {
            const double u = along(face < 3 ? i : j, n), v = along(face < 3 ? j : i, n);
            const double w = face < 3 ? 1 : -1;
            const Point on_cube = face % 3 == 0   ? Point{w, u, v}
                                  : face % 3 == 1 ? Point{v, w, u}
                                                  : Point{u, v, w};
            const Point outwards = normalized(on_cube);
            const double height = 1 + kBumpHeight * noise.octaves(kBumps * outwards, 4);
            return center + radius * height * outwards;
        });
        left -= count;
    }
}

/// Adds the box between two corners: top, sides, bottom.
void add_box(Mesh& mesh, Point lo, Point hi) {
    std::uint32_t corner[8];
    for (int i = 0; i != 8; ++i) {
        corner[i] = mesh.vertex(
            {(i & 1) != 0 ? hi.x : lo.x, (i & 2) != 0 ? hi.y : lo.y, (i & 4) != 0 ? hi.z : lo.z});
    }
    constexpr int kFaces[6][4] = {{2, 6, 7, 3}, {0, 2, 3, 1}, {1, 3, 7, 5},
                                  {5, 7, 6, 4}, {4, 6, 2, 0}, {0, 1, 5, 4}};
    for (const auto& f : kFaces) {
        mesh.quad(corner[f[0]], corner[f[1]], corner[f[2]], corner[f[3]]);
    }
}

}  // namespace

void make_sphere(Mesh& mesh, ShapeSize size) {
    add_sphere(mesh, size, {}, 1);
}

void make_terrain(Mesh& mesh, ShapeSize size) {
    constexpr double kHalfWidth = 50, kHeight = 12, kHills = 3;
    const std::uint64_t n = grid_columns(size.triangles);
    const Noise noise(size.seed);
    mesh.grid(n, n, size.triangles, [&](std::uint64_t i, std::uint64_t j) {
        const double x = along(i, n), z = along(j, n);
        const double y = kHeight * noise.octaves({kHills * x, 0, kHills * z}, 6);
        return Point{kHalfWidth * x, y, kHalfWidth * z};
    });
}

void make_city(Mesh& mesh, ShapeSize size) {
    constexpr double kLot = 20;
    const std::uint64_t boxes = (size.triangles + 9) / 12;
    const std::uint64_t n = root_up(boxes);
    const double half = 0.5 * kLot * static_cast<double>(n);
    if (mesh.pass_over(1, 4, 2) == 0) {
        const auto a = mesh.vertex({-half, 0, -half}), b = mesh.vertex({-half, 0, half});
        const auto c = mesh.vertex({half, 0, half}), d = mesh.vertex({half, 0, -half});
        mesh.quad(a, b, c, d);
    }
    for (std::uint64_t box = mesh.pass_over(boxes, 8, 12); !mesh.full(); ++box) {
        Random random(size.seed, box);
        const std::uint64_t row = box / n;
        const double x = kLot * static_cast<double>(box % n) - half;
        const double z = kLot * static_cast<double>(row) - half;
        const double x0 = x + random.range(1, 6), x1 = x + kLot - random.range(1, 6);
        const double z0 = z + random.range(1, 6), z1 = z + kLot - random.range(1, 6);
        const double u = random.unit();
        const double height = 4 + 20 * u + 120 * u * u * u * u * u * u * u * u;
        add_box(mesh, {x0, 0, z0}, {x1, height, z1});
    }
}

void make_soup(Mesh& mesh, ShapeSize size) {
    const double edge = 1 / cube_root(static_cast<double>(size.triangles));
    for (std::uint64_t i = mesh.pass_over(size.triangles, 3, 1); !mesh.full(); ++i) {
        Random random(size.seed, i);
        const Point center = random.in_cube(0, 1);
        const double reach = edge * random.range(0.25, 1.5);
        const auto a = mesh.vertex(center + reach * random.in_cube(-1, 1));
        const auto b = mesh.vertex(center + reach * random.in_cube(-1, 1));
        const auto c = mesh.vertex(center + reach * random.in_cube(-1, 1));
        mesh.triangle(a, b, c);
    }
}

void make_hair(Mesh& mesh, ShapeSize size) {
    constexpr int kSegments = 12;
    constexpr double kStep = 0.06, kWidth = 0.002, kCurl = 0.3, kGravity = 0.12;
    const Noise waves(size.seed);
    const std::uint64_t before = mesh.pass_over(size.triangles, 2 * (kSegments + 1), 2 * kSegments);
    for (std::uint64_t strand = before; !mesh.full(); ++strand) {
        Random random(size.seed, strand);
        Point at = random.direction();
        Point heading = normalized(at + 0.5 * random.direction());
        const Point across = random.direction();
        std::uint32_t left = 0, right = 0;
        for (int i = 0; i <= kSegments && !mesh.full(); ++i) {
            const double taper = 1 - static_cast<double>(i) / (kSegments + 1);
            const Point side = 0.5 * kWidth * taper * across;
            const auto next_left = mesh.vertex(at - side), next_right = mesh.vertex(at + side);
            if (i != 0) mesh.quad(left, right, next_right, next_left);
            left = next_left;
            right = next_right;
            const Point bend{waves(4.0 * at), waves(4.0 * at + Point{100, 0, 0}) - kGravity / kCurl,
                             waves(4.0 * at + Point{0, 100, 0})};
            heading = normalized(heading + kCurl * bend);
            at = at + kStep * heading;
        }
    }
}

void make_stadium(Mesh& mesh, ShapeSize size) {
    constexpr double kHalfWidth = 1000, kField = 400, kTier = 60, kTierHeight = 30;
    const std::uint64_t stands = size.triangles / 8;
    if (stands != 0) {
        const std::uint64_t n = grid_columns(stands);
        mesh.grid(n, n, stands, [&](std::uint64_t i, std::uint64_t j) {
            const double x = kHalfWidth * along(i, n), z = kHalfWidth * along(j, n);
            const double outwards = std::max(std::max(x, -x), std::max(z, -z)) - kField;
            const auto tier = outwards > 0 ? static_cast<int>(outwards / kTier) + 1 : 0;
            return Point{x, kTierHeight * tier, z};
        });
    }
    add_sphere(mesh, {size.triangles - stands, size.seed}, {37, 1.5, -52}, 1);
}

void make_slivers(Mesh& mesh, ShapeSize size) {
    constexpr double kWidths[] = {1e-2, 1e-3, 1e-4, 1e-5};
    for (std::uint64_t i = mesh.pass_over(size.triangles, 3, 1); !mesh.full(); ++i) {
        Random random(size.seed, i);
        const Point from = random.in_cube(-1, 1);
        const double length = random.range(0.2, 1.5);
        const Point to = from + length * random.direction();
        const double widest = kWidths[random.next() % 4];
        const double width = widest * random.range(0.5, 1);
        const double along_edge = random.unit();
        const Point tip = from + along_edge * (to - from) + width * random.direction();
        const auto a = mesh.vertex(from), b = mesh.vertex(to), c = mesh.vertex(tip);
        mesh.triangle(a, b, c);
    }
}

void make_plane(Mesh& mesh, ShapeSize size) {
    constexpr double kHalfWidth = 10;
    const std::uint64_t n = grid_columns(size.triangles);
    const double cell = 2 * kHalfWidth / static_cast<double>(n);
    mesh.grid(n, n, size.triangles, [&](std::uint64_t i, std::uint64_t j) {
        Random random(size.seed, i + (n + 1) * j);
        const double x = kHalfWidth * along(i, n) + cell * random.range(-0.4, 0.4);
        const double z = kHalfWidth * along(j, n) + cell * random.range(-0.4, 0.4);
        return Point{x, 0, z};
    });
}

void make_coincident(Mesh& mesh, ShapeSize size) {
    Random random(size.seed);
    const Point from = random.in_cube(-1, 1);
    const auto a = mesh.vertex(from);
    // Edges along two axes at least in part: never parallel, whatever the seed.
    const auto b = mesh.vertex(from + Point{random.range(1, 2), 0, random.range(-1, 1)});
    const auto c = mesh.vertex(from + Point{0, random.range(1, 2), random.range(-1, 1)});
    mesh.pass_over(size.triangles, 0, 1);
    while (!mesh.full()) mesh.triangle(a, b, c);
}

}  // namespace heapwood::scenes
