#!/usr/bin/env python3
"""Runs libraries that Ingot made with PyTorch's own runner, and compares with PyTorch.

    torch_runner_check.py make INGOT GOLDEN FOLDER [OPTIONS OF ingot compile]
    torch_runner_check.py check FOLDER [RUNS]

`make` needs no PyTorch: it compiles every model of GOLDEN (tests/golden/models.tar.xz, unpacked)
into FOLDER, as a library and as a package. `check` needs PyTorch (2.11 or later; 2.6 for what it
has), on a machine that the libraries were made for:

  - every case of the model, with the numbers of GOLDEN and with those of eager PyTorch here, new values of buffers and of inputs
    that the program writes among them; by the runner of containers and by aoti_load_package;
  - constants updated in the inactive buffer and swapped in;
  - a call that must fail: what it says, and that the inputs are still their owner's;
  - RUNS runs (10000) of the first case, over which the process may not grow.

FOLDER may also have the library of a torchvision model, compiled with --weights none, without the
rest. Exit status 1 if anything differs.
"""
import contextlib
import copy
import gc
import json
import logging
import pathlib
import shutil
import subprocess
import sys
import warnings

warnings.filterwarnings("ignore")


def make(ingot, golden, folder, options):
    folder.mkdir(parents=True, exist_ok=True)
    for model in sorted(p.parent for p in golden.glob("*/model.pt2")):
        name = model.name
        library = folder / f"{name}.so"
        subprocess.run([ingot, "compile", model / "model.pt2", "-o", library, *options], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([ingot, "package", library, "-o", folder / f"{name}.package.pt2"], check=True, stdout=subprocess.DEVNULL)
        shutil.copy(model / "model.pt2", folder / f"{name}.pt2")
        shutil.copy(model / "meta.json", folder / f"{name}.meta.json")
        for case in model.glob("case*.safetensors"):
            shutil.copy(case, folder / f"{name}.{case.name}")


def tensors(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def difference(got, want, tolerance=(1e-4, 1e-4)):
    worst = 0.0
    assert len(got) == len(want), f"{len(got)} outputs, expected {len(want)}"
    relative, absolute = tolerance
    for g, w in zip(got, want):
        assert g.shape == w.shape and g.dtype == w.dtype, f"{tuple(g.shape)} {g.dtype}, expected {tuple(w.shape)} {w.dtype}"
        torch.testing.assert_close(g, w, rtol=relative, atol=absolute if w.dtype.is_floating_point and w.dtype.itemsize >= 4 else 2e-2)
        worst = max(worst, (g.double() - w.double()).abs().max().item() if g.numel() else 0.0)
    return worst


def numbered(case, prefix):
    return [case[f"{prefix}.{k}"] for k in range(len(case)) if f"{prefix}.{k}" in case]


def compare_case(runner, case, tolerance, said):
    """The runner's results, and what it left in buffers, with those that PyTorch wrote down."""
    got = runner.run([t.clone() for t in numbered(case, "in")])
    got = [g.flatten()[: w.numel()].reshape(w.shape) if g.numel() > 60000 else g for g, w in zip(got, numbered(case, "out"))]
    said.append(f"{difference(got, numbered(case, 'out'), tolerance):.1e}")
    written = {k[len("buffer.") :]: v for k, v in case.items() if k.startswith("buffer.")}
    if written and not hasattr(runner, "extract_constants_map"):
        said.append("this PyTorch does not show buffers")
    elif written:
        constants = runner.extract_constants_map(False)
        said.append(f"buffers {difference([constants[k] for k in written], list(written.values()), tolerance):.1e}")


def compare_eager(runner, program, case, said):
    """The same with eager PyTorch of this version, and what the program wrote into its inputs."""
    leaves, spec = pytree.tree_flatten(copy.deepcopy(program.example_inputs))
    given = iter(numbered(case, "in"))
    args, kwargs = pytree.tree_unflatten([next(given).clone() if isinstance(l, torch.Tensor) else l for l in leaves], spec)
    want = tensors(copy.deepcopy(program).module()(*args, **kwargs))
    inputs = [t.clone() for t in numbered(case, "in")]
    said.append(f"eager {difference(runner.run(inputs), want):.1e}")
    difference(inputs, tensors((args, kwargs)))


def compare_updated(runner, program, case, said):
    """Every constant twice as large."""
    names = runner.get_constant_names_to_original_fqns()
    state = {k: v for k, v in {**program.state_dict, **program.constants}.items() if isinstance(v, torch.Tensor)}
    doubled = {n: (state[f] * 2).detach() for n, f in names.items() if f in state}
    if not doubled:
        return
    runner.update_constant_buffer(doubled, True, False)
    runner.swap_constant_buffer()  # what depends on constants alone is computed again by the next run
    other = copy.deepcopy(program)
    for f in set(names.values()):
        target = other.state_dict.get(f, other.constants.get(f))
        if isinstance(target, torch.Tensor):
            target.data.mul_(2)
    args, kwargs = copy.deepcopy(program.example_inputs)
    want = tensors(other.module()(*args, **kwargs))
    got = runner.run(tensors(copy.deepcopy(program.example_inputs)))
    scale = max([w.abs().max().item() for w in want if w.numel()] + [1.0])
    said.append(f"updated {difference([g / scale for g in got], [w / scale for w in want]):.1e}")


def check_refusal(runner, case):
    inputs = [t.clone() for t in numbered(case, "in")]
    wrong = [torch.zeros(3, 1, 4, 1, 5, dtype=torch.complex64)] + inputs[1:]
    try:
        runner.run(wrong)
    except RuntimeError as e:
        assert str(e), "a failure without a text"
    else:
        raise AssertionError("a complex input of five dims was taken")
    del wrong
    assert all(torch.equal(a, b) for a, b in zip(inputs, numbered(case, "in"))), "an input of a failed run changed"


def resident():
    """Bytes of this process in memory."""
    return int(open("/proc/self/statm").read().split()[1]) * 4096


def compare_memory(runner, case, runs, said):
    inputs = numbered(case, "in")
    for _ in range(max(runs // 10, 100)):
        runner.run(inputs)
    # A leak grows with every run; a huge page that the system gives the process, it gives once.
    for _ in range(2):
        gc.collect()
        before = resident()
        for _ in range(runs):
            runner.run(inputs)
        gc.collect()
        grown = resident() - before
        if grown <= 1 << 20:
            break
    assert grown <= 1 << 20, f"{runs} runs made the process {grown} bytes larger"
    said.append(f"{runs} runs +{grown // 1024} KiB")


@contextlib.contextmanager
def warned():
    """What PyTorch's log of packages warns of meanwhile."""
    said = []

    class Handler(logging.Handler):
        def emit(self, record):
            said.append(record.getMessage())

    log, handler = logging.getLogger("torch._inductor.package.package"), Handler(logging.WARNING)
    log.addHandler(handler)
    try:
        yield said
    finally:
        log.removeHandler(handler)


def compare_package(path, program, case, tolerance, said):
    """The way of a user: the package, by its structure of arguments and results."""
    if program is None:
        return
    with warned() as warnings_of_loading:
        model = torch._inductor.aoti_load_package(str(path))
    assert not warnings_of_loading, f"aoti_load_package says {warnings_of_loading}"
    leaves, spec = pytree.tree_flatten(copy.deepcopy(program.example_inputs))
    given = iter(numbered(case, "in"))
    args, kwargs = pytree.tree_unflatten([next(given).clone() if isinstance(l, torch.Tensor) else l for l in leaves], spec)
    want = numbered(case, "out")
    got = tensors(model(*args, **kwargs))
    got = [g.flatten()[: w.numel()].reshape(w.shape) if g.numel() > 60000 else g for g, w in zip(got, want)]
    said.append(f"package {difference(got, want, tolerance):.1e}")


def check(name, folder, runs):
    try:
        program = torch.export.load(folder / f"{name}.pt2")
    except Exception:
        program = None  # newer versions refuse some files of older ones
    tolerance = json.loads((folder / f"{name}.meta.json").read_text())["tol"]
    cases = [load_file(p) for p in sorted(folder.glob(f"{name}.case*.safetensors"))]

    def load():
        return torch._C._aoti.AOTIModelContainerRunnerCpu(str(folder / f"{name}.so"), 1)

    said = [] if program else ["this PyTorch cannot read the program: no comparison with its eager numbers"]
    for case in cases:
        compare_case(load(), case, tolerance, said)  # buffers as they were at first
        if program:
            compare_eager(load(), program, case, said)
    if program:
        compare_updated(load(), program, cases[0], said)
    compare_package(folder / f"{name}.package.pt2", program, cases[0], tolerance, said)
    runner = load()
    check_refusal(runner, cases[0])
    compare_memory(runner, cases[0], runs, said)
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
    if len(sys.argv) >= 5 and sys.argv[1] == "make":
        return make(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]), sys.argv[5:])
    if len(sys.argv) not in (3, 4) or sys.argv[1] != "check":
        print(__doc__)
        sys.exit(2)
    global torch, pytree, load_file
    import torch
    from safetensors.torch import load_file
    from torch.utils import _pytree as pytree

    folder = pathlib.Path(sys.argv[2])
    torch.manual_seed(0)
    failed = 0
    print("PyTorch", torch.__version__)
    with torch.no_grad():
        for library in sorted(folder.glob("*.so")):
            try:
                name = library.stem
                if (folder / f"{name}.meta.json").exists():
                    check(name, folder, int(sys.argv[3]) if len(sys.argv) == 4 else 10000)
                else:
                    check_torchvision(name, folder)
            except Exception as e:  # every model is tried
                failed += 1
                print(f"{library.stem}: FAILED: {type(e).__name__}: {e}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
