"""How the scripts end: with a sentence and an exit code, never with a traceback."""

import os
import sys

FAILED = 2  # wrong usage, or what cannot be read or written
INTERRUPTED = 130


def run(program, call):
    """Calls `call` and ends the process with the exit code that it returns or exits with.

    What cannot be written to standard output ends in a sentence; where the reader of a pipe has
    gone, in silence.
    """
    try:
        code = _code_of(call)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        code = INTERRUPTED
    except BrokenPipeError:
        code = FAILED
        _give_up_output()
    except OSError as error:
        print(
            f"{program}: error: standard output cannot be written: {error.strerror or error}",
            file=sys.stderr,
        )
        code = FAILED
        _give_up_output()
    sys.exit(code)


def _code_of(call):
    try:
        return call() or 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else FAILED


def _give_up_output():
    """Lets Python end without a second try to write what is left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
