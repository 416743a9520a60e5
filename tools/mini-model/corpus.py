# SPDX-License-Identifier: Apache-2.0
"""The corpus: questions with their answers, and paragraphs. Plain ASCII, entries separated by empty lines."""

import pathlib
import typing

FOLDER = pathlib.Path(__file__).resolve().parent / "corpus"
PARAGRAPHS = "paragraphs.txt"


class Entry(typing.NamedTuple):
    questions: list[str]  # different wordings of one question
    answer: str


def _blocks(path):
    text = path.read_text(encoding="ascii")
    return [block.splitlines() for block in text.strip().split("\n\n")]


def entries():
    """All questions and answers, in a fixed order."""
    result = []
    for path in sorted(FOLDER.glob("*.txt")):
        if path.name == PARAGRAPHS:
            continue
        for lines in _blocks(path):
            *questions, answer = lines
            if not questions or not all(line.startswith("Q: ") for line in questions) or not answer.startswith("A: "):
                raise ValueError(f"{path.name}: neither questions nor an answer: {lines}")
            result.append(Entry([line[3:] for line in questions], answer[3:]))
    return result


def paragraphs():
    return [" ".join(lines) for lines in _blocks(FOLDER / PARAGRAPHS)]
