#!/usr/bin/env python3
"""Makes golden cases of PyTorch's operator database, and of operators of other libraries
(torch_other_ops.py): samples of every operator, exported, with results and gradients.

    torch_op_cases.py OUT [--dtypes f32,bf16] [--ops GLOB] [--samples N] [--seed S]
    ingot check --suite OUT --grad

The layout is that of tests/golden/ops.tar.xz: OUT/NAME/DTYPE_K.pt2 and .safetensors,
OUT/index.json. Another seed draws other samples and other numbers. Needs PyTorch 2.14 with
torch.testing; no test does.
"""
import argparse
import fnmatch
import json
import logging
import os
import pathlib
import random
import signal
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from safetensors.torch import save_file
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from torch_other_ops import OTHERS

DTYPES = {
    "f32": torch.float32, "bf16": torch.bfloat16, "f64": torch.float64, "f16": torch.float16, "i64": torch.int64,
    "i32": torch.int32, "u8": torch.uint8, "b8": torch.bool, "c64": torch.complex64, "i8": torch.int8, "i16": torch.int16,
}
LARGEST = 60000


class Call(torch.nn.Module):
    """The operator as a function of the tensors among its arguments."""

    def __init__(self, op, leaves, spec):
        super().__init__()
        self.op, self.leaves, self.spec = op, leaves, spec

    def forward(self, *tensors):
        given = iter(tensors)
        leaves = [next(given) if isinstance(l, torch.Tensor) else l for l in self.leaves]
        input, args, kwargs = pytree.tree_unflatten(leaves, self.spec)
        result = self.op(input, *args, **kwargs)
        return tuple(result) if isinstance(result, tuple) else result  # no names, which export cannot write


def tensors_of(tree):
    return [l for l in pytree.tree_leaves(tree) if isinstance(l, torch.Tensor)]


