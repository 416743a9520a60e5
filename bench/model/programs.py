# SPDX-License-Identifier: Apache-2.0
"""The built programs, run so that what they did can be trusted: receipts are checked, disturbances are seen."""

import json
import os
import re
import resource
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path


class Failure(Exception):
    """The benchmark cannot go on; its text says why."""


@dataclass(frozen=True)
class Engine:
    name: str
    folder: Path  # of the build's programs
    switches: tuple = ()  # of the environment, as (name, value)

    @property
    def native(self):
        return ("JUNO_ENGINE", "native") in self.switches


def run(argv, switches=()):
    """Standard output of a program that must succeed. Switches of ours from outside don't reach it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("JUNO_")}
    environment.update(switches)
    done = subprocess.run([str(a) for a in argv], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        text = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise Failure(f"{' '.join(map(str, argv))}: status {done.returncode}: {text[-1] if text else 'no message'}")
    return done.stdout


class Others:
    """How many cores other programs, or other machines on the same host, keep busy meanwhile."""

    TICK = os.sysconf("SC_CLK_TCK")

    def __init__(self):
        self.begin()

    @classmethod
    def _busy(cls):
        with open("/proc/stat") as stat:
            user, nice, system, _idle, _wait, irq, softirq, steal = map(int, stat.readline().split()[1:9])
        return (user + nice + system + irq + softirq + steal) / cls.TICK

    @staticmethod
    def _own():
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(u.ru_utime + u.ru_stime for u in used)

    def begin(self):
        self.time, self.busy, self.own = time.monotonic(), self._busy(), self._own()

    def cores(self):
        elapsed = max(time.monotonic() - self.time, 1e-3)
        return max(0.0, (self._busy() - self.busy - (self._own() - self.own)) / elapsed)


@dataclass
class Bench:
    """llama-bench in processes of their own."""

    folder: Path  # for receipts
    patience: float  # seconds that may be spent on waiting for a quiet machine and on repeating, in all
    limit: float = 0.25  # cores of others from which on a process counts as disturbed
    processes: int = 0
    disturbed: int = 0
    most: float = 0.0
    log: list = field(default_factory=list)

    def wait_until_quiet(self):
        while self.patience > 0:
            others = Others()
            time.sleep(0.5)
            if others.cores() < self.limit:
                return
            self.patience -= 0.5

    def measure(self, engine, model, arguments, expected):
        """Samples, in tokens a second, by (prompt tokens, generated tokens, threads)."""
        while True:
            self.wait_until_quiet()
            others, begin = Others(), time.monotonic()
            samples = self._once(engine, model, arguments, expected)
            cores = others.cores()
            if cores < self.limit or self.patience <= 0:
                break
            self.patience -= time.monotonic() - begin
        self.processes += 1
        self.disturbed += cores >= self.limit
        self.most = max(self.most, cores)
        self.log.append({"engine": engine.name, "arguments": arguments, "cores_of_others": round(cores, 3)})
        return samples

    def _once(self, engine, model, arguments, expected):
        receipts = self.folder / "receipts.json"
        receipts.unlink(missing_ok=True)
        argv = [engine.folder / "llama-bench", "-m", model, "-o", "json", *arguments]
        out = run(argv, (*engine.switches, ("JUNO_RECEIPTS", str(receipts))))
        check(engine, json.loads(receipts.read_text()), expected)
        return {(r["n_prompt"], r["n_gen"], r["n_threads"]): r["samples_ts"] for r in json.loads(out)}


@dataclass(frozen=True)
class Expected:
    """What the decision function says of a model, before anything runs."""

    tensors: frozenset  # those that Juno compiles
    kernels: frozenset  # those that may run
    bytes_per_token: int  # that one column reads: every matrix once, as it lies in memory
    weights: int  # of those matrices


def expect(folder, model, switches):
    """For the switches of one engine, by programs of `folder`."""
    tensors = json.loads(run([folder / "juno", "inspect", model, "--json"], switches))["tensors"]
    sets = json.loads(run([folder / "juno", "cpu", "--json"], switches))["instruction_sets"]
    products = [t for t in tensors if t["operation"] in ("MUL_MAT", "MUL_MAT_ID")]
    if not products:
        raise Failure(f"{model} has no matrix")
    return Expected(
        tensors=frozenset(t["name"] for t in products if t["decision"] == "juno"),
        kernels=frozenset(k for s in sets if s["selected"] for k in s["kernels"]),
        bytes_per_token=sum(t["bytes_packed"] or t["bytes_native"] for t in products),
        weights=sum(t["rows"] * t["columns"] * t["matrices"] for t in products),
    )


def check(engine, receipts, expected):
    """A run that did not do what its name says is no row of a table."""
    ran = {t["name"]: [k["id"] for k in t["kernels"]] for t in receipts["tensors"] if t["kernels"]}
    wanted = "native" if engine.native else "juno"
    if receipts["engine"] != wanted:
        raise Failure(f"{engine.name}: receipts name the engine {receipts['engine']}, not {wanted}")
    if not receipts["tensors"]:
        raise Failure(f"{engine.name}: receipts without a tensor")
    if set(ran) != set(expected.tensors):
        wrong = sorted(set(ran) ^ set(expected.tensors))
        raise Failure(f"{engine.name}: kernels ran on {len(ran)} tensors, not on {len(expected.tensors)}: {wrong[:3]}")
    strange = {k for kernels in ran.values() for k in kernels} - expected.kernels
    if strange:
        raise Failure(f"{engine.name}: {', '.join(sorted(strange))} ran, which the switches leave out")
    unpacked = [t["name"] for t in receipts["tensors"] if t["unpacked_calls"] and t["operation"] != "GET_ROWS"]
    if unpacked:
        raise Failure(f"{engine.name}: {unpacked[0]} was served by unpacking")


def read_bandwidth(folder):
    """Bytes a second by number of threads."""
    out = json.loads(run([folder / "juno_bench", "--benchmark_filter=^read/", "--benchmark_format=json"]))
    found = {int(re.search(r"threads:(\d+)", b["name"])[1]): b["bytes/s"] for b in out["benchmarks"]}
    if not found:
        raise Failure("juno_bench measured no bandwidth")
    return found
