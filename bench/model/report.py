# SPDX-License-Identifier: Apache-2.0
"""Medians, ratios and verdicts of what run.py measured, and the tables."""

from statistics import median

FOUR_COLUMNS = 2.5  # times the tokens a second of one column, at least
NARROWER = 0.6  # of what the best kernels reach, at least
BANDWIDTH = 0.85  # of it is as good as a ratio, with 2 threads


def flat(processes):
    return [value for process in processes for value in process]


class Line:
    """One test of one format."""

    def __init__(self, entry):
        self.test, self.threads = entry["test"], entry["threads"]
        self.samples = entry["samples"]

    def rate(self, engine):
        return median(flat(self.samples[engine])) if engine in self.samples else None

    def ratio(self, engine="juno", base="native"):
        return self.rate(engine) / self.rate(base)

    def spread(self, engine):
        values = flat(self.samples[engine])
        return f"{number(median(values))} ({number(min(values))}-{number(max(values))})"

    def noise(self):
        """The first and the second half of the native processes, as if they were two engines."""
        processes = self.samples["native"]
        half = len(processes) // 2
        a, b = median(flat(processes[:half])), median(flat(processes[half:]))
        return max(a, b) / min(a, b) - 1


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


def lines_of(entry):
    return [Line(line) for line in entry["lines"]]


def find(lines, test, threads):
    return next((line for line in lines if (line.test, line.threads) == (test, threads)), None)


def bandwidth(result, threads):
    return max(result["bandwidth"][threads])


def share(result, entry, line, engine="juno"):
    """Of the read bandwidth, when each token reads every matrix once."""
    return line.rate(engine) * entry["bytes_per_token"][engine] / bandwidth(result, line.threads)


def bound(result, entry, line):
    """The ratio that Juno would have if it read at the read bandwidth and did nothing else."""
    return bandwidth(result, line.threads) / entry["bytes_per_token"]["juno"] / line.rate("native")


def judge(result):
    """Adds "noise" and "verdicts" to the result: what was to be reached, what was, and whether that does."""
    entries = result["formats"]
    noises = [line.noise() for entry in entries.values() for line in lines_of(entry)]
    result["noise"] = {"median": median(noises), "largest": max(noises)}
    verdicts = result["verdicts"] = []

    def verdict(name, what, reached, target, passed=None):
        passed = reached >= target if passed is None else passed
        verdicts.append({"format": name, "what": what, "reached": reached, "target": target, "passed": passed})

    for name, entry in entries.items():
        lines = lines_of(entry)
        for line in lines:
            threads = f"{line.threads} thread{'s' if line.threads > 1 else ''}"
            if line.test == "decode":
                part = share(result, entry, line)
                target = entry["targets"]["decode"]
                as_good = line.threads > 1 and part >= BANDWIDTH
                suffix = f" ({part:.0%} of the read bandwidth)" if line.threads > 1 else ""
                verdict(name, f"decode, {threads}{suffix}", line.ratio(), target, line.ratio() >= target or as_good)
                four = find(lines, "4 columns", line.threads)
                if four is not None:
                    verdict(name, f"4 columns against 1, {threads}", four.rate("juno") / line.rate("juno"), FOUR_COLUMNS)
            if line.test == "prefill 512":
                verdict(name, f"prefill 512, {threads}", line.ratio(), entry["targets"]["prefill"])
            verdict(name, f"not slower: {line.test}, {threads}", line.ratio(), 1 - result["noise"]["largest"])
            if line.test in ("decode", "prefill 512"):
                for engine in line.samples:
                    if engine in ("native", "juno") or "built for" in engine:
                        continue
                    verdict(name, f"{engine} against juno: {line.test}, {threads}", line.ratio(engine, "juno"), NARROWER)
            for engine in line.samples:
                if "built for" in engine and not engine.startswith("native"):
                    base = "native, built for AVX2"
                    verdict(name, f"{engine} against native: {line.test}, {threads}", line.ratio(engine, base), 1.0)


def table(head, rows):
    if not rows:
        return []
    text = [f"| {' | '.join(head)} |", f"|{'|'.join('---' if i == 0 else '---:' for i in range(len(head)))}|"]
    return [*text, *(f"| {' | '.join(row)} |" for row in rows), ""]


