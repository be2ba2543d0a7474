"""The package's own exceptions.

Other mistakes raise Python's: ``ValueError`` and ``TypeError`` for arguments, ``MemoryError`` where the
machine's memory is short. The sentences are those of the program ``heapwood``.
"""

import sys
import warnings


class SceneError(ValueError):
    """A scene that cannot be read, made or written. The message names file, line and remedy."""


class TreeFileError(ValueError):
    """A ``.kdt`` file that is damaged, or cannot be read or written."""


class TraceError(ValueError):
    """A recorded trace that cannot be read, or contradicts itself."""


class OutOfPool(MemoryError):
    """The allocator's pool was too small for the build. The message names a larger one."""


class NoDevice(RuntimeError):
    """There is no GPU, or the package was built without CUDA."""


class VerificationError(RuntimeError):
    """A tree is wrong, or an allocator has lost memory. Please report it."""


class PrecisionWarning(UserWarning):
    """A mesh lies so far from the origin that single precision distorts it. The message has the loss."""


class ProgramError(RuntimeError):
    """The program ``heapwood`` ended without results.

    Attributes:
        code (int): its exit code; negative if a signal ended it.
    """

    def __init__(self, message, code):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return type(self), (*self.args, self.code)


def warn(message, category=UserWarning):
    """Warns at the line that called the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] == "heapwood":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
