"""How the scripts end: with a sentence and an exit code, never with a traceback."""

import argparse
import os
import sys

FAILED = 2  # wrong usage, or what cannot be read or written
INTERRUPTED = 130


def printable(text):
    """The text on one line, as a terminal may show it, which would obey control characters.

    They, line ends, marks that turn the direction of writing, and bytes that are not UTF-8 (which
    names of files may have, and Python reads as surrogates) are written as in source code.
    """
    return "".join(map(_shown, str(text)))


def _shown(character):
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii")


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are printable."""

    def error(self, message):
        super().error(printable(message))


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


def run_app(program, app):
    """run() for an app of Typer, whose complaints are printable."""
    import click

    def call():
        try:
            return app(standalone_mode=False)
        except click.ClickException as error:
            message = printable(error.format_message()).rstrip(".")
            print(f"{program}: error: {message}; see --help", file=sys.stderr)
            return error.exit_code
        except click.Abort as error:
            raise KeyboardInterrupt from error

    run(program, call)


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
