#!/usr/bin/env python3
"""Runs random programs of ingot_program_fuzz in PyTorch: which ones does PyTorch run that Ingot
refuses, and do values differ?

    ingot_program_fuzz wide-aot record 2000 1 > programs.jsonl
    torch_programs.py aot programs.jsonl

WAY: eager, functionalize, aot, aot-keep, aot-min-cut, export (what a library by itself is: its
results are compared with eager PyTorch's); "refusals" for what `ingot_program_fuzz refusals record`
printed. The table has what Ingot did with a program, what PyTorch did in the same way, and how many
there were; then what they said. Programs that eager PyTorch runs are compared with what Ingot's
eager run showed: sizes, dtypes, strides, histories, values and gradients. PyTorch crashes over some
programs: give it few at a time. Needs PyTorch 2.14; no test does.
"""
import collections
import json
import logging
import re
import sys
import warnings

warnings.filterwarnings("ignore")

import numpy as np
import torch
import torch._functorch.config
from torch.testing._internal.two_tensor import TwoTensor

torch.set_num_threads(1)
aten = torch.ops.aten
higher_order = torch.ops.higher_order


# ---- control flow, as tests/support/program_functions.cpp has it
def cond(c, x, y):
    return higher_order.cond(c.sum() > 0, lambda x, y: (x.sin() * y,), lambda x, y: (x - y.cos(),), (x, y))


def map(x, row):
    from torch._higher_order_ops.map import map_impl

    return map_impl(lambda x, y: (x.sin() + y,), (x,), (row,))


def scan(x):
    from torch._higher_order_ops.scan import scan_op

    def step(carried, x):
        n = carried * 0.5 + x.sin()
        return n, n * 2

    return scan_op(step, (torch.zeros_like(x.select(0, 0)),), (x,), ())


def while_loop(x, y):
    from torch._higher_order_ops.while_loop import while_loop_op

    return while_loop_op(lambda i, x, y: i < 3, lambda i, x, y: (i + 1, x * 0.5 + y), (torch.zeros((), dtype=torch.int64), x), (y,))


NAMES = {"torch": torch, "aten": aten, "cond": cond, "map": map, "scan": scan, "while_loop": while_loop}


# ---- inputs, as tests/support/random_program.cpp makes them
def drawn(seed, n):
    with np.errstate(over="ignore"):
        x = np.uint64(seed * 0x9E3779B97F4A7C15 % 2**64) + np.arange(n, dtype=np.uint64) * np.uint64(0xBF58476D1CE4E5B9)
        x = x + np.uint64(0x94D049BB133111EB)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.ldexp(((x ^ (x >> np.uint64(31))) >> np.uint64(11)).astype(np.float64), -53)


def differentiable(dtype):
    return dtype.is_floating_point or dtype.is_complex


def widened(dtype):
    return torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype


def base_values(p, b, sizes, wide):
    base = p["bases"][b]
    dtype = getattr(torch, base["dtype"].removeprefix("torch."))
    n = int(np.prod(sizes, dtype=np.int64))
    if p["grid"]:
        t = aten.add.Scalar(aten.mul.Scalar(torch.arange(n, dtype=dtype), 0.1), 0.05 * (b + 1)).view(sizes)
        return t.to(widened(dtype) if wide else dtype).clone()
    u = drawn(p["seed"] * 64 + b, n * (2 if dtype.is_complex else 1))
    if dtype == torch.bool:
        v = (u < 0.5).astype(np.float64)
    elif base["below"] > 0:
        v = np.floor(u * base["below"])
    elif not differentiable(dtype):
        v = np.floor(u * 16) - (0 if dtype == torch.uint8 else 8)
    else:
        v = np.ldexp(np.floor(u * 1024) - 512, -6 if p["seed"] % 3 == 0 else -8) + base["shift"]
    t = torch.from_numpy(v)
    if dtype.is_complex:
        t = torch.view_as_complex(t.view(-1, 2))
    t = t.to(dtype)
    return t.to(widened(dtype) if wide else dtype).view(sizes).clone()


