#!/usr/bin/env python3
"""Makes AOTInductor packages with PyTorch, and runs them with Ingot, which has no libtorch.

    torch_packages.py make FOLDER [NAME...]
    torch_packages.py check INGOT FOLDER [NAME...]

Both need PyTorch, the first a C++ compiler and PyTorch's headers too. A package needs the C and C++
libraries of the machine that made it, or newer ones: run `check` there, with a copy of INGOT and
the libraries that it needs. FOLDER gets NAME.pt2 and what PyTorch's own runner computes,
NAME.caseK.safetensors, and libmine.so with the operator of `custom_op`. What Ingot computes may
differ by 1e-5 of the largest element (half types by 1e-2). Exit status 1 if anything differs or
fails.
"""
import copy
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.nn as nn
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch.export import Dim
from torch.utils import _pytree as pytree

MODELS = {}


def model(dynamic=None):
    """A function that returns a module and the arguments of its cases; `dynamic`: which sizes are
    open."""

    def add(maker):
        MODELS[maker.__name__] = (maker, dynamic)
        return maker

    return add


class Fn(nn.Module):
    def __init__(self, f, **parts):
        super().__init__()
        for k, v in parts.items(): setattr(self, k, v)
        self.f = f
    def forward(self, *args): return self.f(self, *args)

@model()
def mlp():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)), [(torch.randn(4, 16),), (torch.randn(4, 16),)]

B = Dim("b", min=2, max=64)
@model(dynamic=({0: B},))
def mlp_dynamic():
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8), nn.Softmax(-1)), [(torch.randn(n, 16),) for n in (4, 9, 2)]

@model()
def conv_net():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2, groups=2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 5)).eval(), [(torch.randn(2, 3, 16, 16),)]

class Block(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(32), nn.LayerNorm(32)
        self.qkv, self.o = nn.Linear(32, 96), nn.Linear(32, 32)
        self.up, self.down = nn.Linear(32, 64), nn.Linear(64, 32)
        self.causal = causal
    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, 4, 8).transpose(1, 2) for y in self.qkv(self.n1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.gelu(self.up(self.n2(x))))

@model()
def transformer():
    return Block().eval(), [(torch.randn(2, 6, 32),)]

T = Dim("t", min=2, max=128)
@model(dynamic=({0: B, 1: T},))
def transformer_dynamic():
    return Block().eval(), [(torch.randn(2, 6, 32),), (torch.randn(3, 11, 32),)]

@model()
def cond():
    def f(s, x): return torch.cond(x.sum() > 0, lambda x: s.a(x).relu(), lambda x: s.a(x) - 1.0, (x,))
    return Fn(f, a=nn.Linear(8, 8)), [(torch.ones(3, 8),), (-torch.ones(3, 8),)]

@model()
def while_loop():
    def f(s, n, x): return torch.while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, s.a(x).tanh()), (n, x))
    return Fn(f, a=nn.Linear(8, 8)), [(torch.tensor(3), torch.randn(2, 8)), (torch.tensor(0), torch.randn(2, 8))]

@model()
def sorts():
    def f(s, x):
        v, i = torch.sort(x, dim=-1, descending=True)
        t, j = torch.topk(x, 3, dim=0)
        return v, i, t, j, torch.cumsum(x, 1), torch.nonzero(x > 0.5)
    return Fn(f), [(torch.randn(5, 7),)]

@model()
def embedding_index():
    def f(s, i, w): return s.e(i).sum(1) @ w[i[:, 0]].t(), torch.index_put(w, (i[:, 1],), torch.ones(4, 6), accumulate=True)
    return Fn(f, e=nn.Embedding(20, 6)), [(torch.randint(0, 20, (4, 3)), torch.randn(20, 6))]

@model()
def proxy_ops():
    # ops without a C function: they go by the proxy executor
    def f(s, x):
        q, r = torch.linalg.qr(x)
        return q.abs() @ r.abs(), torch.linalg.det(x), torch.linalg.inv(x + 9 * torch.eye(4)), torch.special.i0e(x)
    return Fn(f), [(torch.randn(4, 4),)]

