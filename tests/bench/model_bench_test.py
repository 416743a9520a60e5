#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model benchmark's own judgement: which runs it refuses, and what it makes of samples that are known."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/model"))

import report
from programs import Engine, Expected, Failure, check

NATIVE = Engine("native", Path(), (("JUNO_ENGINE", "native"),))
JUNO = Engine("juno", Path(), (("JUNO_ENGINE", "juno"),))
NOTHING = Expected(frozenset(), frozenset(), 1, 1)
ONE = Expected(frozenset({"a"}), frozenset({"gemv.x"}), 1, 1)


def receipts(engine, kernels, name="a", unpacked=0, operation="MUL_MAT"):
    tensor = {"name": name, "operation": operation, "unpacked_calls": unpacked, "kernels": [{"id": k} for k in kernels]}
    return {"engine": engine, "tensors": [tensor]}


class Receipts(unittest.TestCase):
    def refused(self, engine, document, expected, part):
        with self.assertRaisesRegex(Failure, part):
            check(engine, document, expected)

    def test_runs_that_did_what_they_are_called(self):
        check(NATIVE, receipts("native", []), NOTHING)
        check(JUNO, receipts("juno", ["gemv.x"]), ONE)
        # Looking up a row of a tied embedding unpacks it: no product.
        check(JUNO, {"engine": "juno", "tensors": receipts("juno", ["gemv.x"])["tensors"] +
                     receipts("juno", [], unpacked=3, operation="GET_ROWS")["tensors"]}, ONE)

    def test_runs_that_did_not(self):
        self.refused(NATIVE, receipts("juno", []), NOTHING, "name the engine")
        self.refused(NATIVE, receipts("native", ["gemv.x"]), NOTHING, "kernels ran on 1")
        self.refused(JUNO, receipts("native", []), ONE, "name the engine")
        self.refused(JUNO, receipts("juno", []), ONE, "kernels ran on 0")
        self.refused(JUNO, receipts("juno", ["gemv.x"], name="b"), ONE, "'a', 'b'")
        self.refused(JUNO, receipts("juno", ["gemv.x", "gemv.scalar"]), ONE, "gemv.scalar ran")
        self.refused(JUNO, receipts("juno", ["gemv.x"], unpacked=1), ONE, "unpacking")
        self.refused(JUNO, {"engine": "juno", "tensors": []}, ONE, "without a tensor")


def result(decode=(30.0, 60.0), four=(90.0, 90.0), native=((10, 10), (10, 10)), prefill=15.0):
    """One format whose targets are 5 and 1.45: juno's rates with 1 and 2 threads, native's samples of two processes."""
    flat = [[10.0, 10.0], [10.0, 10.0]]
    lines = [{"test": "decode", "threads": t, "samples": {"native": [list(p) for p in native], "juno": [[r], [r]]}}
             for t, r in enumerate(decode, 1)]
    lines += [{"test": "4 columns", "threads": t, "samples": {"native": flat, "juno": [[r]]}}
              for t, r in enumerate(four, 1)]
    lines += [{"test": "prefill 512", "threads": 1, "samples": {
        "native": flat, "juno": [[prefill]], "juno narrow": [[9.2]],
        "native, built for AVX2": [[8.0]], "juno narrow, built for AVX2": [[7.0]]}}]
    entry = {"weights": 1000, "bytes_per_token": {"native": 10, "juno": 10}, "lines": lines,
             "targets": {"decode": 5.0, "prefill": 1.45}}
    whole = {"formats": {"X": entry}, "bandwidth": {1: [500.0, 400.0], 2: [700.0]}}
    report.judge(whole)
    return whole


def verdict(whole, what):
    found = [v for v in whole["verdicts"] if v["what"].startswith(what)]
    assert len(found) == 1, (what, whole["verdicts"])
    return found[0]


class Judgement(unittest.TestCase):
    def test_ratios_are_of_medians(self):
        whole = result(native=((10, 10, 100), (10, 10, 1)))
        self.assertEqual(verdict(whole, "decode, 1 thread")["reached"], 3)

    def test_a_target_is_reached_or_not(self):
        self.assertFalse(verdict(result(decode=(49.9, 60)), "decode, 1 thread")["passed"])
        self.assertTrue(verdict(result(decode=(50, 60)), "decode, 1 thread")["passed"])
        self.assertTrue(verdict(result(), "prefill 512, 1 thread")["passed"])
        self.assertFalse(verdict(result(prefill=14.0), "prefill 512, 1 thread")["passed"])

    def test_with_two_threads_the_bandwidth_will_do(self):
        self.assertFalse(verdict(result(decode=(30, 40)), "decode, 2 threads")["passed"])  # 400 of 700
        fast = ((20, 20), (20, 20))  # the native engine: a ratio of 3
        self.assertTrue(verdict(result(decode=(30, 59.5), native=fast), "decode, 2 threads")["passed"])  # 595 of 700
        self.assertFalse(verdict(result(decode=(30, 59.4), native=fast), "decode, 2 threads")["passed"])
        self.assertFalse(verdict(result(decode=(45, 40)), "decode, 1 thread")["passed"])  # no such way for one

    def test_four_columns_are_compared_with_one(self):
        self.assertTrue(verdict(result(four=(75, 75)), "4 columns against 1, 1 thread")["passed"])
        self.assertFalse(verdict(result(four=(74, 75)), "4 columns against 1, 1 thread")["passed"])

    def test_slower_means_beyond_the_noise(self):
        self.assertFalse(verdict(result(decode=(9, 60)), "not slower: decode, 1 thread")["passed"])
        noisy = result(decode=(9, 60), native=((8, 8, 9), (10, 10, 9)))  # a median of 9; equal programs differ by a quarter
        self.assertAlmostEqual(noisy["noise"]["largest"], 0.25)
        self.assertTrue(verdict(noisy, "not slower: decode, 1 thread")["passed"])

    def test_narrower_kernels_have_targets_of_their_own(self):
        whole = result()
        self.assertTrue(verdict(whole, "juno narrow against juno")["passed"])  # 9.2 of 15
        self.assertFalse(verdict(whole, "juno narrow, built for AVX2 against native")["passed"])

    def test_what_was_missed_is_in_the_report(self):
        text = "\n".join(report.table(["a", "b"], [["1", "2"]]))
        self.assertEqual(text, "| a | b |\n|---|---:|\n| 1 | 2 |\n")
        whole = result()
        machine = dict.fromkeys(("cpu", "cpu_family_and_model", "kernel", "huge_pages", "juno", "commit", "llama_cpp",
                                 "compiler", "flags", "date"), "?")
        whole["machine"] = {**machine, "virtual_machine": True, "hardware_threads": 2, "memory_bytes": 1, "caches": {},
                            "instruction_sets": [], "load_average": [0.0]}
        whole |= {"command": "c", "seconds": 1, "model": "m",
                  "processes": {"all": 1, "disturbed": 0, "limit": 0.25, "cores_of_others_at_most": 0}}
        text = report.markdown(whole)
        missed = [v for v in whole["verdicts"] if not v["passed"]]
        self.assertGreater(len(missed), 0)
        for one in missed:
            self.assertIn(f"| X | {one['what']} | {one['reached']:.2f} | {one['target']:.2f} |", text)
        self.assertIn("| X | 1 | 10.0 (10.0-10.0) | 30.0 (30.0-30.0) | 3.00 | 5.0 | 5.0 | 20% | 60% |", text)


if __name__ == "__main__":
    unittest.main()
