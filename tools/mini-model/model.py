# SPDX-License-Identifier: Apache-2.0
"""A small transformer, computed as llama.cpp computes its architecture "llama", with llama.cpp's tensor names."""

import math
import pathlib

import torch
from torch.nn import functional

LAYERS = 6
WIDTH = 256
FEED_FORWARD = 768
HEADS = 4
KV_HEADS = 2
HEAD_SIZE = WIDTH // HEADS
CONTEXT = 512
ROPE_BASE = 10000.0
NORM_EPSILON = 1e-5


def product_type():
    """Bfloat16 if this processor multiplies it natively, which is several times as fast; float32 everywhere else."""
    facts = pathlib.Path("/proc/cpuinfo")
    fast = facts.exists() and "avx512_bf16" in facts.read_text(encoding="ascii", errors="replace")
    return torch.bfloat16 if fast else torch.float32


def new_weights(rows, generator):
    """Weight matrices have outputs as rows, like a GGUF tensor seen by NumPy."""

    def matrix(outputs, inputs, deviation):
        return torch.randn(outputs, inputs, generator=generator) * deviation

    kv = KV_HEADS * HEAD_SIZE
    residual = 0.02 / math.sqrt(2 * LAYERS)
    weights = {"token_embd.weight": matrix(rows, WIDTH, 0.02)}
    for i in range(LAYERS):
        layer = {
            "attn_norm": torch.ones(WIDTH),
            "attn_q": matrix(WIDTH, WIDTH, 0.02),
            "attn_k": matrix(kv, WIDTH, 0.02),
            "attn_v": matrix(kv, WIDTH, 0.02),
            "attn_output": matrix(WIDTH, WIDTH, residual),
            "ffn_norm": torch.ones(WIDTH),
            "ffn_gate": matrix(FEED_FORWARD, WIDTH, 0.02),
            "ffn_up": matrix(FEED_FORWARD, WIDTH, 0.02),
            "ffn_down": matrix(WIDTH, FEED_FORWARD, residual),
        }
        weights.update({f"blk.{i}.{name}.weight": tensor for name, tensor in layer.items()})
    weights["output_norm.weight"] = torch.ones(WIDTH)
    weights["output.weight"] = matrix(rows, WIDTH, 0.02)
    return weights


def _norm(x, weight):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + NORM_EPSILON) * weight


def _rotation(length):
    frequencies = ROPE_BASE ** (-torch.arange(0, HEAD_SIZE, 2) / HEAD_SIZE)
    angles = torch.arange(length)[:, None] * frequencies
    return angles.cos(), angles.sin()


def _rotate(x, rotation):
    """Turns neighbouring pairs, as llama.cpp does for this architecture (others turn the two halves of a head)."""
    cos, sin = rotation
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


def forward(weights, tokens, dtype=torch.float32):
    """Logits of a batch of token rows; matrix products are computed in this type, all else in float32."""
    batch, length = tokens.shape
    rotation = _rotation(length)
    mask = torch.full((length, length), -math.inf).triu(1)

    def heads(x, count):
        return x.view(batch, length, count, HEAD_SIZE).transpose(1, 2)

    def product(x, name):
        return (x.to(dtype) @ weights[name].to(dtype).T).float()

    x = functional.embedding(tokens, weights["token_embd.weight"])
    for i in range(LAYERS):

        def linear(x, name, layer=i):
            return product(x, f"blk.{layer}.{name}.weight")

        h = _norm(x, weights[f"blk.{i}.attn_norm.weight"])
        q = _rotate(heads(linear(h, "attn_q"), HEADS), rotation)
        k = _rotate(heads(linear(h, "attn_k"), KV_HEADS), rotation).repeat_interleave(HEADS // KV_HEADS, 1)
        v = heads(linear(h, "attn_v"), KV_HEADS).repeat_interleave(HEADS // KV_HEADS, 1)
        scores = (q / math.sqrt(HEAD_SIZE)).to(dtype) @ k.to(dtype).transpose(-1, -2)
        mixed = (scores.float() + mask).softmax(-1).to(dtype) @ v.to(dtype)
        x = x + linear(mixed.transpose(1, 2).flatten(2), "attn_output")
        h = _norm(x, weights[f"blk.{i}.ffn_norm.weight"])
        x = x + linear(functional.silu(linear(h, "ffn_gate")) * linear(h, "ffn_up"), "ffn_down")
    return product(_norm(x, weights["output_norm.weight"]), "output.weight")
