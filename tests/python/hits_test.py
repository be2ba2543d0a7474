"""First hits as an object: points, normals, what vertices have there, and arrays that results go to."""

import pickle

import numpy as np
import pytest

import heapwood
from conftest import TRIANGLE


def meshes(rng, count=300):
    """Triangles of every size and slant, at random."""
    corners = rng.uniform(-1, 1, (count, 1, 3)) + rng.normal(size=(count, 3, 3)) * rng.uniform(0.01, 1, (count, 1, 1))
    return corners.reshape(-1, 3).astype(np.float32), np.arange(3 * count).reshape(-1, 3)


@pytest.fixture
def soup(rng):
    return heapwood.build(*meshes(rng))


@pytest.fixture
def many(rng):
    origins = rng.normal(size=(20, 50, 3)).astype(np.float32) * 2
    return origins, rng.normal(size=(20, 50, 3)).astype(np.float32) - origins


def test_hits_are_those_of_closest_hit(soup, many):
    hits = soup.hits(*many)
    for mine, same in zip((hits.t, hits.primitive, hits.barycentrics), soup.closest_hit(*many)):
        np.testing.assert_array_equal(mine, same)
        assert mine.dtype == same.dtype
    assert hits.shape == (20, 50) and hits.mask.dtype == bool
    np.testing.assert_array_equal(hits.mask, np.isfinite(hits.t))
    assert 50 < hits.mask.sum() < 950
    assert repr(hits) == f"Hits(1,000 rays, {hits.mask.sum()} of them hit)"


def test_points_are_on_the_rays(soup, many):
    hits = soup.hits(*many)
    origins, directions = np.float64(many[0]), np.float64(many[1])
    assert hits.points.shape == (20, 50, 3) and hits.points.dtype == np.float32
    expected = origins + np.float64(hits.t)[..., None] * directions
    np.testing.assert_allclose(hits.points[hits.mask], expected[hits.mask], atol=1e-4)
    assert np.isnan(hits.points[~hits.mask]).all()


def test_normals_stand_on_their_triangles(soup, many):
    hits = soup.hits(*many)
    assert hits.normals.shape == (20, 50, 3) and hits.normals.dtype == np.float32
    assert np.isnan(hits.normals[~hits.mask]).all()
    found = hits.mask
    corners = soup.vertices[soup.triangles[hits.primitive[found]]].astype(np.float64)
    normals = np.float64(hits.normals[found])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    for one, other in ((0, 1), (1, 2), (2, 0)):
        edges = corners[:, other] - corners[:, one]
        edges /= np.linalg.norm(edges, axis=1)[:, None]
        np.testing.assert_allclose(np.einsum("ij,ij->i", normals, edges), 0, atol=1e-6)
    # Counterclockwise from where the normal points to: the determinant of both edges and it.
    turns = np.linalg.det(np.stack((corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], normals), 1))
    assert (turns > 0).all()


def test_misses_have_nothing_of_the_last_triangle(rng):
    vertices, triangles = meshes(rng, 5)
    tree = heapwood.build(vertices, triangles)
    hits = tree.hits(np.full((4, 3), 99.0), [1, 0, 0])
    assert not hits.mask.any() and (hits.primitive == -1).all() and np.isinf(hits.t).all()
    assert np.isnan(hits.points).all() and np.isnan(hits.normals).all()
    colours = rng.uniform(size=(len(vertices), 4))
    assert np.isnan(heapwood.interpolate(hits, colours)).all()
    assert (heapwood.interpolate(hits, colours, fill=0.5) == 0.5).all()