@model()
def lstm():
    class L(nn.Module):
        def __init__(self):
            super().__init__(); self.l = nn.LSTM(6, 5, batch_first=True)
        def forward(self, x): return self.l(x)[0]
    return L(), [(torch.randn(2, 4, 6),)]

@model()
def bfloat():
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)).to(torch.bfloat16), [(torch.randn(4, 16).to(torch.bfloat16),)]

@model()
def mutation():
    class M(nn.Module):
        def __init__(self):
            super().__init__(); self.register_buffer("n", torch.zeros(3)); self.a = nn.Linear(3, 3)
        def forward(self, x):
            self.n.add_(1); x.mul_(2); return self.a(x) + self.n
    return M(), [(torch.randn(2, 3),)]

@model()
def pytrees():
    def f(s, d, l): return {"sum": d["a"] + d["b"], "parts": [l[0] * 2, l[1].sin()]}
    return Fn(f), [({"a": torch.randn(3), "b": torch.randn(3)}, [torch.randn(2), torch.randn(4)])]

@model()
def pools():
    def f(s, x):
        return F.avg_pool2d(x, 3, 2), F.max_pool2d(x, 2, return_indices=True), F.adaptive_max_pool2d(x, 3), F.interpolate(x, scale_factor=2, mode="bicubic")
    return Fn(f), [(torch.randn(1, 2, 9, 9),)]

@model()
def batched():
    def f(s, a, b, c): return torch.bmm(a, b), torch.baddbmm(c, a, b, beta=0.5, alpha=2.0), a[0] @ b[0], torch.addmm(c[0], a[0], b[0])
    return Fn(f), [(torch.randn(3, 4, 5), torch.randn(3, 5, 6), torch.randn(3, 4, 6))]

@model(dynamic=({0: B, 2: Dim("h", min=8, max=64)},))
def conv_dynamic():
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(8, 4, 2, stride=2)).eval(), [(torch.randn(2, 3, 16, 16),), (torch.randn(3, 3, 12, 16),)]

@model()
def random_ops():
    def f(s, x): return x + torch.rand(4).clamp(2, 2), torch.randn(3, 4).mul(0), torch.randint(5, 6, (3,))
    return Fn(f), [(torch.randn(4),)]

@model()
def data_sizes():
    def f(s, x):
        i = torch.nonzero(x > 0).squeeze(1)
        return x[i] * 2, torch.masked_select(x, x < 0).sum()
    return Fn(f), [(torch.randn(12),), (torch.randn(12),)]

@model()
def conv1d_gru():
    class G(nn.Module):
        def __init__(self):
            super().__init__(); self.c = nn.Conv1d(4, 6, 3); self.g = nn.GRUCell(6, 5)
        def forward(self, x, h): return self.g(self.c(x).mean(-1), h)
    return G(), [(torch.randn(2, 4, 9), torch.randn(2, 5))]

@model()
def attention_mask():
    def f(s, q, k, v, m): return F.scaled_dot_product_attention(q, k, v, attn_mask=m), F.scaled_dot_product_attention(q, k, v, scale=0.3)
    return Fn(f), [(torch.randn(1, 2, 5, 8), torch.randn(1, 2, 7, 8), torch.randn(1, 2, 7, 8), torch.randn(1, 1, 5, 7))]

@model()
def complex_fft():
    def f(s, x):
        y = torch.fft.fft(x)
        return torch.view_as_real(y), y.abs(), torch.fft.rfft(x).real
    return Fn(f), [(torch.randn(3, 8),)]

@model()
def scatter_ops():
    def f(s, x, i, y):
        return torch.scatter(x, 1, i, y), torch.scatter_add(x, 1, i, y), torch.scatter_reduce(x, 1, i, y, "amax"), torch.gather(x, 1, i), torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]))
    return Fn(f), [(torch.randn(3, 6), torch.randint(0, 6, (3, 4)), torch.randn(3, 4))]

@model()
def scalars():
    def f(s, x, n): return x * n, x.sum() / n, x.to(torch.int32) // 2
    return Fn(f), [(torch.randn(5), 3)]

@model()
def int_types():
    def f(s, a, b): return a + b, a.to(torch.uint8) & 3, (a > 0) | (b > 0), a.double() * 0.5, b.half().float()
    return Fn(f), [(torch.randint(-5, 5, (6,), dtype=torch.int32), torch.randint(-5, 5, (6,), dtype=torch.int64))]

