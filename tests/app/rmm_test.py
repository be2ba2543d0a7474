"""`heapwood replay` of logs of RMM: what a log means, and mistakes in it."""

import gzip
import json
import os
import random
import unittest

import schema_check
from command_line import BAD_INPUT, DONE, folder, run

SCHEMA = json.loads((schema_check.SCHEMAS / "replay.schema.json").read_text())
COLUMNS = "Thread,Time,Action,Pointer,Size,Stream"


def event(action, pointer, size, thread=7, stream="0x2"):
    pointer = hex(pointer) if isinstance(pointer, int) else pointer
    return f"{thread},15:47:02.841961,{action},{pointer},{size},{stream}"


def write(path, *events):
    path.write_text("\n".join([COLUMNS, *events]) + "\n")
    return path


def replay(*arguments):
    return run("replay", "--device", "cpu", *arguments)


def trace_of(path, *arguments):
    """What the report of a replay says of the trace."""
    result = replay(path, "-a", "cmalloc", "--repeat", 1, "--json", "-", *arguments)
    assert result.returncode == DONE, result.stderr
    report = json.loads(result.stdout)
    assert schema_check.violations(report, SCHEMA) == []
    return report["trace"]


class Logs(unittest.TestCase):
    def test_random_programs(self):
        seed = int(os.environ.get("HEAPWOOD_TEST_SEED") or random.SystemRandom().getrandbits(32))
        print(f"HEAPWOOD_TEST_SEED={seed}", flush=True)
        dice = random.Random(seed)
        for _ in range(4):
            events, live, callers = [], {}, set()
            wanted = {"requests": 0, "frees": 0, "bytes": 0, "largest_bytes": 0, "peak_bytes": 0}
            failed = empty = 0
            for _ in range(300):
                who = {"thread": dice.randrange(3), "stream": hex(dice.randrange(3))}
                kind = dice.random()
                if kind < 0.05:
                    failed += 1
                    events.append(event("allocate failure", "(nil)", dice.randrange(10**6), **who))
                elif kind < 0.1:
                    empty += 1
                    events.append(event(dice.choice(["allocate", "free"]),
                                        dice.choice(["(nil)", "0x0"]), 0, **who))
                elif kind < 0.6 or not live:
                    # An address is used again once it is free.
                    address = dice.choice([a for a in range(4096, 4196) if a not in live])
                    live[address] = dice.randrange(1, 3000)
                    rounded = -(-live[address] // 4) * 4
                    events.append(event("allocate", address, live[address], **who))
                    wanted["requests"] += 1
                    wanted["bytes"] += rounded
                    wanted["largest_bytes"] = max(wanted["largest_bytes"], rounded)
                    wanted["peak_bytes"] = max(wanted["peak_bytes"], sum(
                        -(-size // 4) * 4 for size in live.values()))
                    callers.add(tuple(who.values()))
                else:
                    address = dice.choice(list(live))
                    action = dice.choice(["free", "deallocate"])
                    events.append(event(action, address, live.pop(address), **who))
                    wanted["frees"] += 1
                    callers.add(tuple(who.values()))
            with folder() as place:
                found = trace_of(write(place / "log.csv", *events), "--threads", 2)
            self.assertEqual({key: found[key] for key in wanted}, wanted)
            self.assertEqual(found["callers"], len(callers))
            self.assertEqual(found["root_bytes"], wanted["peak_bytes"])
            header = found["header"]
            self.assertEqual((header["failed_requests"], header["empty_calls"]), (failed, empty))

    def test_all_allocators_and_the_words_of_the_table(self):
        events = [event("allocate", 4096 * i, 100 * i, stream=i % 2) for i in range(1, 20)]
        events.append(event("allocate failure", "(nil)", 10**12))
        events += [event("free", 4096 * i, 100 * i, thread=8) for i in range(1, 20)]
        with folder() as place:
            path = place / "log.dev0.csv.gz"
            path.write_bytes(gzip.compress("\r\n".join([COLUMNS, *events]).encode()))
            result = replay(path, "--repeat", 1, "--pool", "1000x")
        self.assertEqual(result.returncode, DONE, result.stderr)
        self.assertRegex(result.stdout, r"recorded +by RMM: 2 threads, 3 streams; 1 request failed, "
                                        r"not replayed\n")
        self.assertRegex(result.stdout, r"calls +19 requests of 18\.6 KiB in all, 19 frees\n")
        self.assertRegex(result.stdout, r"callers +3\b")


class Mistakes(unittest.TestCase):
    def refused(self, line, words, *events):
        with folder() as place:
            path = write(place / "log.csv", *events)
            result = replay(path, "-a", "cmalloc")
            self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
            self.assertTrue(result.stderr.startswith(f"heapwood: error: {path}:{line}: "),
                            result.stderr)
            for word in (words, "record it anew", "\n"):
                self.assertIn(word, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_contradictions(self):
        first = event("allocate", 4096, 64)
        self.refused(3, "address 0x1000 is given out, which line 2 has got", first,
                     event("allocate", 4096, 32))
        self.refused(3, "a free of address 0x2000, which is not given out", first,
                     event("free", 8192, 64))
        self.refused(4, "a free of address 0x1000, which is not given out", first,
                     event("free", 4096, 64), event("free", 4096, 64))
        self.refused(3, "a free of 32 bytes at 0x1000, where line 2 has got 64", first,
                     event("free", 4096, 32))
        self.refused(2, "a request of 4294967293 bytes", event("allocate", 4096, 2**32 - 3))

    def test_lines_that_are_none(self):
        first = event("allocate", 4096, 64)
        for broken in ("", "1,2,3", first + ",1", first[:20]):
            self.refused(3, "this is no event", first, broken)
        self.refused(2, "'grow' is no action", event("grow", 4096, 64))
        self.refused(2, "'0xfg' is no address", event("allocate", "0xfg", 64))
        for size in ("-1", "1.5", "", "99999999999999999999"):
            self.refused(2, "is no number of bytes", event("allocate", 4096, size))

    def test_nothing_to_replay(self):
        self.refused(1, "no request that was granted")
        self.refused(2, "no request that was granted", event("allocate failure", "(nil)", 64))


if __name__ == "__main__":
    unittest.main()
