"""`heapwood replay` of logs of RMM: what a log means, its times, and mistakes in it."""

import gzip
import json
import os
import random
import unittest

from command_line import BAD_INPUT, DONE, OUT_OF_MEMORY, USAGE, folder, run
from schemas import violations

KIND = "replay"
COLUMNS = "Thread,Time,Action,Pointer,Size,Stream"


def event(action, pointer, size, thread=7, stream="0x2", time="15:47:02.841961"):
    pointer = hex(pointer) if isinstance(pointer, int) else pointer
    return f"{thread},{time},{action},{pointer},{size},{stream}"


def write(path, *events):
    path.write_text("\n".join([COLUMNS, *events]) + "\n")
    return path


def replay(*arguments):
    return run("replay", "--device", "cpu", *arguments)


def report_of(path, *arguments):
    """The report of a replay."""
    result = replay(path, "-a", "cmalloc", "--repeat", 1, "--json", "-", *arguments)
    assert result.returncode == DONE, result.stderr
    report = json.loads(result.stdout)
    assert violations(report, KIND) == []
    return report


def trace_of(path, *arguments):
    """What the report of a replay says of the trace."""
    return report_of(path, *arguments)["trace"]


def at(*times):
    """A request at each of these times."""
    return [event("allocate", 4096 * (i + 1), 64, time=time) for i, time in enumerate(times)]


class Logs(unittest.TestCase):
    def test_sizes_of_more_than_32_bits(self):
        with folder() as place:
            log = write(place / "log.csv", event("allocate", 0x5000, 4096),
                        event("allocate", 0x7000000000, 6442450941),
                        event("free", 0x7000000000, 6442450941),
                        event("allocate", 0x7000000000, 4294967312), event("free", 0x5000, 4096))
            # A pool that has no room: every allocator refuses, and reads no size modulo 2^32.
            result = replay(log, "--pool", "1MiB", "--repeat", 1, "--json", "-")
            self.assertEqual((result.returncode, result.stderr), (OUT_OF_MEMORY, ""))
            found = json.loads(result.stdout)
            self.assertEqual(violations(found, KIND), [])
            self.assertEqual(found["trace"]["largest_bytes"], 6442450944)
            self.assertEqual(found["trace"]["peak_bytes"], 6442455040)
            for cell in found["results"]:
                self.assertEqual(cell["outcome"], "out_of_pool", cell)

    def test_a_log_without_its_header(self):
        with folder() as place:
            events = [event("allocate", 4096, 64), event("free", 4096, 64)]
            whole, split = place / "whole.csv", place / "split.csv"
            write(whole, *events)
            split.write_text("\n".join(events) + "\n")
            self.assertEqual({**trace_of(split), "path": ""}, {**trace_of(whole), "path": ""})

    def test_a_byte_order_mark(self):
        with folder() as place:
            log = place / "log.csv"
            write(log, event("allocate", 4096, 64))
            log.write_bytes(b"\xef\xbb\xbf" + log.read_bytes())
            self.assertEqual(trace_of(log)["requests"], 1)

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


