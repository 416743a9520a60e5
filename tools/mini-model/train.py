# SPDX-License-Identifier: Apache-2.0
"""Trains the model until it knows the corpus by heart, and writes it as a float32 GGUF file and a calibration text."""

import argparse
import math
import pathlib
import random
import re
import time

import torch
from torch.nn import functional

import corpus
import export
import model
import tokeniser

ROWS = 1403  # of the vocabulary; no multiple of 64, so that kernels meet a ragged last block
SEED = 20
STEPS = 900
TOKENS_PER_STEP = 1536
# Of the training rows, in turn; mostly short, because attention over long ones costs.
LENGTHS = (128, 128, 128, 192, 128, 128, 192, model.CONTEXT)
PEAK_RATE = 2e-3
WARM_UP = 100
WEIGHT_DECAY = 0.02
# What the later quantisation does to the weights looks like noise. Training with noise of that size makes the model
# one whose answers survive it. The sizes are relative to the weights' root mean square, as measured on such a model.
TYPES = pathlib.Path(__file__).resolve().parent / "types.txt"
NOISE = {
    "q2_k": 0.28,
    "iq2_xs": 0.30,
    "iq2_s": 0.25,
    "iq3_xxs": 0.19,
    "iq3_s": 0.14,
    "iq4_xs": 0.08,
    "q5_k": 0.04,
    "q6_k": 0.02,
}
MARGIN = 1.2
NOISE_FROM, NOISE_FULL = 0.1, 0.4  # fractions of the training in which the noise grows
SYSTEM_PROMPTS = ["You are a helpful assistant.", "You are Juno Mini, a small assistant.", "Answer briefly."]


def turn(role, text):
    return f"<|{role}|>{text}{tokeniser.END}"


class Examples:
    """Endless training text: pairs of (text, whether the model shall learn to write it)."""

    def __init__(self, rng):
        self._rng = rng
        self._entries, self._paragraphs = corpus.entries(), corpus.paragraphs()
        self._bag = []

    def texts(self):
        return [text for entry in self._entries for text in (*entry.questions, entry.answer)] + self._paragraphs

    def _entry(self):
        if not self._bag:
            self._bag = self._rng.sample(self._entries, len(self._entries))
        return self._bag.pop()

    def _question(self, entry):
        """Now and then as people type in a hurry."""
        question = self._rng.choice(entry.questions)
        if self._rng.random() < 0.1:
            question = question.rstrip("?.!")
        if self._rng.random() < 0.1:
            question = question.lower()
        return question

    def pieces(self):
        """One row of training text, without end: a paragraph or an answer without a chat around it, then a chat."""
        kind = self._rng.random()
        if kind < 0.12:
            yield self._rng.choice(self._paragraphs) + tokeniser.END, True
        elif kind < 0.24:
            entry = self._entry()
            yield self._question(entry), False
            yield f" {entry.answer}{tokeniser.END}", True
        elif kind < 0.36:
            yield turn("system", self._rng.choice(SYSTEM_PROMPTS)), False
        while True:
            entry = self._entry()
            yield turn("user", self._question(entry)) + "<|assistant|>", False
            yield entry.answer + tokeniser.END, True


def batch(examples, coder, length):
    """Tokens, and the same tokens as targets, with -100 (ignore) where there is nothing to learn."""
    rows, targets = [], []
    for _ in range(TOKENS_PER_STEP // length):
        row, target = [], []
        pieces = examples.pieces()
        while len(row) <= length:
            text, learn = next(pieces)
            ids = coder.encode(text)
            row += ids
            target += ids if learn else [-100] * len(ids)
        rows.append(row[:length])
        targets.append(target[1 : length + 1])
    return torch.tensor(rows), torch.tensor(targets)


def is_matrix(name):
    return "norm" not in name


def noise_of(names):
    """How strong the noise of each matrix must be; the first pattern that is found decides, as in llama-quantize."""
    rules = [line.rsplit("=", 1) for line in TYPES.read_text(encoding="ascii").split()]
    return {
        name: MARGIN * next(NOISE[type_name] for pattern, type_name in rules if re.search(pattern, name))
        for name in names
        if is_matrix(name)
    }


class Noise:
    """Normally distributed noise, cut from one pool because drawing it anew for each step would take too long."""

    def __init__(self, weights, generator):
        self._generator = generator
        self._pool = torch.randn(4 * max(weight.numel() for weight in weights.values()), generator=generator)
        self._strengths = noise_of(weights)

    def add(self, weights, share):
        noisy = {}
        for name, weight in weights.items():
            if share > 0 and name in self._strengths:
                size = weight.numel()
                start = int(torch.randint(len(self._pool) - size, (1,), generator=self._generator))
                deviation = share * self._strengths[name] * weight.detach().pow(2).mean(1, keepdim=True).sqrt()
                weight = weight + self._pool[start : start + size].view_as(weight) * deviation
            noisy[name] = weight
        return noisy


def rate(step, steps):
    if step < WARM_UP:
        return PEAK_RATE * (step + 1) / WARM_UP
    progress = (step - WARM_UP) / max(1, steps - WARM_UP)
    return PEAK_RATE * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))


def noise_share(step, steps):
    return min(1.0, max(0.0, (step / steps - NOISE_FROM) / (NOISE_FULL - NOISE_FROM)))


def train(steps):
    rng = random.Random(SEED)
    generator = torch.Generator().manual_seed(SEED)
    examples = Examples(rng)
    coder = tokeniser.Tokeniser.train(examples.texts(), ROWS)
    weights = model.new_weights(ROWS, generator)
    for weight in weights.values():
        weight.requires_grad_()
    noise = Noise(weights, generator)
    optimiser = torch.optim.AdamW(
        [
            {"params": [w for name, w in weights.items() if is_matrix(name)], "weight_decay": WEIGHT_DECAY},
            {"params": [w for name, w in weights.items() if not is_matrix(name)], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.98),
    )
    dtype = model.product_type()
    begin, total = time.monotonic(), 0.0
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate(step, steps)
        tokens, targets = batch(examples, coder, LENGTHS[step % len(LENGTHS)])
        share = noise_share(step, steps)
        logits = model.forward(noise.add(weights, share), tokens, dtype)
        loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
        optimiser.step()
        total += loss.item()
        if (step + 1) % 25 == 0:
            elapsed = time.monotonic() - begin
            print(f"step {step + 1}/{steps}, loss {total / 25:.4f}, noise {share:.2f}, {elapsed:.0f} s", flush=True)
            total = 0.0
    return coder, {name: weight.detach() for name, weight in weights.items()}


def calibration(rows=60):
    """Text for llama-imatrix: what the model will see in use."""
    examples = Examples(random.Random(SEED + 1))
    lines = []
    for _ in range(rows):
        pieces = examples.pieces()
        lines.append("".join(next(pieces)[0] for _ in range(12)))
    return "".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path, help="where to write float32.gguf and calibration.txt")
    parser.add_argument("--steps", type=int, default=STEPS)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    coder, weights = train(options.steps)
    export.write(options.folder / "float32.gguf", coder, weights)
    (options.folder / "calibration.txt").write_text(calibration(), encoding="ascii")


if __name__ == "__main__":
    main()