def machine_lines(result):
    m = result["machine"]
    virtual = ", a virtual machine" if m["virtual_machine"] else ""
    caches = ", ".join(f"{level} {size}" for level, size in m["caches"].items())
    widths = ", ".join(f"{max(v) / 1e9:.1f} GB/s with {t}" for t, v in result["bandwidth"].items())
    processes = result["processes"]
    return [
        f"- machine: {m['cpu']} (family/model {m['cpu_family_and_model']}), {m['hardware_threads']} hardware threads"
        f"{virtual}, {m['memory_bytes'] / 2**30:.1f} GiB; caches {caches}; kernels for {', '.join(m['instruction_sets'])}",
        f"- system: {m['kernel']}, transparent huge pages: {m['huge_pages']}; load average at the start"
        f" {' '.join(map(str, m['load_average']))}",
        f"- Juno {m['juno']}, commit {m['commit']}; llama.cpp {m['llama_cpp']}; {m['compiler']}; `{m['flags']}`",
        f"- command: `{result['command']}`, {m['date']}, {result['seconds']} s; model: `random-model {result['model']}`",
        f"- read bandwidth: {widths} thread(s)",
        f"- noise (native against native, in the same rounds): {result['noise']['median']:.1%} in the median line,"
        f" {result['noise']['largest']:.1%} in the worst; {processes['disturbed']} of {processes['all']} processes ran"
        f" while others used more than {processes['limit']} of a core (at most {processes['cores_of_others_at_most']:.2f})",
        "",
    ]


def markdown(result):
    text = ["# Model benchmark", "", *machine_lines(result)]
    text += ["Tokens a second: the median, and in parentheses the least and the greatest of all samples.", ""]
    entries = result["formats"]
    decode, batches, sets, avx2 = [], [], [], []
    for name, entry in entries.items():
        for line in lines_of(entry):
            cells = [name, str(line.threads), line.spread("native"), line.spread("juno"), f"{line.ratio():.2f}"]
            if line.test == "decode":
                parts = [f"{share(result, entry, line, engine):.0%}" for engine in ("native", "juno")]
                decode.append([*cells, f"{entry['targets']['decode']:.1f}", f"{bound(result, entry, line):.1f}", *parts])
            else:
                products = line.rate("juno") * entry["weights"] / 1e9
                batches.append([name, line.test, *cells[1:], number(products)])
            for engine in line.samples:
                if engine in ("native", "juno") or "built for" in engine:
                    continue
                sets.append([name, line.test, engine, line.spread(engine), f"{line.ratio(engine, 'juno'):.0%}",
                             f"{line.ratio(engine):.2f}"])
            base = "native, built for AVX2"
            if base in line.samples:
                ours = [e for e in line.samples if "built for" in e and e != base]
                avx2.append([name, line.test, str(line.threads), line.spread(base),
                             *(f"{line.spread(e)}, {line.ratio(e, base):.2f}" for e in ours)])
    text += ["## One token at a time", ""]
    text += table(["format", "threads", "native", "juno", "ratio", "target", "memory allows", "bandwidth used: native", "juno"],
                  decode)
    text += ["## Several columns at a time", ""]
    text += table(["format", "test", "threads", "native", "juno", "ratio", "juno: G products/s"], batches)
    if sets:
        text += ["## Narrower instruction sets, 1 thread", ""]
        text += table(["format", "test", "kernels", "tokens/s", "of the best kernels", "of native"], sets)
    if avx2:
        names = [e for e in next(iter(entries.values()))["bytes_per_token"] if "built for" in e and e != base]
        text += ["## A build for AVX2 alone", ""]
        text += table(["format", "test", "threads", "native", *(f"{n.split(',')[0]}, ratio" for n in names)], avx2)
    missed = [v for v in result["verdicts"] if not v["passed"]]
    text += ["## Targets", "", f"{len(result['verdicts']) - len(missed)} reached, {len(missed)} missed.", ""]
    text += table(["format", "missed", "reached", "target"],
                  [[v["format"], v["what"], f"{v['reached']:.2f}", f"{v['target']:.2f}"] for v in missed])
    if result["noise"]["largest"] > 0.1:
        text += ["**Noisy: equal programs differed by more than a tenth. Repeat on a quiet machine (`--wait SECONDS`).**", ""]
    return "\n".join(text)