def make_inputs(p, sizes, gradients, wide):
    leaves, bases, inputs = [], [], []
    for b, base in enumerate(p["bases"]):
        leaf = base_values(p, b, [n if n >= 0 else sizes[-1 - n] for n in base["sizes"]], wide)
        if p["wrapped"]:
            leaf = TwoTensor(leaf, leaf * 0.5 if differentiable(leaf.dtype) else leaf.clone())
        if gradients and base["requires_grad"]:
            leaf.requires_grad_()
        leaves.append(leaf)
        bases.append(leaf if base["leaf"] else aten.mul.Scalar(leaf, 1.0) if differentiable(leaf.dtype) else leaf.clone())
    for i in p["inputs"]:
        names = dict(NAMES, t0=bases[i["base"]])
        for k, line in enumerate(i["views"]):
            exec(line, names)
        inputs.append(names["t%d" % len(i["views"])])
    return leaves, bases, inputs


def program_of(p, wide=False):
    code = p["python"]
    if wide:
        code = re.sub(r"torch\.(float16|float32|bfloat16)", "torch.float64", code)
        code = code.replace("torch.complex64", "torch.complex128")
    names = dict(NAMES)
    exec(code, names)
    return names["program"]


# ---- what a caller sees, as tests/support/seen.cpp says it
def parts(name, t):
    return [(name + ".a", t.a), (name + ".b", t.b)] if isinstance(t, TwoTensor) else [(name, t)]


def lies(t):
    return "[" + ", ".join(str(s) if n > 1 and t.numel() > 0 else "-" for n, s in zip(t.shape, t.stride())) + "]"


def values(t):
    t = t.detach().clone()
    if t.dtype.is_complex:
        t = torch.view_as_real(t.resolve_conj())
    return t.to(torch.float64).flatten().numpy()


def facts(t, strides):
    return "%s%s%s" % (t.dtype, list(t.shape), " strides " + lies(t) if strides else "")


class Run:
    """A program run in one way on fresh inputs, and what is seen of it."""

    def __init__(self, p, run, transform, gradients, wide=False):
        leaves, bases, inputs = make_inputs(p, run.get("sizes", []), gradients, wide)
        versions = [t._version for t in inputs]
        torch.manual_seed(p["seed"])
        results = list(transform(program_of(p, wide))(*inputs))
        free_strides = run.get("free_strides", [])
        self.seen = []
        with torch.no_grad():
            for kind, all in (("result", results), ("base", bases), ("input", inputs)):
                for k, t in enumerate(all):
                    more = (", requires grad" if t.requires_grad else "") + (", a leaf" if t.is_leaf else "")
                    if kind == "input" and run.get("counts_writes", True) and t._version > versions[k]:
                        more += ", written"
                    for name, part in parts("%s %d" % (kind, k), t):
                        self.seen.append((name, facts(part, "%s %d" % (kind, k) not in free_strides) + more, values(part)))
        self.gradients, self.refusals = {}, {}
        if not gradients:
            return
        tracked = [t for t in leaves if t.requires_grad and t.is_leaf]
        roots = [("result %d" % k, t) for k, t in enumerate(results)] + [("input %d" % k, t) for k, t in enumerate(inputs)]
        groups = [("all", [t for _, t in roots])] if p["wrapped"] else [(n, [t]) for n, t in roots]
        for name, group in groups:
            group = [t for t in group if t.requires_grad]
            if not group or not tracked:
                continue
            seeds = []
            for t in group:
                s = torch.remainder((torch.arange(t.numel(), dtype=torch.float32) * 0.25 + 1).view(t.shape), 2.125).to(t.dtype)
                seeds.append(TwoTensor(s, s.clone()) if isinstance(t, TwoTensor) else s)
            try:
                grads = torch.autograd.grad(group, tracked, seeds, retain_graph=True, allow_unused=True)
            except Exception as e:
                self.refusals[name] = said(e)
                continue
            with torch.no_grad():
                for i, g in enumerate(grads):
                    g = torch.zeros_like(tracked[i]) if g is None else g
                    for part_name, part in parts("gradient %d of %s" % (i, name), g):
                        self.gradients[part_name] = (facts(part, False), values(part))


def said(e):
    """The first line of a refusal, without numbers."""
    lines = [l for l in str(e).split("\n") if l.strip()] or [type(e).__name__]
    return type(e).__name__ + ": " + re.sub(r"[0-9]+", "N", lines[0])[:160]


UNITS = {"torch.float64": 2.0**-52, "torch.complex128": 2.0**-52, "torch.float16": 2.0**-10, "torch.bfloat16": 2.0**-7}


