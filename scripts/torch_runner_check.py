#!/usr/bin/env python3
"""Runs libraries that Ingot made with PyTorch's own runner, and compares with eager PyTorch.

Needs PyTorch 2.11 or later on an x86_64 machine; FOLDER has NAME.so and NAME.pt2 pairs, and may have the library of a
torchvision model, compiled with --weights none, without a .pt2:

    for m in mlp gpt_tiny resnet_tiny input_mutation; do
      ingot compile $m.pt2 -o FOLDER/$m.so --target x86_64-linux-gnu --cpu x86-64-v3; cp $m.pt2 FOLDER/; done
    CXX=g++ scripts/torch_runner_check.py FOLDER

Every model is run on the inputs it was exported with and, where sizes are open, on a part of them; constants are updated in
the inactive buffer and swapped in; new values of buffers are compared too. Exit status 1 if anything differs.
"""
import copy
import pathlib
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from torch.utils import _pytree as pytree


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def smaller(args, program):
    """The same inputs with every open size cut by a third, or None where nothing is open."""
    if not program.range_constraints:
        return None
    cut = {}

    def part(leaf, node):
        for dim, size in enumerate(node.meta["val"].shape):
            if not isinstance(size, int):
                n = cut.setdefault(str(size), max(2, leaf.shape[dim] * 2 // 3))
                leaf = leaf.narrow(dim, 0, n)
        return leaf.clone()

    users = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    leaves, spec = pytree.tree_flatten(args)
    cut_leaves = [part(l, nodes[u]) if isinstance(l, torch.Tensor) else l for l, u in zip(leaves, users)]
    return pytree.tree_unflatten(cut_leaves, spec)


def difference(got, want):
    worst = 0.0
    assert len(got) == len(want), f"{len(got)} outputs, expected {len(want)}"
    for g, w in zip(got, want):
        assert g.shape == w.shape and g.dtype == w.dtype, f"{tuple(g.shape)} {g.dtype}, expected {tuple(w.shape)} {w.dtype}"
        torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4 if w.dtype.is_floating_point and w.dtype.itemsize >= 4 else 2e-2)
        worst = max(worst, (g.double() - w.double()).abs().max().item() if g.numel() else 0.0)
    return worst


def check(name, folder):
    program = torch.export.load(folder / f"{name}.pt2")

    def load():
        return torch._C._aoti.AOTIModelContainerRunnerCpu(str(folder / f"{name}.so"), 1)

    runner = load()
    said = []
    for label, given in (("exported", program.example_inputs), ("smaller", smaller(program.example_inputs, program))):
        if given is None:
            continue
        module = copy.deepcopy(program).module()
        args, kwargs = copy.deepcopy(given)
        own_args, own_kwargs = copy.deepcopy(given)
        want = tensors(module(*args, **kwargs))
        if label == "smaller":  # buffers as they were at first
            runner = load()
        inputs = tensors((own_args, own_kwargs))
        said.append(f"{label} {difference(runner.run(inputs), want):.1e}")
        difference(inputs, tensors((args, kwargs)))  # what the program wrote into its inputs
        after = dict(module.named_buffers())
        extracted = runner.extract_constants_map(False)
        buffers = [key for key in after if key in extracted]
        if buffers:
            said.append(f"buffers {difference([extracted[k] for k in buffers], [after[k] for k in buffers]):.1e}")

    names = runner.get_constant_names_to_original_fqns()
    state = {k: v for k, v in {**program.state_dict, **program.constants}.items() if isinstance(v, torch.Tensor)}
    doubled = {n: (state[f] * 2).detach() for n, f in names.items() if f in state}
    if doubled:
        runner.update_constant_buffer(doubled, True, False)
        runner.swap_constant_buffer()  # what depends on constants alone is computed again by the next run
        other = copy.deepcopy(program)
        for n, f in names.items():
            target = other.state_dict.get(f, other.constants.get(f))
            if isinstance(target, torch.Tensor):
                target.data.mul_(2)
        args, kwargs = copy.deepcopy(program.example_inputs)
        want = tensors(other.module()(*args, **kwargs))
        got = runner.run(tensors(copy.deepcopy(program.example_inputs)))
        scale = max([w.abs().max().item() for w in want if w.numel()] + [1.0])
        said.append(f"updated {difference([g / scale for g in got], [w / scale for w in want]):.1e}")
    print(f"{name}: agrees ({', '.join(said)})", flush=True)


def check_torchvision(name, folder):
    """A library compiled without weights gets those of a model made here, by their names."""
    import torchvision

    module = getattr(torchvision.models, name)(weights=None).eval()
    for m in module.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    runner = torch._C._aoti.AOTIModelContainerRunnerCpu(str(folder / f"{name}.so"), 1)
    state = module.state_dict()
    names = runner.get_constant_names_to_original_fqns()
    runner.update_constant_buffer({n: state[f] for n, f in names.items() if f in state}, False, False)
    x = torch.randn(1, 3, 224, 224)
    print(f"{name}: agrees ({difference(runner.run([x]), [module(x)]):.1e}, weights given at load)", flush=True)


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    failed = 0
    print("PyTorch", torch.__version__)
    with torch.no_grad():
        for library in sorted(folder.glob("*.so")):
            try:
                exported = (folder / f"{library.stem}.pt2").exists()
                (check if exported else check_torchvision)(library.stem, folder)
            except Exception as e:  # every model is tried
                failed += 1
                print(f"{library.stem}: FAILED: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
