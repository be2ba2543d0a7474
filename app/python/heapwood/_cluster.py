"""What there is of a Dask cluster."""

import asyncio

from heapwood import _arrays

_MOST_PARTS = 1024


def check(client):
    """Raises TypeError unless it is a client whose answers can be waited for."""
    if not all(hasattr(client, method) for method in ("submit", "nthreads")):
        raise TypeError(f"client: {client!r} is no distributed.Client")
    if client.asynchronous:
        raise TypeError("client: an asynchronous one cannot be waited for; use "
                        "distributed.Client(asynchronous=False)")


def gathered(client, futures, seconds=None):
    """What tasks return, or raise, as ``client.gather``.

    Ctrl-C ends this wait, and nothing in the client: one that is about to ask for results when its own wait is
    ended keeps the ended request, and hands that to each later call. Raises ``concurrent.futures.TimeoutError``
    after ``seconds`` seconds.
    """
    request = asyncio.run_coroutine_threadsafe(_gather(client, futures), client.loop.asyncio_loop)
    return request.result(seconds)


async def _gather(client, futures):
    return await client.gather(futures, asynchronous=True)


def workers(client):
    """The addresses of all workers, of which there must be one."""
    addresses = sorted(client.nthreads())
    if not addresses:
        raise RuntimeError("the cluster has no workers: start some, and wait for them by "
                           "client.wait_for_workers(1)")
    return addresses


def part_count(parts):
    """A number of parts. Raises TypeError unless it is whole, ValueError unless it is from 1 to 1024."""
    parts = _arrays.whole(parts, "parts")
    if not 1 <= parts <= _MOST_PARTS:
        raise ValueError(f"parts={parts}: from 1 to {_MOST_PARTS}")
    return parts