def off(have, want, fact, wide):
    """How far two lists of numbers are apart, if further than rounding explains."""
    if len(have) != len(want):
        return "other sizes"
    same = (have == want) | (np.isnan(have) & np.isnan(want))
    if same.all():
        return None
    dtype = re.match(r"torch\.\w+", fact).group()
    if not re.search("float|complex", dtype):
        return "%s against PyTorch's %s" % (want[~same][:4], have[~same][:4])
    unit = UNITS.get(dtype, 2.0**-23)
    finite = have[np.isfinite(have)]
    allowed = 32 * unit * (np.abs(finite).max() if len(finite) else 0)
    if wide is not None and len(wide) == len(have):
        apart = np.abs(wide - have)
        apart = apart[np.isfinite(apart)]
        allowed += 16 * (apart.max() if len(apart) else 0)
    bad = ~same & ~(np.abs(have - want) <= np.maximum(allowed, 4 * unit * np.abs(have)))
    if not bad.any():
        return None
    return "%s against PyTorch's %s, allowed %g" % (want[bad][:4], have[bad][:4], allowed)


def difference(ours, torch_run, wide):
    """The first thing in which Ingot's eager run is another than PyTorch's."""
    wide_seen = {n: v for n, _, v in wide.seen} if wide else {}
    for have, want in zip(torch_run.seen, ours["seen"]):
        name, fact, numbers = have
        if name != want["what"] or fact != want["facts"]:
            return "facts", "%s: %s against PyTorch's %s" % (want["what"], want["facts"], fact)
        if ours["draws"]:
            continue
        d = off(numbers, np.array([float(x) for x in want["values"]]), fact, wide_seen.get(name))
        if d:
            return "values", "%s %s: %s" % (name, fact, d)
    for g in ours.get("gradients", []):
        theirs = torch_run.refusals.get(g["root"])
        if bool(theirs) != bool(g["refused"]):
            return "refused gradient", "%s: Ingot says %r, PyTorch %r" % (g["root"], g["refused"], theirs)
        if ours["draws"]:
            continue
        for s in g["seen"]:
            if s["what"] not in torch_run.gradients:
                return "gradients", s["what"] + " is Ingot's alone"
            fact, numbers = torch_run.gradients[s["what"]]
            if fact != s["facts"]:
                return "facts", "%s: %s against PyTorch's %s" % (s["what"], s["facts"], fact)
            w = wide.gradients.get(s["what"], (None, None))[1] if wide else None
            d = off(numbers, np.array([float(x) for x in s["values"]]), fact, w)
            if d:
                return "gradients", "%s %s: %s" % (s["what"], fact, d)
    return None


def transform_of(way):
    if way == "eager":
        return lambda f: f
    if way == "functionalize":
        return lambda f: torch.func.functionalize(f)
    from functorch.compile import aot_function, default_partition, min_cut_rematerialization_partition, nop

    torch._functorch.config.donated_buffer = False  # gradients are asked for more than once
    partition = min_cut_rematerialization_partition if way == "aot-min-cut" else default_partition
    return lambda f: aot_function(f, nop, nop, partition_fn=partition, keep_inference_input_mutations=way == "aot-keep")


