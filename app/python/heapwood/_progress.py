"""How far long work is: a bar, or what a function of the caller's makes of it."""

import contextlib
import importlib.util
import sys
import time
from typing import Any, Callable, Iterator, Optional

import numpy as np

from heapwood._types import Progress

_SOON = 0.5  # seconds: work that takes less shows no bar that was not asked for


@contextlib.contextmanager
def shown(progress: Progress, title: str) -> Iterator[Optional[Callable[[float, float, str], Any]]]:
    """A function that is told (done, total, what), or None where nothing is to be told.

    Args:
        progress: as of ``heapwood.compare``.
        title: of the work, which a bar begins with.

    Raises:
        TypeError: another kind of ``progress``. ImportError: a bar is asked for, but there is no rich.
    """
    if progress is not None and not isinstance(progress, (bool, np.bool_)) and not callable(progress):
        raise TypeError(f"progress must be True, False, None or a function of (done, total, what), not {progress!r}")
    if callable(progress):
        yield progress
    elif progress or (progress is None and is_interactive()):
        if importlib.util.find_spec("rich") is None:
            raise ImportError("progress=True shows a bar by rich: pip install rich", name="rich")
        bar = _Bar(title, bool(progress))
        try:
            yield bar.show
        finally:
            bar.close()
    else:
        yield None


def is_interactive() -> bool:
    """Whether a user sees a bar: on a terminal, or in a notebook, where rich needs ipywidgets."""
    def there(name):
        return importlib.util.find_spec(name) is not None

    if not there("rich"):
        return False
    return "ipykernel" in sys.modules and there("ipywidgets") or sys.stderr is not None and sys.stderr.isatty()


class _Bar:
    """A bar of rich's on standard error, or in a notebook."""

    def __init__(self, title, asked_for):
        self._title = title
        self._asked_for = asked_for
        self._begun = time.monotonic()
        self._bar = None

    def show(self, done, total, what):
        if self._bar is None:
            if not self._asked_for and time.monotonic() < self._begun + _SOON:
                return
            self._open()
        self._bar.update(self._task, completed=done, total=total, description=f"{self._title}: {what}")

    def _open(self):
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bar, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.table import Column

        console = Console(stderr=True, force_terminal=True if self._asked_for else None)
        text = TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, ratio=1))
        self._bar = Bar(text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=console,
                        transient=True, expand=True)
        self._task = self._bar.add_task(self._title, total=None)
        self._bar.start()

    def close(self):
        if self._bar is not None:
            self._bar.stop()
