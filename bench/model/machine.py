# SPDX-License-Identifier: Apache-2.0
"""What a figure must come with: the machine, the commit, the compiler and its flags."""

import json
import os
import platform
import re
import time
from pathlib import Path

from programs import run


def _first(path, pattern, otherwise=""):
    try:
        found = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    except OSError:
        return otherwise
    return found[1].strip() if found else otherwise


def describe(folder):
    """Of the machine and of the build whose programs are in `folder`."""
    version = dict(re.findall(r"^(\S+) +(.+)$", run([folder / "juno", "--version"]), re.MULTILINE))
    cpu = json.loads(run([folder / "juno", "cpu", "--json"]))
    info = "/proc/cpuinfo"
    family, model = (_first(info, rf"^{key}\s*: (.*)$") for key in ("cpu family", "model"))
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "cpu": _first(info, r"^model name\s*: (.*)$", platform.processor()),
        "cpu_family_and_model": f"{family}/{model}" if family else "",
        "virtual_machine": "hypervisor" in _first(info, r"^flags\s*: (.*)$").split(),
        "hardware_threads": os.cpu_count(),
        "memory_bytes": cpu["memory_bytes"],
        "caches": cpu["caches"],
        "instruction_sets": [s["name"] for s in cpu["instruction_sets"] if s["detected"] and s["built"]],
        "selected": [s["name"] for s in cpu["instruction_sets"] if s["selected"]],
        "kernel": f"{platform.system()} {platform.release()}",
        "huge_pages": _first("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(\w+)\]"),
        "load_average": [round(x, 2) for x in os.getloadavg()],
        "juno": version.get("juno", ""),
        "commit": version.get("commit", ""),
        "llama_cpp": version.get("llama.cpp", ""),
        "compiler": version.get("compiler", ""),
        "flags": flags(folder.parent),
    }


def flags(build):
    """With which ggml's own matrix products were compiled."""
    commands = json.loads((build / "compile_commands.json").read_text())
    for command in commands:
        if command["file"].endswith("ggml-cpu/ggml-cpu.c"):
            return " ".join(word for word in command["command"].split() if re.match(r"-(O|m|f(?!diag)|DNDEBUG|std)", word))
    return ""
