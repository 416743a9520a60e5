#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model benchmark: Juno against llama.cpp's own code in the same program, format by format, on a random model of
about 1 G weights. Engines alternate in separate processes (native, juno, juno, native). Writes model.md and model.json.
scripts/bench builds what it needs."""

import argparse
import json
import os
import shlex
import signal
import sys
import tempfile
import time
from pathlib import Path

import machine
import report
from programs import Bench, Engine, Failure, expect, read_bandwidth, run

ROOT = Path(__file__).resolve().parents[2]

# Targets: how many times the native engine's tokens a second, one token at a time and with a prompt of 512.
FORMATS = {
    "IQ3_S": {"decode": 5.0, "prefill": 1.45},
    "IQ3_XXS": {"decode": 4.5, "prefill": 1.45},
    "IQ2_XS": {"decode": 3.4, "prefill": 1.45},
    "IQ2_S": {"decode": 3.5, "prefill": 1.45},
    "IQ4_XS": {"decode": 2.0, "prefill": 1.45},
    "Q2_K": {"decode": 1.8, "prefill": 2.6},
}
SHAPE = "--layers 16 --embedding 2048 --feed-forward 8192 --heads 32 --kv-heads 8 --vocabulary 1003 --context 2048"
PREFILL = 512


class Plan:
    """What is measured. A process costs a model's loading, a prompt of 512 costs seconds: they are kept apart."""

    def __init__(self, quick):
        self.formats = ["IQ3_S", "IQ4_XS", "Q2_K"] if quick else list(FORMATS)
        self.columns = [4] if quick else [2, 4, 8, 16, 64]
        self.tokens = 16 if quick else 32
        self.repetitions = 2
        self.rounds = 1 if quick else 2  # of native, juno, juno, native
        self.narrower = not quick
        cores = os.cpu_count() or 1
        self.threads = [t for t in (1, 2) if t <= cores]

    def _threads(self, threads):
        return ["-t", ",".join(map(str, threads or self.threads))]

    def short(self, columns=None, threads=None):
        """Decoding, and batches of a few columns: one ubatch each, as llama-bench's are up to 512."""
        columns = ",".join(map(str, columns or self.columns))
        return ["-p", columns, "-n", str(self.tokens), "-r", str(self.repetitions), *self._threads(threads)]

    def prefill(self, threads=None):
        # The warm-up would be as long as the measurement.
        return ["-p", str(PREFILL), "-n", "0", "-r", "1", "--no-warmup", *self._threads(threads)]


class Lines:
    """Samples by engine: {(test, threads): [[samples of one process], ...]}."""

    def __init__(self):
        self.samples = {}

    def add(self, engine, measured):
        for (prompt, generated, threads), values in measured.items():
            test = "decode" if generated else "prefill 512" if prompt == PREFILL else f"{prompt} columns"
            self.samples.setdefault((test, threads), {}).setdefault(engine, []).append(values)


def alternate(bench, engines, model, arguments, expected, rounds, lines):
    for _ in range(rounds):
        for engine in (*engines, *reversed(engines)):
            lines.add(engine.name, bench.measure(engine, model, arguments, expected[engine]))


def measure_format(bench, plan, engines, others, native_avx2, model):
    """Everything about one model."""
    expected = {e: expect(ROOT / "build/release/bin", model, e.switches) for e in (*engines, *others, *native_avx2)}
    lines = Lines()
    alternate(bench, engines, model, plan.short(), expected, plan.rounds, lines)
    alternate(bench, engines, model, plan.prefill(), expected, plan.rounds, lines)
    for engine in others:
        for arguments in (plan.short([4], [1]), plan.prefill([1])):
            lines.add(engine.name, bench.measure(engine, model, arguments, expected[engine]))
    if native_avx2:
        alternate(bench, native_avx2, model, plan.short(), expected, 1, lines)
        alternate(bench, native_avx2, model, plan.prefill(), expected, 1, lines)
    return {
        "weights": expected[engines[0]].weights,
        "bytes_per_token": {e.name: x.bytes_per_token for e, x in expected.items()},
        "compiled": {e.name: len(x.tensors) for e, x in expected.items()},
        "lines": [{"test": t, "threads": n, "samples": s} for (t, n), s in lines.samples.items()],
    }