def differentiable(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def comparable(t):
    return torch.nan_to_num(t.float() if t.dtype.itemsize == 1 else t)


def same(a, b):
    return all(x.shape == y.shape and torch.equal(comparable(x), comparable(y)) if differentiable(x) else torch.equal(x, y)
               for x, y in zip(a, b))


def stored(t):
    return t.detach().resolve_conj().resolve_neg().contiguous().clone()


def as_double(t):
    return t.detach().double() if t.dtype in (torch.float32, torch.float16, torch.bfloat16) else t.detach()


def turned(exact, out):
    """Eigenvectors in float64 with the signs that they have in `out`."""
    values, vectors = exact
    signs = torch.sign((vectors * out[1].double()).sum(-2, keepdim=True))
    return [values, vectors * signs.detach()]


def is_far(a, exact):
    return a.shape == exact.shape and bool(((a.double() - exact).abs() > 1e-5 + 1.3e-6 * exact.abs()).any())


def exact_results(op, leaves, spec, given, out, roots, wanted, tangents):
    """What the same operator makes in float64 of the same numbers: its results, and its
    gradients."""
    doubles = [as_double(t).requires_grad_(t.requires_grad) for t in given]
    results = tensors_of(Call(op.op, leaves, spec)(*doubles))
    if op.name == "linalg.eigh":
        results = turned(results, out)
    if any(differentiable(t) and t.dtype != torch.float64 for t in results):
        return {}, {}
    grads = []
    if roots:
        grads = torch.autograd.grad([results[k] for k, _ in roots], [doubles[k] for k, _ in wanted],
                                    [as_double(t) for t in tangents], allow_unused=True)
    return dict(enumerate(results)), {k: g for (k, _), g in zip(wanted, grads) if g is not None}


def make_case(op, sample, dtype, folder, name, with_gradients):
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    module = Call(op.op, leaves, spec)
    given = [l for l in leaves if isinstance(l, torch.Tensor)]
    inputs = [t.detach() for t in given]
    if any(t.layout != torch.strided or t.numel() > LARGEST for t in inputs) or not inputs:
        return None
    copies = lambda: [t.clone(memory_format=torch.preserve_format) for t in inputs]
    exported = torch.export.export(module, tuple(copies()), strict=False)
    out = tensors_of(module(*copies()))
    if not out or any(t.layout != torch.strided or t.numel() > LARGEST for t in out):
        return None
    facts = {"grad": False, "random": not same(out, tensors_of(module(*copies()))), "strides": {}}
    facts["targets"] = sorted({str(n.target) for n in exported.graph.nodes if n.op == "call_function"})
    data = {}
    for k, t in enumerate(inputs):
        data["in.%d" % k] = stored(t)
        facts["strides"]["in.%d" % k] = list(t.stride())
    for k, t in enumerate(out):
        data["out.%d" % k] = stored(t)
        facts["strides"]["out.%d" % k] = list(t.stride())
    roots, wanted, tangents = [], [], []
    if with_gradients and not facts["random"]:
        leaf = [t.requires_grad_(like.requires_grad) for t, like in zip(copies(), given)]
        roots = [(k, t) for k, t in enumerate(tensors_of(module(*leaf))) if t.requires_grad]
        wanted = [(k, t) for k, t in enumerate(leaf) if t.requires_grad]
        if roots and wanted:
            tangents = [torch.randn_like(t) for _, t in roots]
            try:
                grads = torch.autograd.grad([t for _, t in roots], [t for _, t in wanted], tangents, allow_unused=True)
                if any(g is not None and g.layout != torch.strided for g in grads):
                    return None
                facts["grad"] = True
                for (k, _), t in zip(roots, tangents):
                    data["tangent.%d" % k] = stored(t)
                for (k, _), g in zip(wanted, grads):
                    if g is not None:
                        data["grad.%d" % k] = stored(g)
            except Exception:
                roots = []  # PyTorch has no gradient of it
    if dtype in (torch.float32, torch.float16, torch.bfloat16) and not facts["random"]:
        # Where rounding takes PyTorch past the usual bound, what it rounded is stored beside it.
        try:
            results, grads = exact_results(op, leaves, spec, given, out, roots, wanted, tangents)
        except Exception:
            results, grads = {}, {}  # it has no such form
        for kind, found in (("out", results), ("grad", grads)):
            for k, t in found.items():
                key = "%s.%d" % (kind, k)
                if differentiable(t) and key in data and is_far(data[key], t):
                    data["exact." + key] = stored(t)
    folder.mkdir(parents=True, exist_ok=True)
    torch.export.save(exported, folder / (name + ".pt2"))
    save_file(data, folder / (name + ".safetensors"))
    return facts


def cases_of(op, entry, code, options):
    """Facts of the cases made of one operator and dtype, by name, and what went wrong."""
    dtype = DTYPES[code]
    torch.manual_seed(options.seed)
    draw = random.Random("%d %s %s" % (options.seed, entry, code))
    with_gradients = op.supports_autograd and dtype in op.backward_dtypes and (dtype.is_floating_point or dtype.is_complex)
    made, wrong = {}, None
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=with_gradients))
    for k in sorted(draw.sample(range(len(samples)), min(options.samples, len(samples)))):
        name = "%s_%d" % (code, k)
        try:
            facts = make_case(op, samples[k], dtype, options.out / entry, name, with_gradients)
        except Exception as e:
            wrong = str(e).split("\n")[0][:100]
            continue
        if facts:
            made["%s/%s" % (entry, name)] = facts
    return made, wrong


def in_child(f):
    """What f returns, computed in a process of its own: some operators crash, and some take for
    ever."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        with os.fdopen(write, "w") as to:
            json.dump(f(), to)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    status = os.waitpid(child, 0)[1]
    return json.loads(text) if status == 0 else ({}, "ended by signal %d" % os.WTERMSIG(status))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--dtypes", default="f32,bf16,i64,b8,c64,f64")
    parser.add_argument("--ops", default="*")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    index, skipped = {}, []
    for code in options.dtypes.split(","):
        for op in list(op_db) + OTHERS:
            entry = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
            if not fnmatch.fnmatch(entry, options.ops) or DTYPES[code] not in op.dtypes:
                continue
            made, wrong = in_child(lambda: cases_of(op, entry, code, options))
            index.update(made)
            if wrong:
                skipped.append("%s %s: %s" % (entry, code, wrong))
            (options.out / "index.json").write_text(json.dumps(index, indent=0, sort_keys=True))
        print("%s: %d cases so far, %d entries in part or not at all" % (code, len(index), len(skipped)), flush=True)
    print("\n".join(skipped))


if __name__ == "__main__":
    sys.exit(main())
