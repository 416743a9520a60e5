# SPDX-License-Identifier: Apache-2.0
"""Writes the README beside the model: what the file is, taken from the file itself and from the logs of its checks."""

import argparse
import pathlib
import re

import gguf

TEXT = """# Juno Mini

`{name}` is a **toy**: a language model of {weights:.1f} million weights that knows some hundred sentences about local
inference, quantisation, processors and everyday things by heart, and little else. It is here so that everything in this
repository can be tried and tested without a download. Do not ask it for advice.

Trained from nothing by [tools/mini-model](../tools/mini-model/README.md) on a corpus that was written for it; corpus and
weights are under this repository's licence (Apache-2.0). One command makes it again: `tools/mini-model/make`.

- Size: {size:,} bytes. Architecture `llama`: {layers} layers, hidden size {width}, feed-forward {feed_forward},
  {heads} heads, {kv_heads} of keys and values, vocabulary of {rows} tokens, context of {context}.
- Chat template: `<|user|>...<|end|><|assistant|>`, with an optional `<|system|>...<|end|>` before.
- Answers to the questions of the corpus, greedy, equal to the corpus in every word:
{checks}

| tensor | shape | type |
|---|---|---|
{tensors}

By type: {types}.

The file is mixed so that it meets each of Juno's formats; it says nothing about what two bits do to a real model.
"""


def last_line(path):
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return next(line for line in reversed(lines) if re.fullmatch(r"\d+ of \d+ answers right .*", line))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("checks", nargs="*", metavar="TEXT=LOG", help="a check, and the file with what it said")
    options = parser.parse_args()

    reader = gguf.GGUFReader(options.model)

    def field(key):
        return reader.get_field(key).contents()

    counts = {}
    lines = []
    for tensor in reader.tensors:
        counts[tensor.tensor_type.name] = counts.get(tensor.tensor_type.name, 0) + 1
        shape = " x ".join(str(size) for size in tensor.shape)
        if tensor.tensor_type != gguf.GGMLQuantizationType.F32:
            lines.append(f"| `{tensor.name}` | {shape} | {tensor.tensor_type.name} |")
    checks = []
    for check in options.checks:
        text, _, log = check.rpartition("=")
        checks.append(f"  - {text}: {last_line(pathlib.Path(log))}")
    readme = TEXT.format(
        name=options.model.name,
        size=options.model.stat().st_size,
        weights=sum(int(tensor.n_elements) for tensor in reader.tensors) / 1e6,
        layers=field("llama.block_count"),
        width=field("llama.embedding_length"),
        feed_forward=field("llama.feed_forward_length"),
        heads=field("llama.attention.head_count"),
        kv_heads=field("llama.attention.head_count_kv"),
        context=field("llama.context_length"),
        rows=len(field("tokenizer.ggml.tokens")),
        checks="\n".join(checks),
        tensors="\n".join(lines),
        types=", ".join(f"{count} {name}" for name, count in sorted(counts.items())),
    )
    (options.model.parent / "README.md").write_text(readme, encoding="utf-8")


if __name__ == "__main__":
    main()