def test_linear_functions_are_interpolated_exactly(soup, many, rng):
    # What is linear in space is the same, interpolated between corners or computed at the point.
    hits = soup.hits(*many)
    slopes, offset = rng.normal(size=(3, 2, 4)), rng.normal(size=(2, 4))
    values = np.einsum("vi,ijk->vjk", np.float64(soup.vertices), slopes) + offset
    found = heapwood.interpolate(hits, values)
    assert found.shape == (20, 50, 2, 4) and found.dtype == np.float64
    corners = soup.vertices[soup.triangles[hits.primitive]].astype(np.float64)
    weights = np.concatenate((1 - hits.barycentrics.sum(-1, keepdims=True, dtype=np.float64), hits.barycentrics), -1)
    points = np.einsum("...c,...ci->...i", weights, corners)
    expected = np.einsum("...i,ijk->...jk", points, slopes) + offset
    np.testing.assert_allclose(found[hits.mask], expected[hits.mask], rtol=0, atol=1e-12)
    assert np.isnan(found[~hits.mask]).all()
    scalars = heapwood.interpolate(hits, np.float32(values[:, 0, 0]))
    assert scalars.dtype == np.float32
    np.testing.assert_allclose(scalars, found[..., 0, 0], atol=1e-5)


@pytest.mark.parametrize("kind, result", [
    (np.float32, np.float32), (np.float16, np.float32), (np.float64, np.float64), (np.uint8, np.float64),
    (np.int64, np.float64), (bool, np.float64)])
def test_types_of_what_is_interpolated(kind, result):
    hits = heapwood.build(*TRIANGLE).hits([1, 1, 1], [0, 0, -1])
    values = heapwood.interpolate(hits, np.array([0, 1, 1], kind))
    assert (values.dtype, values.shape, float(values)) == (result, (), 0.5)


def test_a_tree_with_an_origin(rng):
    vertices, triangles = meshes(rng)
    place = np.array([4.5e5, 5.4e6, -1e4])
    tree = heapwood.build(vertices + place, triangles, center=True)
    origins = rng.normal(size=(200, 3)) * 2
    directions = rng.normal(size=(200, 3)) - origins
    far, near = tree.hits(origins + place, directions), heapwood.build(vertices, triangles).hits(origins, directions)
    assert far.points.dtype == np.float64 and far.normals.dtype == np.float32
    both = far.mask & near.mask & (far.primitive == near.primitive)
    assert both.sum() > 10
    np.testing.assert_allclose(far.points[both], near.points[both] + place, atol=1e-5)
    np.testing.assert_allclose(far.normals[both], near.normals[both], atol=1e-2)


def test_wrong_values_of_vertices(soup, many):
    hits = soup.hits(*many)
    for wrong in (np.zeros(899), np.zeros((901, 3)), 7, np.zeros((300, 3))):
        with pytest.raises(ValueError, match=r"per_vertex must have the shape \(900, ...\), a row for each vertex"):
            heapwood.interpolate(hits, wrong)
    with pytest.raises(TypeError, match="per_vertex must be real numbers"):
        heapwood.interpolate(hits, ["a"] * 900)


def test_hits_go_to_other_processes(soup, many):
    hits = soup.hits(*many)
    again = pickle.loads(pickle.dumps(hits))
    np.testing.assert_array_equal(again.points, hits.points)
    np.testing.assert_array_equal(again.t, hits.t)


@pytest.mark.parametrize("shapes", [((3,), (3,)), ((7, 3), (3,)), ((3,), (7, 3)), ((4, 1, 3), (4, 5, 3)),
                                    ((1, 5, 3), (4, 1, 3)), ((0, 3), (3,)), ((2, 1, 3), (1, 3))])
def test_rays_broadcast(soup, rng, shapes):
    origins, directions = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
    t_max = rng.uniform(0, 3, np.broadcast_shapes(shapes[0], shapes[1])[:-1]).astype(np.float32)
    spread = [np.array(x) for x in np.broadcast_arrays(origins, directions)]
    rows = [x.reshape(-1, 3) for x in spread]
    alone = [soup.closest_hit(rows[0][i], rows[1][i], 0, float(t_max.reshape(-1)[i])) for i in range(len(rows[0]))]
    hits = soup.hits(origins, directions, t_max=t_max)
    assert hits.shape == spread[0].shape[:-1]
    assert hits.points.shape == hits.normals.shape == spread[0].shape
    np.testing.assert_array_equal(hits.primitive.reshape(-1), np.array([x[1] for x in alone], np.int32))
    np.testing.assert_array_equal(hits.t.reshape(-1), np.array([x[0] for x in alone], np.float32))