def instruction_sets(release):
    """Juno's narrower kernels: those that this machine could run, but does not choose."""
    cpu = json.loads(run([release / "juno", "cpu", "--json"]))
    names = [s["name"] for s in cpu["instruction_sets"] if s["built"] and s["detected"] and s["name"] != "scalar"]
    return names[1:]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three formats, one round, few batches: under 4 minutes")
    parser.add_argument("--out", type=Path, default=ROOT / "build/bench", help="folder for model.md and model.json")
    parser.add_argument("--avx2", action="store_true", help="also a native engine compiled for AVX2 (build/package)")
    parser.add_argument("--formats", help="only these, such as IQ3_S,Q2_K")
    parser.add_argument("--threads", help="only with so many threads: 1, or 2; both if not given")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS",
                        help="spend so long in all on waiting for a quiet machine, and on repeating what was disturbed")
    return parser.parse_args()


def main():
    options = arguments()
    plan = Plan(options.quick)
    if options.formats:
        plan.formats = options.formats.split(",")
        if unknown := [f for f in plan.formats if f not in FORMATS]:
            raise Failure(f"no format {unknown[0]}: {', '.join(FORMATS)}")
    if options.threads:
        plan.threads = [int(t) for t in options.threads.split(",")]
    release, package = ROOT / "build/release/bin", ROOT / "build/package/bin"
    engines = (Engine("native", release, (("JUNO_ENGINE", "native"),)), Engine("juno", release, (("JUNO_ENGINE", "juno"),)))
    narrower = instruction_sets(release)
    others = [Engine(f"juno {isa}", release, (("JUNO_ISA", isa),)) for isa in narrower if plan.narrower]
    native_avx2 = []
    if options.avx2:
        native_avx2 = [Engine("native, built for AVX2", package, (("JUNO_ENGINE", "native"),))]
        native_avx2 += [Engine(f"juno {isa}, built for AVX2", package, (("JUNO_ISA", isa),)) for isa in narrower]

    begin = time.monotonic()
    result = {
        "command": shlex.join(["scripts/bench", *sys.argv[1:]]),
        "machine": machine.describe(release),
        "model": SHAPE,
        "tests": {"decode_tokens": plan.tokens, "llama_bench": [plan.short(), plan.prefill()]},
        "bandwidth": {},
        "formats": {},
    }
    with tempfile.TemporaryDirectory(prefix="juno-bench-") as folder:
        bench = Bench(Path(folder), options.wait)
        model = Path(folder) / "model.gguf"
        for name in plan.formats:
            print(f"[{time.monotonic() - begin:5.0f} s] {name}", file=sys.stderr, flush=True)
            run([release / "random-model", model, *SHAPE.split(), "--type", name])
            bench.wait_until_quiet()
            for threads, bandwidth in read_bandwidth(release).items():
                result["bandwidth"].setdefault(threads, []).append(bandwidth)
            result["formats"][name] = measure_format(bench, plan, engines, others, native_avx2, model)
            result["formats"][name]["targets"] = FORMATS[name]
            model.unlink()
    result["processes"] = {"all": bench.processes, "disturbed": bench.disturbed, "cores_of_others_at_most": bench.most,
                           "limit": bench.limit, "log": bench.log}
    result["seconds"] = round(time.monotonic() - begin)
    report.judge(result)
    text = report.markdown(result)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "model.json").write_text(json.dumps(result, indent=1) + "\n")
    (options.out / "model.md").write_text(text)
    print(text)
    print(f"written: {options.out}/model.md and model.json", file=sys.stderr)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary folder goes
    try:
        main()
    except (Failure, OSError) as failure:  # such as a program that was not built, or a full disk
        sys.exit(f"bench/model/run.py: {failure}")
    except KeyboardInterrupt:
        sys.exit(130)
