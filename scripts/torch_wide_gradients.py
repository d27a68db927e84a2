#!/usr/bin/env python3
"""Exports training steps of the wide zoo's architectures: a loss, and what PyTorch has for the
gradients of the parameters.

    torch_wide_gradients.py WIDE_ZOO.py OUT [COUNT] [GLOB...]
    ingot check --suite OUT --compiled --grad

OUT/NAME has model.pt2, which returns the loss, and expected.safetensors with in.N, loss and
grad.NAME. The loss is the mean of the floating outputs, each weighted by a wave over its elements,
so that no gradient is zero or the same everywhere. Parameters that get no gradient are left out.
Architectures that PyTorch does not export, or whose loss or gradients are not finite, are said and
left out, as are those that have no parameters, and those with gradients of their own
(torch.autograd.Function), which an exported program does not have. What OUT has is not made again.
Needs PyTorch 2.14; no test does.
"""
import fnmatch
import importlib.util
import os
import shutil
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from safetensors.torch import save_file


class Loss(torch.nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *args):
        losses = []
        for t in torch.utils._pytree.tree_leaves(self.model(*args)):
            if isinstance(t, torch.Tensor) and t.is_floating_point():
                t = t.float().flatten()
                losses.append((t * torch.cos(torch.arange(t.shape[0], dtype=torch.float32))).mean())
        return torch.stack(losses).sum()


def tied(model, name):
    "Whether the parameter has other names, with gradients of their own in the exported program."
    named = dict(model.named_parameters(remove_duplicate=False))
    return sum(p is named[name] for p in named.values()) > 1


def make(zoo, name, folder):
    spec = zoo.ZOO[name]
    torch.manual_seed(1)
    model = spec["make"]().eval()
    if not spec.get("keep"):
        zoo.rescale(model)
    step = Loss(model)
    torch.manual_seed(2)
    inputs = spec["inputs"](*spec["sizes"][0])
    if not all(isinstance(t, torch.Tensor) for t in inputs):
        return "an input is no tensor"
    loss = step(*[t.clone() for t in inputs])
    if not loss.requires_grad:
        return "no parameter has a say in the loss"
    loss.backward()
    grads = {n: p.grad for n, p in step.named_parameters() if p.grad is not None}
    if not all(torch.isfinite(t).all() for t in [loss, *grads.values()]):
        return "the loss or a gradient is not finite"
    step.zero_grad()
    exported = torch.export.export(step, inputs, strict=False)
    module = exported.module()
    module(*[t.clone() for t in inputs]).backward()
    for name, p in module.named_parameters():
        if name in grads and p.grad is not None and not tied(step, name):
            if not torch.allclose(p.grad, grads[name], rtol=1e-2, atol=1e-3 * float(grads[name].abs().max())):
                return "the exported program has other gradients in PyTorch too: " + name
    os.makedirs(folder)
    torch.export.save(exported, folder + "/model.pt2")
    known = set(exported.state_dict)
    data = {"in.%d" % i: t for i, t in enumerate(inputs)} | {"loss": loss} | {"grad." + n: g for n, g in grads.items() if n in known}
    save_file({n: t.detach().clone(memory_format=torch.contiguous_format) for n, t in data.items()}, folder + "/expected.safetensors")
    return None


def main():
    path, out = sys.argv[1:3]
    count, globs = int(sys.argv[3]) if len(sys.argv) > 3 else 100, sys.argv[4:] or ["*"]
    spec = importlib.util.spec_from_file_location("wide_zoo", path)
    zoo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(zoo)
    zoo.declare()
    torch.set_num_threads(1)
    for name in zoo.ZOO:
        if count == 0 or not any(fnmatch.fnmatch(name, g) for g in globs):
            continue
        folder = "%s/%s" % (out, name)
        if not os.path.exists(folder):
            try:
                problem = make(zoo, name, folder)
            except Exception as e:
                problem = str(e).split("\n")[0][:150]
            if problem:
                shutil.rmtree(folder, ignore_errors=True)
                print("%s: left out: %s" % (name, problem), flush=True)
                continue
            print(name, flush=True)
        count -= 1


if __name__ == "__main__":
    main()