def test_results_go_where_they_are_told(soup, many):
    expected = soup.closest_hit(*many)
    out = tuple(np.full_like(x, 9) for x in expected)
    assert soup.closest_hit(*many, out=out) is out
    for mine, same in zip(out, expected):
        np.testing.assert_array_equal(mine, same)
    found, counts = np.empty((20, 50), bool), np.empty((20, 50), np.int32)
    assert soup.any_hit(*many, out=found) is found and soup.count(*many, out=counts) is counts
    np.testing.assert_array_equal(found, soup.any_hit(*many))
    np.testing.assert_array_equal(counts, soup.count(*many))
    one = (np.empty((), np.float32), np.empty((), np.int32), np.empty(2, np.float32))
    soup.closest_hit(many[0][0, 0], many[1][0, 0], out=one)
    assert one[1] == expected[1][0, 0]


def test_hits_that_are_used_again(soup, many):
    hits = soup.hits(*many)
    t, points = hits.t, hits.points
    other = many[0], -many[1]
    assert soup.hits(*other, out=hits) is hits and hits.t is t
    fresh = soup.hits(*other)
    for name in ("t", "primitive", "mask", "points", "normals"):
        np.testing.assert_array_equal(getattr(hits, name), getattr(fresh, name))
    assert not np.array_equal(points, hits.points, equal_nan=True)


def test_results_over_their_own_rays(soup, many):
    # Arrays of rays that results go to are read before.
    origins, directions = (x.reshape(-1, 3).copy() for x in many)
    expected = soup.closest_hit(origins, directions, 0, np.full(1000, 2, np.float32))
    t_max = np.full(1000, 2, np.float32)
    ahead = directions.reshape(-1)[-2000:].reshape(1000, 2)
    soup.closest_hit(origins, directions, 0, t_max, out=(t_max, np.empty(1000, np.int32), ahead))
    np.testing.assert_array_equal(t_max, expected[0])
    np.testing.assert_array_equal(ahead, expected[2])


def test_results_that_have_no_place(soup, many):
    t, primitive, uv = soup.closest_hit(*many)
    locked = t.copy()
    locked.flags.writeable = False
    for wrong in (t[0], t.astype(np.float64), np.empty((50, 20), np.float32).T, locked, None, [1.0]):
        with pytest.raises(ValueError, match=r"out: t must be float32 of the shape \(20, 50\), contiguous and write"):
            soup.closest_hit(*many, out=(wrong, primitive, uv))
    with pytest.raises(ValueError, match=r"barycentrics must be float32 of the shape \(20, 50, 2\)"):
        soup.closest_hit(*many, out=(t, primitive, t))
    for wrong in (t, (t, primitive), [t, primitive, uv]):
        with pytest.raises(TypeError, match="out must be a tuple of t, primitive, barycentrics"):
            soup.closest_hit(*many, out=wrong)
    with pytest.raises(ValueError, match="out: found must be bool"):
        soup.any_hit(*many, out=primitive)
    with pytest.raises(TypeError, match="out must be hits, as"):
        soup.hits(*many, out=(t, primitive, uv))


@pytest.mark.parametrize("name", ["torch", "jax.numpy"])
def test_hits_of_other_libraries(soup, many, rng, name):
    library = pytest.importorskip(name)
    there = [library.asarray(array) for array in many]
    if there[0].__dlpack_device__()[0] != 1:
        pytest.skip(f"arrays of {name} lie on a GPU")
    mine, its = soup.hits(*many), soup.hits(*there)
    colours = rng.uniform(size=(900, 3)).astype(np.float32)
    for values in (colours, library.asarray(colours)):
        found = heapwood.interpolate(its, values)
        assert isinstance(found, type(there[0]))
        np.testing.assert_allclose(np.asarray(found), heapwood.interpolate(mine, colours), atol=1e-5)
    for what in ("mask", "points", "normals"):
        assert isinstance(getattr(its, what), type(there[0])), what
        np.testing.assert_allclose(np.asarray(getattr(its, what)), getattr(mine, what), atol=1e-4)