@model()
def two_blocks():
    return nn.Sequential(Block(), Block(False)).eval(), [(torch.randn(1, 5, 32),)]

@model()
def depthwise():
    return nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False), nn.BatchNorm2d(8), nn.Hardswish(), nn.Conv2d(8, 4, 1)).eval(), [(torch.randn(1, 8, 10, 10),)]

@model()
def embedding_bag():
    return Fn(lambda s, i, o: s.e(i, o), e=nn.EmbeddingBag(20, 6, mode="sum")), [(torch.randint(0, 20, (7,)), torch.tensor([0, 3]))]

@model()
def cdist():
    def f(s, x, y): return torch.cdist(x, y), torch.cummax(x, 0)[0], torch.kthvalue(x, 2)[0], torch.median(x, 1)[0], torch.histc(x, 4, -2, 2)
    return Fn(f), [(torch.randn(4, 3), torch.randn(5, 3))]

@model()
def group_norm_unet():
    return nn.Sequential(nn.Conv2d(4, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Upsample(scale_factor=2), nn.Conv2d(8, 4, 3, padding=1)).eval(), [(torch.randn(1, 4, 8, 8),)]

# The layout of what an operator without code returns is the library's to assume, and it reads the
# result by it.
@model()
def attention_layouts():
    def f(s, q, k, v, x):
        a, b = F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(x.transpose(1, 2), k, v)
        return a.flatten(2) * 2, b.transpose(1, 2).reshape(2, 5, -1) + 1
    return Fn(f), [(torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 3, 5, 8), torch.randn(2, 5, 3, 8))]

@model()
def linear_algebra():
    def f(s, x):
        a = x @ x.t() + 4 * torch.eye(4)
        l = torch.linalg.cholesky(a)
        u, d, v = torch.linalg.svd(x)
        return l, torch.linalg.solve(a, x), d, torch.linalg.eigvalsh(a), torch.linalg.lu_factor(a)[0]
    return Fn(f), [(torch.randn(4, 4),)]

@model()
def nested_control():
    def inner(x): return torch.cond(x.mean() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))
    def f(s, x): return torch.cond(x.sum() > 1, inner, lambda x: s.a(x), (x,))
    return Fn(f, a=nn.Linear(4, 4)), [(torch.ones(2, 4),), (torch.zeros(2, 4),)]

@model(dynamic=({0: T}, None))
def embedding_dynamic():
    def f(s, i, w): return F.layer_norm(s.e(i), (6,)) @ w, F.one_hot(i, 20).sum(0)
    m = Fn(f, e=nn.Embedding(20, 6))
    return m, [(torch.randint(0, 20, (5,)), torch.randn(6, 3)), (torch.randint(0, 20, (17,)), torch.randn(6, 3))]

@model()
def losses():
    def f(s, x, t): return F.cross_entropy(x, t), F.nll_loss(F.log_softmax(x, 1), t, reduction="none"), F.mse_loss(x, x * 2), F.kl_div(x.log_softmax(1), x.softmax(1), reduction="batchmean")
    return Fn(f), [(torch.randn(4, 5), torch.randint(0, 5, (4,)))]

@model()
def custom_op():
    return Fn(lambda s, x: torch.ops.mine.twice(x) + 1), [(torch.randn(4),)]

# The operator of `custom_op`, as a library that needs no more of PyTorch than its stable C
# interface.
OPERATORS = r"""
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>
using torch::stable::Tensor;
Tensor twice(const Tensor& x) {
  Tensor out = torch::stable::empty_like(x);
  const float* from = static_cast<const float*>(x.const_data_ptr());
  float* to = static_cast<float*>(out.mutable_data_ptr());
  for (int64_t i = 0; i < x.numel(); i++) to[i] = 2 * from[i];
  return out;
}
STABLE_TORCH_LIBRARY(mine, m) { m.def("twice(Tensor x) -> Tensor"); }
STABLE_TORCH_LIBRARY_IMPL(mine, CPU, m) { m.impl("twice", TORCH_BOX(&twice)); }
"""


