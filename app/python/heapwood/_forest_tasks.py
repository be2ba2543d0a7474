"""What a build in parts on Dask does on the workers.

A task answers a request of the coordinator (app/distributed/part_server.h). It returns the answer and the files
that it has made, and gets those that it needs: there is no folder that all workers see.
"""

import json
import pathlib
import tempfile
import threading
from typing import Any, Dict, NamedTuple, Optional

from heapwood import _core

_one_at_a_time = threading.Lock()  # a request takes all threads of the worker


class Made(NamedTuple):
    """The answer to a request, and the files made for it, by their names."""

    answer: str
    files: Dict[str, bytes]


def _server(settings):
    import distributed  # only workers need it

    worker = distributed.get_worker()
    if settings["version"] != _core.version:
        raise RuntimeError(f"{worker.address} has heapwood {_core.version}, but the client "
                           f"{settings['version']}: install the same version")
    server = _core.PartServer(settings["device"], worker.state.nthreads, settings["preset"],
                              settings["fields"])
    return server, worker.local_directory


def _answer(server_and_place, request, files):
    """Lets a part server answer in a folder of its own, which is gone afterwards."""
    server, place = server_and_place
    with tempfile.TemporaryDirectory(prefix="heapwood-", dir=place) as name:
        folder = pathlib.Path(name)
        for name, contents in files.items():
            (folder / name).write_bytes(contents)
        with _one_at_a_time:
            answer = server.answer(json.dumps({**json.loads(request), "folder": str(folder)}))
        _, made = _core.request_files(request)
        return Made(answer, {name: (folder / name).read_bytes() for name in made})


class Share:
    """A part's share of a scene, and its references of the nodes at the top.

    It stays with the worker that has made it, unless that dies, or has so much to do that Dask lets another
    one help. What is sent to another one is how it is made: that one makes it anew, and the next request
    brings it to where it was.
    """

    def __init__(self, settings: Dict[str, Any], load: str):
        self._settings = settings
        self._load = load
        self._server: Any = None  # and its folder
        self._loaded: Optional[Made] = None

    def __reduce__(self):
        return Share, (self._settings, self._load)

    def __sizeof__(self):
        # Dask moves what is small: 84 bytes a triangle and its reference.
        return 1000 + 84 * json.loads(self._load)["triangles"]

    def load(self) -> Made:
        if self._loaded is None:
            self._server = _server(self._settings)
            self._loaded = _answer(self._server, self._load, {})
        return self._loaded

    def answer(self, request: str, files: Dict[str, bytes], facts: bytes) -> Made:
        if [*self.load().files.values()] != [facts]:
            scene = json.loads(self._load)["load"]
            raise RuntimeError(f"{scene}: has changed since it was first read, or is another file on "
                               "another worker; run the build again")
        return _answer(self._server, request, files)


def make_share(settings: Dict[str, Any], load: str) -> Share:
    share = Share(settings, load)
    share.load()
    return share


def loaded(share: Share) -> Made:
    return share.load()


def answer(share: Share, request: str, files: Dict[str, bytes], facts: bytes) -> Made:
    return share.answer(request, files, facts)


def build_cell(settings: Dict[str, Any], request: str, files: Dict[str, bytes],
               references: Dict[str, bytes]) -> Made:
    return _answer(_server(settings), request, {**files, **references})


def file(made: Made, name: str) -> bytes:
    return made.files[name]


def answer_alone(made: Made) -> Made:
    return Made(made.answer, {})
