# SPDX-License-Identifier: Apache-2.0
"""A small byte-level BPE tokeniser that cuts ASCII text exactly as llama.cpp does for tokenizer.ggml.pre = gpt-2."""

import collections
import re

SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]
END = "<|end|>"

# llama.cpp's expression, with ASCII classes instead of Unicode ones.
_PIECE = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")
_SPECIAL = re.compile("(" + "|".join(re.escape(text) for text in SPECIAL) + ")")


def _byte_characters():
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {byte: chr(byte) for byte in printable}
    table.update({byte: chr(256 + i) for i, byte in enumerate(others)})
    return [table[byte] for byte in range(256)]


BYTES = _byte_characters()


def _symbols(piece):
    return tuple(BYTES[byte] for byte in piece.encode())


def _join(symbols, pair):
    result, i = [], 0
    while i < len(symbols):
        if symbols[i : i + 2] == pair:
            result.append(pair[0] + pair[1])
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return tuple(result)


class Tokeniser:
    def __init__(self, merges):
        self.merges = merges
        self.tokens = BYTES + [left + right for left, right in merges] + SPECIAL
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._cache = {}

    @classmethod
    def train(cls, texts, rows):
        """Joins the most frequent pair until there are this many rows; ties go to the first in the alphabet."""
        words = collections.Counter(_symbols(piece) for text in texts for piece in _PIECE.findall(text))
        merges = []
        while len(BYTES) + len(merges) + len(SPECIAL) < rows:
            pairs = collections.Counter()
            for symbols, count in words.items():
                for pair in zip(symbols, symbols[1:]):
                    pairs[pair] += count
            best = min(pairs, key=lambda pair: (-pairs[pair], pair))
            merges.append(best)
            joined = collections.Counter()
            for symbols, count in words.items():
                joined[_join(symbols, best)] += count
            words = joined
        return cls(merges)

    def encode(self, text):
        """Special tokens are recognised anywhere in the text."""
        ids = []
        for part in _SPECIAL.split(text):
            if part in SPECIAL:
                ids.append(self._ids[part])
                continue
            for piece in _PIECE.findall(part):
                ids += self._piece(piece)
        return ids

    def _piece(self, piece):
        if piece not in self._cache:
            symbols = _symbols(piece)
            while True:
                known = [pair for pair in zip(symbols, symbols[1:]) if pair in self._ranks]
                if not known:
                    break
                symbols = _join(symbols, min(known, key=self._ranks.__getitem__))
            self._cache[piece] = [self._ids[symbol] for symbol in symbols]
        return self._cache[piece]

    def decode(self, ids):
        values = {character: byte for byte, character in enumerate(BYTES)}
        text = "".join(self.tokens[i] for i in ids if self.tokens[i] not in SPECIAL)
        return bytes(values[character] for character in text).decode(errors="replace")