def make_operators(folder):
    from torch.utils.cpp_extension import include_paths, library_paths

    source = folder / "mine.cpp"
    source.write_text(OPERATORS)
    flags = [f"-I{p}" for p in include_paths()] + [f"-L{p}" for p in library_paths()]
    subprocess.run(["g++", "-std=c++20", "-O1", "-shared", "-fPIC", source, "-o", folder / "libmine.so", *flags, "-ltorch_cpu"], check=True)


def tensors_of(tree):
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def make(folder, names):
    folder.mkdir(parents=True, exist_ok=True)
    library = torch.library.Library("mine", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
    torch.library.register_fake("mine::twice", lambda x: torch.empty_like(x))
    make_operators(folder)
    for name in names:
        maker, dynamic = MODELS[name]
        torch.manual_seed(0)
        module, cases = maker()
        with torch.no_grad():
            shapes = (dynamic,) if dynamic is not None and isinstance(module, Fn) else dynamic
            program = torch.export.export(copy.deepcopy(module), copy.deepcopy(cases[0]), dynamic_shapes=shapes)
            path = str(folder / f"{name}.pt2")
            torch._inductor.aoti_compile_and_package(program, package_path=path)
            compiled = torch._inductor.aoti_load_package(path)
            for k, args in enumerate(cases):
                want = compiled(*copy.deepcopy(args))
                case = {f"in.{j}": t.clone().contiguous() for j, t in enumerate(tensors_of(args))}
                case.update({f"out.{j}": t.clone().contiguous() for j, t in enumerate(tensors_of(want))})
                save_file(case, str(folder / f"{name}.case{k}.safetensors"))
        print(f"{name}: made", flush=True)


def difference(got, want):
    assert len(got) == len(want), f"{len(got)} outputs, expected {len(want)}"
    worst = 0.0
    for g, w in zip(got, want):
        assert g.shape == w.shape and g.dtype == w.dtype, f"{tuple(g.shape)} {g.dtype}, expected {tuple(w.shape)} {w.dtype}"
        if g.numel():
            off = (g.double() - w.double()).abs().max().item() / max(1.0, w.double().abs().max().item())
            assert off <= (1e-2 if w.dtype in (torch.bfloat16, torch.float16) else 1e-5), f"differs by {off:.1e}"
            worst = max(worst, off)
    return worst


def run(ingot, package, case, *options):
    with tempfile.TemporaryDirectory() as folder:
        given, made = f"{folder}/in.safetensors", f"{folder}/out.safetensors"
        save_file({k: v for k, v in case.items() if k.startswith("in.")}, given)
        done = subprocess.run([ingot, "run", package, "--input", given, "-o", made, *options], capture_output=True, text=True)
        assert done.returncode == 0, (done.stderr or done.stdout).strip()
        results = load_file(made)
        names = [line.split()[0] for line in done.stdout.splitlines() if "  min " in line]
        return [results[name] for name in names]


def check(ingot, folder, names):
    agree = 0
    for name in names:
        try:
            said = []
            options = ["--operators", str(folder / "libmine.so")] if name == "custom_op" else []
            for path in sorted(folder.glob(f"{name}.case*.safetensors")):
                case = load_file(path)
                want = [case[f"out.{k}"] for k in range(len(case)) if f"out.{k}" in case]
                said.append(f"{difference(run(ingot, folder / f'{name}.pt2', case, *options), want):.1e}")
            agree += 1
            print(f"{name}: agrees ({', '.join(said)})", flush=True)
        except AssertionError as e:
            print(f"{name}: FAILED: {e}", flush=True)
    print(f"{agree} of {len(names)}")
    return agree == len(names)


def main():
    if len(sys.argv) >= 3 and sys.argv[1] == "make":
        make(pathlib.Path(sys.argv[2]), sys.argv[3:] or list(MODELS))
    elif len(sys.argv) >= 4 and sys.argv[1] == "check":
        folder = pathlib.Path(sys.argv[3])
        sys.exit(0 if check(sys.argv[2], folder, sys.argv[4:] or sorted(p.stem for p in folder.glob("*.pt2"))) else 1)
    else:
        print(__doc__)
        sys.exit(2)


if __name__ == "__main__":
    main()