def judge_export(p):
    """Exported at the first sizes, with those that are open as Dims, made functional, which is what
    AOTInductor compiles, and run at all of them."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.program = program_of(p)

        def forward(self, *args):
            return tuple(self.program(*args))

    dims = {}
    shapes = []
    for i in p["inputs"]:
        sizes = p["bases"][i["base"]]["sizes"]
        shapes.append({d: dims.setdefault(n, torch.export.Dim("n%d" % (-1 - n))) for d, n in enumerate(sizes) if n < 0})
    try:
        inputs = tuple(make_inputs(p, p["runs"][0]["sizes"], False, False)[2])
        exported = torch.export.export(Module(), inputs, dynamic_shapes=(tuple(shapes),))
        exported = exported.run_decompositions().module()
    except Exception as e:
        return "refuses", said(e)
    for run in p["runs"]:
        if "refused" in run:
            continue
        try:
            found = Run(p, run, lambda f: exported, False)
        except Exception as e:
            return "refuses other sizes", said(e)
        wrong = None if run["draws"] else wrong_results(Run(p, run, lambda f: f, False), found)
        if wrong:
            return "is wrong", re.sub("[0-9]+", "N", wrong)
    return "runs", ""


def wrong_results(eager, exported):
    """What an exported program returns or leaves in its inputs that is another than eagerly: sizes
    and numbers. An export knows neither which inputs share memory nor that one has changed its
    looks, and does not say so."""
    for (name, fact, want), (_, found_fact, have) in zip(eager.seen, exported.seen):
        of_type = lambda f: re.match(r"torch\.\w+\[[^\]]*\]", f).group()
        if of_type(fact) != of_type(found_fact):
            return "%s: %s, eagerly %s" % (name.split()[0], of_type(found_fact), of_type(fact))
        if off(have, want, fact, None):
            return "%s: other numbers" % name.split()[0]
    return None


def judge(p, way, gradients):
    """What PyTorch does with the program in that way."""
    if way == "export":
        return judge_export(p)
    try:
        r = Run(p, p["runs"][0], transform_of(way), gradients)
    except Exception as e:
        return "refuses", said(e)
    if r.refusals:
        return "refuses a gradient", next(iter(r.refusals.values()))
    if way == "functionalize" and not p["wrapped"]:
        from torch.fx.experimental.proxy_tensor import make_fx

        try:
            inputs = make_inputs(p, [], False, False)[2]
            make_fx(torch.func.functionalize(program_of(p)))(*inputs)
        except Exception as e:
            return "refuses as a graph", said(e)
    return "runs", ""


def compare(way, records, gradients):
    table, messages, kinds = collections.Counter(), collections.defaultdict(collections.Counter), collections.defaultdict(list)
    seeds = {}
    logging.disable(logging.CRITICAL)
    for p in records:
        verdict, message = judge(p, way, gradients)
        key = (p["ours"], verdict)
        table[key] += 1
        gist = (re.sub(r"[0-9]+", "N", p["message"])[:160], message)
        messages[key][gist] += 1
        seeds.setdefault((key, gist), p["seed"])
        for ours in p["runs"]:
            try:
                eager = Run(p, ours, lambda f: f, gradients)
            except Exception as e:
                if "refused" not in ours:
                    kinds["PyTorch's eager alone refuses"].append((p["seed"], said(e)))
                continue
            if "refused" in ours:
                kinds["Ingot's eager alone refuses"].append((p["seed"], ours["refused"]))
                continue
            d = difference(ours, eager, None)
            if d and d[0] in ("values", "gradients"):  # how far does rounding take this program?
                try:
                    d = difference(ours, eager, Run(p, ours, lambda f: f, gradients, wide=True))
                except Exception:
                    pass
            if d:
                kinds[d[0]].append((p["seed"], d[1]))
    print("Ingot | PyTorch, %s | programs of %d" % (way, sum(table.values())))
    for (ours, verdict), n in sorted(table.items()):
        print("%s | %s | %d" % (ours, verdict, n))
    print()
    for key in sorted(table):
        if key == ("agree", "runs"):
            continue
        print("## %s | %s" % key)
        for gist, n in messages[key].most_common(12):
            print("%6d  seed %d: Ingot %r, PyTorch %r" % (n, seeds[(key, gist)], *gist))
    for kind, l in sorted(kinds.items()):
        print("## eager, %s: %d" % (kind, len(l)))
        for seed, what in l[:60]:
            print("    seed %d: %s" % (seed, what))


def compare_refusals(records):
    """Calls that eager Ingot refuses: those that PyTorch runs."""
    runs, counts = collections.Counter(), collections.Counter()
    example = {}
    for p in records:
        call = p["python"].strip().split("\n")[-2].strip()
        op = re.search(r"(aten\.[\w.]+|\w+)\(", call).group(1)
        try:
            inputs = make_inputs(p, p["sizes"], True, False)[2]
            torch.manual_seed(p["seed"])
            program_of(dict(p, python=p["python"].replace("return []", "return [0]")))(*inputs)
        except Exception as e:
            counts["both refuse"] += 1
            continue
        counts["PyTorch runs"] += 1
        key = (op, re.sub(r"[0-9]+", "N", p["message"])[:140])
        runs[key] += 1
        example.setdefault(key, (p["seed"], call))
    print(dict(counts))
    for key, n in runs.most_common(100):
        print("%5d %s: %s   e.g. seed %d: %s" % (n, *key, *example[key]))


def main():
    way, path = sys.argv[1:3]
    with open(path) as f:
        records = (json.loads(line) for line in f)
        if way == "refusals":
            return compare_refusals(records)
        compare(way, records, gradients=way != "export")


if __name__ == "__main__":
    main()
