#!/usr/bin/env python3
"""Exports one language model as four programs over one set of weights and caches:
tests/golden/entries.tar.xz.

    torch_entries.py FOLDER

Needs PyTorch. FOLDER gets
  - lm.pt2, an archive with the programs prefill, decode, evaluate and cached;
  - prefill.pt2 … cached.pt2, each alone;
  - read.pt2 and write.pt2, over two buffers that are parts of one storage;
  - cases.safetensors: what is asked, and what PyTorch answers, in this order: prefill of `prompt`, then decode of `next.K` at
    `at.K` for K = 0, 1, 2, then cached; and evaluate of `text` at any time.
"""
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch.export import Dim, export, save
from torch.export.pt2_archive._package import package_pt2


class LanguageModel(torch.nn.Module):
    """One layer of attention with a cache of keys and values."""

    def __init__(self, words=48, width=16, longest=24):
        super().__init__()
        self.embed = torch.nn.Embedding(words, width)
        self.query, self.key, self.value = (torch.nn.Linear(width, width) for _ in range(3))
        self.head = torch.nn.Linear(width, words)
        self.register_buffer("keys", torch.zeros(1, longest, width))
        self.register_buffer("values", torch.zeros(1, longest, width))

    def attend(self, q, k, v, mask):
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        return torch.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v

    def logits(self, tokens):
        x = self.embed(tokens)
        k, v = self.key(x), self.value(x)
        n = torch.arange(tokens.shape[1])
        return k, v, self.head(x + self.attend(self.query(x), k, v, n[:, None] >= n[None, :]))


class Prefill(torch.nn.Module):
    def __init__(self, lm):
        super().__init__()
        self.lm = lm

    def forward(self, tokens):
        k, v, logits = self.lm.logits(tokens)
        self.lm.keys[:, : tokens.shape[1]] = k
        self.lm.values[:, : tokens.shape[1]] = v
        return logits[:, -1]


class Decode(Prefill):
    def forward(self, token, at):
        lm = self.lm
        x = lm.embed(token)
        lm.keys.index_copy_(1, at, lm.key(x))
        lm.values.index_copy_(1, at, lm.value(x))
        mask = torch.arange(lm.keys.shape[1])[None, None, :] <= at
        return lm.head(x + lm.attend(lm.query(x), lm.keys, lm.values, mask))[:, -1]


class Evaluate(Prefill):
    def forward(self, tokens):
        logits = self.lm.logits(tokens)[2]
        return torch.nn.functional.cross_entropy(logits[0, :-1], tokens[0, 1:])


class Cached(Prefill):
    def forward(self):
        # What is read of the caches alone, in several steps: it changes whenever the others run.
        return self.lm.keys.abs().sum((0, 2)).cumsum(0), self.lm.values.abs().sum((0, 2)).cumsum(0).softmax(0)


class Parts(torch.nn.Module):
    """Two buffers that are parts of one storage, and overlap."""

    def __init__(self):
        super().__init__()
        whole = torch.arange(10.0)
        self.register_buffer("left", whole[:6])
        self.register_buffer("right", whole[4:])


class Read(torch.nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return self.parts.left + x, self.parts.right + x


class Write(Read):
    def forward(self, x):
        self.parts.left.copy_(x)
        return self.parts.right * 2


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(20)
    lm = LanguageModel().eval()
    prompt, text = torch.randint(48, (1, 7)), torch.randint(48, (1, 11))
    size = {"tokens": {1: Dim("n", min=3, max=24)}}
    programs = {
        "prefill": export(Prefill(lm), (prompt,), dynamic_shapes=size, strict=False),
        "decode": export(Decode(lm), (prompt[:, :1], torch.tensor([3])), strict=False),
        "evaluate": export(Evaluate(lm), (text,), dynamic_shapes=size, strict=False),
        "cached": export(Cached(lm), (), strict=False),
    }
    package_pt2(folder / "lm.pt2", exported_programs=programs)
    for name, program in programs.items():
        save(program, folder / f"{name}.pt2")
    parts, x = Parts(), torch.full((6,), 100.0)
    save(export(Read(parts), (x,), strict=False), folder / "read.pt2")
    save(export(Write(parts), (x,), strict=False), folder / "write.pt2")
    cases = {"prompt": prompt, "text": text}
    with torch.no_grad():
        lm.keys.zero_(), lm.values.zero_()
        cases["prefill"] = Prefill(lm)(prompt)
        logits = cases["prefill"]
        for k in range(3):
            cases[f"next.{k}"], cases[f"at.{k}"] = logits.argmax(-1, keepdim=True), torch.tensor([prompt.shape[1] + k])
            logits = cases[f"decode.{k}"] = Decode(lm)(cases[f"next.{k}"], cases[f"at.{k}"])
        cases["cached.0"], cases["cached.1"] = Cached(lm)()
        cases["evaluate"] = Evaluate(lm)(text)
    save_file({name: t.clone().contiguous() for name, t in cases.items()}, folder / "cases.safetensors")


main()