class Times(unittest.TestCase):
    def nanoseconds(self, *events):
        with folder() as place:
            return trace_of(write(place / "log.csv", *events))["recorded_ns"]

    def test_last_from_the_first_call_to_the_last(self):
        self.assertEqual(self.nanoseconds(*at("15:47:02.841961", "15:47:02.841977")), 16_000)
        self.assertEqual(self.nanoseconds(*at("00:59:59", "01:00:00:5")), 1_500_000_000)
        self.assertEqual(self.nanoseconds(*at("12:00:00.000000001", "12:00:00.1")), 99_999_999)
        self.assertEqual(self.nanoseconds(*at("12:00:00.5")), 0)
        # What is not replayed has no part in it, but a clock that it moves.
        failed = event("allocate failure", "(nil)", 64, time="11:00:00")
        self.assertEqual(
            self.nanoseconds(failed, *at("12:00:00", "12:00:01"),
                             event("free", "(nil)", 0, time="23:30:00"),
                             event("free", 4096, 64, time="00:30:00")),
            (12 * 3600 + 1800) * 10**9)

    def test_go_over_midnight_and_never_back(self):
        second = 10**9
        self.assertEqual(self.nanoseconds(*at("23:59:59", "00:00:02")), 3 * second)
        hours = [f"{hour % 24:02}:00:00" for hour in range(0, 73, 6)]
        self.assertEqual(self.nanoseconds(*at(*hours)), 72 * 3600 * second)
        # A line that comes late, and a clock that is set back.
        self.assertEqual(self.nanoseconds(*at("12:00:05", "12:00:03", "12:00:06")), second)
        self.assertEqual(self.nanoseconds(*at("12:00:00", "11:00:00", "11:59:59")), 0)

    def test_a_pace_is_kept(self):
        times = [f"23:59:59.9{i}" for i in range(10)] + [f"00:00:00.0{i}" for i in range(5)]
        with folder() as place:
            path = write(place / "log.csv", *at(*times))
            for words, pace in (("recorded", 1), ("4x", 4), ("0.5x", 0.5), ("none", None)):
                report = report_of(path, "--pace", words, "--threads", 2)
                self.assertEqual(report["trace"]["recorded_ns"], 140_000_000)
                self.assertEqual(report["provenance"]["pace"], pace)
                found = report["results"][0]
                behind = [found[f"behind_{name}"] for name in ("p50", "p99", "worst")]
                if pace is None:
                    self.assertEqual(behind, [None] * 3)
                    continue
                for ms in (found["ms"], found["cold_ms"]):
                    self.assertGreaterEqual(ms["min"], 140 / pace)
                self.assertEqual(behind, sorted(behind))
                self.assertGreaterEqual(behind[0], 0)

    def test_tables_say_the_pace(self):
        with folder() as place:
            path = write(place / "log.csv", *at("12:00:00", "12:00:00.02"))
            text = replay(path, "--pace", "10x", "-a", "cmalloc,hybrid", "--repeat", 1).stdout
            self.assertRegex(text, r"pace +10x: 2\.000 ms; recorded were 20\.000 ms\n")
            self.assertRegex(text, r"Behind the record\nallocator +median +99 of 100 +worst\n")
            self.assertNotIn("Which to take", text)
            text = replay(path, "--pace", "recorded", "-a", "cmalloc", "--repeat", 1).stdout
            self.assertRegex(text, r"pace +as recorded: 20\.000 ms\n")
            text = replay(path, "-a", "cmalloc,hybrid", "--repeat", 1).stdout
            self.assertRegex(text, r"pace +none: ")
            self.assertNotIn("Behind the record", text)

    def test_a_pace_that_cannot_be_kept_is_refused(self):
        with folder() as place:
            log = write(place / "log.csv", *at("12:00:00", "12:10:00"))
            trace = place / "x.trace"
            trace.write_text('{"kind":"trace","schema":1,"callers":1,"requests":1,"frees":0,'
                             '"root_bytes":4}\nop,caller,value\na,0,64\n')
            for path, pace, words in (
                (trace, "recorded", f"'{trace}' has no times of calls"),
                (log, "recorded", "take 20 min 0 s at least, and the time limit is 1 min 0 s"),
                (log, "19x", "use a faster pace, as --pace 10x, or a longer --time-limit"),
                (log, "0x", "'0x' is none of none, recorded and a number of times, as 10x"),
                (log, "10", "'10' is none of"), (log, "-1x", "'-1x' is none of"),
                (log, "nanx", "'nanx' is none of"),
            ):
                with self.subTest(pace=pace, path=path.name):
                    result = replay(path, "-a", "cmalloc", f"--pace={pace}")
                    self.assertEqual(result.returncode, USAGE, result.stderr)
                    self.assertIn("--pace", result.stderr)
                    self.assertIn(words, result.stderr)
                    self.assertEqual(result.stdout, "")
            self.assertEqual(replay(trace, "-a", "cmalloc", "--pace", "none").returncode, DONE)

    def test_results_have_their_pace(self):
        with folder() as place:
            log = write(place / "log.csv", *at("12:00:00", "12:00:00.01"))
            result = replay(log, "-a", "cmalloc,hybrid", "--repeat", 1, "--pace", "2x", "--json", "-")
            self.assertEqual(result.returncode, DONE, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(violations(report, KIND), [])
        self.assertEqual((report["provenance"]["pace"], report["trace"]["recorded_ns"]),
                         (2, 10_000_000))
        for result in report["results"]:
            self.assertGreaterEqual(result["ms"]["min"], 5)
            self.assertIsNotNone(result["behind_worst"])

    def test_runs_of_another_pace_are_not_gone_on_with(self):
        with folder() as place:
            log = write(place / "log.csv", *at("12:00:00", "12:00:00.01"))
            done = [replay(log, "-a", "cmalloc", "--repeat", 1, "--resume", place / "journal",
                           "--pace", pace).returncode for pace in ("2x", "2x", "3x")]
            self.assertEqual(done, [DONE, DONE, USAGE])


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
        for size in (2**56 + 1, 2**64 - 1):
            self.refused(2, "all together have more bytes than 72,057,594,037,927,936",
                         event("allocate", 4096, size))
        self.refused(3, "all together have more bytes than", event("allocate", 4096, 2**55),
                     event("allocate", 8192, 2**55 + 4))

    def test_lines_that_are_none(self):
        first = event("allocate", 4096, 64)
        for broken in ("", "1,2,3", first + ",1", first[:20]):
            self.refused(3, "this is no event", first, broken)
        for time in ("", "12", "12:00", "24:00:00", "12:60:00", "12:00:61", "1:00:00", "12-00-00",
                     "12:00:00.", "12:00:00.1234567890", "12:00:00,5", "12:00:00.-1"):
            self.refused(2, "this is no event" if "," in time else f"'{time}' is no time of day",
                         event("allocate", 4096, 64, time=time))
        self.refused(2, "'grow' is no action", event("grow", 4096, 64))
        self.refused(2, "'0xfg' is no address", event("allocate", "0xfg", 64))
        for size in ("-1", "1.5", "", "99999999999999999999"):
            self.refused(2, "is no number of bytes", event("allocate", 4096, size))

    def test_nothing_to_replay(self):
        self.refused(1, "no request that was granted")
        self.refused(2, "no request that was granted", event("allocate failure", "(nil)", 64))


if __name__ == "__main__":
    unittest.main()
