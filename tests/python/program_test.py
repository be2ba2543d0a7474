"""The program's measurements as tables."""

import subprocess
import sys

import pytest

import heapwood
from heapwood._program import PROGRAM

pytest.importorskip("pandas")


def test_compare():
    table = heapwood.compare(
        "gen:sphere:500", heapwood.load("gen:soup:400"), allocator=["atomicmalloc", "halloc"],
        pool=["200x", "400x"], repeat=2, device="cpu")
    assert len(table) == 8
    assert set(table.scene) == {"gen:sphere:500", "gen:soup:400"}
    assert table.pool.tolist() == ["200x", "200x", "400x", "400x"] * 2
    done = table[table.outcome == "done"]
    assert len(done) >= 4 and (done["build.ms.median"] > 0).all()
    assert done["build.ms.samples"].map(len).tolist() == [2] * len(done)
    assert done.groupby("scene")["tree.digest"].nunique().tolist() == [1, 1]
    assert table.attrs["provenance"]["version"] == heapwood.__version__


def test_trees_have_all_parameters_of_the_program():
    table = heapwood.compare("gen:sphere:500", allocator="atomicmalloc", device="cpu",
                             preset="pbrt", repeat=1)
    tree = heapwood.build(heapwood.load("gen:sphere:500"),
                          **table.attrs["provenance"]["configuration"])
    assert [tree.digest] == table["tree.digest"].tolist()


def test_failures_are_rows():
    table = heapwood.compare("gen:sphere:2000", allocator="atomicmalloc", pool="1x", device="cpu")
    assert table.outcome.tolist() == ["pool_exhausted"]
    assert "no room for a request" in table.message[0]


def test_bench():
    table = heapwood.bench("acd", quick=True, allocator="halloc", repeat=1, device="cpu",
                           time_limit=1)
    assert set(table.allocator) == {"halloc"}
    timed = table[table.phase == "warm"]
    assert len(timed) > 3 and (timed["median"] >= timed["min"]).all()
    assert timed.samples.map(len).min() >= 1
    assert {"series", "x", "outcome", "message", "metric", "max"} <= set(table.columns)


def test_replay(tmp_path):
    trace = tmp_path / "a.trace"
    subprocess.run([PROGRAM, "build", "gen:sphere:1000", "-q", "-a", "halloc", "--device", "cpu",
                    "--trace", trace], check=True, stdout=subprocess.DEVNULL)
    table = heapwood.replay(trace, allocator=["atomicmalloc", "halloc"], repeat=2, device="cpu")
    assert table.allocator.tolist() == ["atomicmalloc", "halloc"]
    assert table.outcome.tolist() == ["done", "done"]
    assert table["ms.samples"].map(len).tolist() == [2, 2]
    with pytest.raises(heapwood.TraceError, match="missing.trace"):
        heapwood.replay(tmp_path / "missing.trace")


def test_mistakes_have_the_programs_sentences():
    with pytest.raises(ValueError, match="no allocator 'nobody'; there are"):
        heapwood.compare("gen:sphere:100", allocator="nobody")
    with pytest.raises(heapwood.SceneError, match="missing.obj"):
        heapwood.compare("missing.obj")
    with pytest.raises(ValueError, match="no-such-option"):
        heapwood.compare("gen:sphere:100", no_such_option=3)
    with pytest.raises(ValueError):
        heapwood.compare()
    with pytest.raises(ValueError, match="made of arrays"):
        heapwood.compare(heapwood.Scene([[0, 0, 0]], [[0, 0, 0]]))
    with pytest.raises(TypeError, match="returns a table"):
        heapwood.compare("gen:sphere:100", json="file.json")
    for measure in (lambda **options: heapwood.compare("gen:sphere:100", **options),
                    lambda **options: heapwood.bench("acd", **options),
                    lambda **options: heapwood.replay("any.trace", **options),
                    lambda **options: heapwood.sweep([{"scene": "gen:sphere:100", **options}])):
        for keyword in ("help", "version", "manual", "schema"):
            for value in (True, "man", False, None):
                with pytest.raises(TypeError, match=rf"takes no {keyword}: .* --help"):
                    measure(**{keyword: value})
    if not heapwood.cuda_available():
        with pytest.raises(heapwood.NoDevice, match="no GPU to build on"):
            heapwood.compare("gen:sphere:100", device="gpu")
        with pytest.raises(heapwood.NoDevice, match="no GPU to build on"):
            heapwood.compare("gen:sphere:100", device="cuda")


def test_a_first_run_that_can_be_resumed_warns_of_nothing(tmp_path, recwarn):
    for _ in range(2):
        table = heapwood.compare("gen:sphere:100", allocator="atomicmalloc", repeat=1, device="cpu",
                                 resume=tmp_path / "journal")
        assert table.outcome.tolist() == ["done"]
    assert not recwarn.list


def test_results_of_files_become_one_table(tmp_path):
    parts = [tmp_path / "1.json", tmp_path / "2.json"]
    for part, scene in zip(parts, ("gen:city:500", "gen:soup:500")):
        words = ["compare", scene, "-a", "halloc", "--device", "cpu", "--repeat", "1", "--json", part]
        subprocess.run([PROGRAM, *words], check=True, capture_output=True)
    table = heapwood.read_results(parts)
    assert table.scene.tolist() == ["gen:city:500", "gen:soup:500"]
    assert table.file.tolist() == [str(part) for part in parts]
    assert set(table.attrs["provenance"]) == {str(part) for part in parts}

    with pytest.raises(ValueError, match="no file"):
        heapwood.read_results([])
    with pytest.raises(FileNotFoundError):
        heapwood.read_results([tmp_path / "none.json"])
    (tmp_path / "text").write_text("no JSON")
    with pytest.raises(ValueError, match="is not JSON"):
        heapwood.read_results([tmp_path / "text"])
    (tmp_path / "list").write_text('{"kind": "list"}')
    with pytest.raises(ValueError, match="has no results of compare, bench, replay"):
        heapwood.read_results([tmp_path / "list"])
    bench = tmp_path / "bench.json"
    words = ["bench", "acd", "--quick", "-a", "halloc", "--device", "cpu", "--json", bench]
    subprocess.run([PROGRAM, *words], check=True, capture_output=True)
    with pytest.raises(ValueError, match="bench and compare"):
        heapwood.read_results([*parts, bench])


def test_warnings_become_pythons():
    with pytest.warns(UserWarning, match="--fallback has no effect") as caught:
        heapwood.compare("gen:sphere:100", allocator="atomicmalloc", fallback="pool", repeat=1,
                         device="cpu")
    assert caught[0].filename == __file__


def test_the_package_is_the_program():
    result = subprocess.run([sys.executable, "-m", "heapwood", "--version"], check=True,
                            stdout=subprocess.PIPE, encoding="utf-8")
    assert heapwood.__version__ in result.stdout


def test_a_table_needs_pandas(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="heapwood.compare returns a table of pandas: pip install"):
        heapwood.compare("gen:sphere:100")


def test_a_program_that_is_gone_is_a_sentence(monkeypatch, tmp_path):
    from heapwood import __main__, _program

    for module in (__main__, _program):
        monkeypatch.setattr(module, "PROGRAM", tmp_path / "gone" / "heapwood")
    with pytest.raises(heapwood.ProgramError, match="No such file.*install heapwood again"):
        heapwood.compare("gen:sphere:500")
    with pytest.raises(SystemExit, match="heapwood: error: .*install heapwood again"):
        __main__.main()
