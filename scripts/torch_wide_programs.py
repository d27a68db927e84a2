#!/usr/bin/env python3
"""Makes the golden programs of tests/golden/wide.tar.xz: small ones, each with one thing that exported programs do.

    torch_wide_programs.py OUT [NAME...]
    ingot check --suite OUT --compiled

OUT/NAME has the sizes that differ between its two cases open, OUT/NAME.static none. Pack them with
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-01-01 -cJf wide.tar.xz wide. Needs PyTorch 2.14; no test does.
"""
import copy
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

PROGRAMS = {}


def program(sizes=((2, 8), (3, 13))):
    def take(cls):
        PROGRAMS[cls.__name__] = (cls, sizes)
        return cls

    return take


fixed = ((2, 8), (2, 8))


@program(sizes=fixed)
class shared_state(nn.Module):
    def __init__(s):
        super().__init__()
        t = torch.zeros(4, 3)
        s.register_buffer('key', t, persistent=False)
        s.register_buffer('value', torch.ones(4, 3), persistent=False)
        s.caches = [t, s.value]
    def forward(s, x, pos):
        s.caches[0].index_copy_(0, pos, x)
        s.caches[1].mul_(2)
        return s.caches[0] * 2 + s.key, s.value + 1
    @staticmethod
    def inputs(b, n): return torch.randn(2, 3), torch.tensor([1, 3])

@program(sizes=fixed)
class shared_parts(nn.Module):
    def __init__(s):
        super().__init__()
        t = torch.arange(24.).reshape(4, 6) / 24
        s.register_buffer('rows', t[1:3], persistent=False)
        s.register_buffer('all', t, persistent=False)
        s.register_buffer('turned', t.t(), persistent=False)
        s.register_buffer('last', t[3], persistent=False)
    def forward(s, x):
        before = s.turned.sum(1)
        s.rows.add_(x)
        mid = s.all * 2
        s.turned[0].mul_(3)
        return before, mid, s.rows + 1, s.last * 1, s.all @ s.turned
    @staticmethod
    def inputs(b, n): return (torch.randn(2, 6),)

@program(sizes=fixed)
class shared_and_read(nn.Module):
    "tied weights of which one is a view of the other; nothing is written"
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(5, 4))
        s.wt = nn.Parameter(s.w.data.t())
        s.same = nn.Parameter(s.w.data)
    def forward(s, x): return x @ s.w @ s.wt @ s.same
    @staticmethod
    def inputs(b, n): return (torch.randn(2, 5),)

@program()
class embedding_of_positions(nn.Module):
    def __init__(s):
        super().__init__()
        s.emb = nn.Embedding(32, 4)
        s.register_buffer('pos', torch.arange(32).unsqueeze(0), persistent=False)
    def forward(s, x): return x + s.emb(s.pos[:, :x.shape[1]])
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 4),)

@program()
class constants_and_sizes(nn.Module):
    "values of fixed size that depend on constants and on a size: a sum over a part of a table, a size as a number, a gather"
    def __init__(s):
        super().__init__()
        s.register_buffer('table', torch.randn(32, 4))
        s.register_buffer('index', torch.randint(0, 32, (32,)))
    def forward(s, x):
        n = x.shape[1]
        part = s.table[:n]
        return (x.sum(1) + part.sum(0), s.table * n, s.table[s.index[:n]].amax(0), torch.gather(part, 0, s.index[:n].clamp(max=n - 1)[:, None].expand(n, 4)),
                part.t() @ part, torch.cumsum(s.table, 0)[n - 1], s.table.index_select(0, s.index[:n]).mean(), torch.where(s.index < n, 1, 0).sum(), s.table.roll(n, 0)[0],
                torch.topk(part.sum(1), 2).values, torch.sort(s.table[:n, 0]).values)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 4),)

@program(sizes=((2, 64), (3, 96)))
class size_conditions(nn.Module):
    "what holds at the sizes of the export and not at small ones"
    def forward(s, x):
        h = x.unfold(1, 16, 16)
        y = F.avg_pool1d(x[:, None], 24, 8)
        return h.mean(-1), y, F.pad(x[:, None], (30, 30), mode='reflect')
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=((2, 30), (3, 45)))
class sizes_of_the_export(nn.Module):
    "programs that hold at the sizes of the export and near them: blocks of five, what lies behind the twentieth element, halves that differ"
    def forward(s, x):
        b, n = x.shape
        return x.view(b, n // 5, 5).sum(1), x[:, 20:] * 2, x[:, : n // 3] - x[:, -(n // 3) :], x[:, 17:20] + 1, F.pad(x, (0, -n % 16))[:, 15:] , torch.cat([x[:, 25:], x[:, :25]], 1)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=((2, 30), (3, 45)))
class sizes_of_blocks(nn.Module):
    def forward(s, x, y):
        if x.shape[1] > 20: z = x.sin()
        else: z = x.cos()
        return z.reshape(-1, 15).mean(0), (x.unsqueeze(2) * y.unsqueeze(1)).sum(2)
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.randn(b, n + 7)

@program(sizes=fixed)
class item_of_bool(nn.Module):
    "a bool that data decides, as a number and as a condition that is checked"
    def forward(s, x):
        b = (x.sum() > -1000).item()
        torch._check(b)
        return torch.sym_ite((x[0, 0] > 0).item(), 2, 3) * x
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=fixed)
class item_of_float(nn.Module):
    def forward(s, x):
        m = x.max().item()
        return x * m + torch.full((2,), m)[0] + m ** 2, torch.full_like(x, m / 2), x.clamp(max=m - 0.5), torch.where(x > m / 3, x, m)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=fixed)
class item_of_int(nn.Module):
    def forward(s, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 5)
        return torch.arange(k) + 1.5 * k, x[:, :k] / k, torch.full((k,), k * 0.5), torch.zeros(k + 1, 2 * k).sum(0)
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.tensor(3)

@program()
class cond_on_a_size(nn.Module):
    def forward(s, x):
        return torch.cond(x.shape[1] > 9, lambda x: x.sin(), lambda x: x.cos(), (x,))
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=fixed)
class vmap_of_two(nn.Module):
    def forward(s, x, y):
        return torch.vmap(lambda a, b: (a * b).sum() + a)(x, y) * 2
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.randn(b, n)

@program(sizes=fixed)
class vmap_in_vmap(nn.Module):
    def forward(s, x, y):
        return torch.vmap(lambda a: torch.vmap(lambda b: (a * b).sum())(y))(x)
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.randn(b, n)

@program(sizes=fixed)
class vmap_of_one(nn.Module):
    def forward(s, x, y):
        return torch.vmap(lambda a, b: a @ b, in_dims=(0, None), out_dims=1)(x, y.t())
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.randn(b, n)

@program()
class scan_by_pairs(nn.Module):
    "an associative scan, which is vmap over pairs of neighbours"
    def forward(s, x):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda a, b: a * b + b, x, 1, combine_mode="generic")
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 3),)

@program(sizes=fixed)
class nonzero_rows(nn.Module):
    "sizes that data decides, where PyTorch's rules ask whether they are one or empty"
    def forward(s, x):
        i = (x[:, 0] > -0.5).nonzero().squeeze(1)
        y = x[i]
        z = torch.cat([y, y])
        return y + x.new_zeros(y.shape[0], 1), z.sum(0), F.layer_norm(y, (8,)), y.reshape(-1, 4).mean(0), y @ torch.ones(8, 3), y.softmax(0).sum(0), torch.stack([y, y * 2]).amax(0)
    @staticmethod
    def inputs(b, n): return (torch.randn(7, 8),)

@program()
class experts(nn.Module):
    "a mixture of experts by grouped products"
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(4, 8, 6))
    def forward(s, x):
        t = x.reshape(-1, 8)
        e = t.sum(1).abs().mul(2).long() % 4
        order = torch.argsort(e, stable=True)
        offs = torch.histc(e.float(), bins=4, min=0, max=3).cumsum(0).to(torch.int32)
        import transformers.integrations.moe as moe
        return torch.ops.transformers.grouped_mm_fallback(t[order], s.w, offs)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 8),)

@program()
class experts_bf16(nn.Module):
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(4, 16, 8).to(torch.bfloat16))
    def forward(s, x):
        t = x.reshape(-1, 16)
        e = t.sum(1).abs().mul(2).long() % 4
        order = torch.argsort(e, stable=True)
        offs = torch.histc(e.float(), bins=4, min=0, max=3).cumsum(0).to(torch.int32)
        y = F.grouped_mm(t[order].to(torch.bfloat16), s.w, offs=offs)
        return y, F.grouped_mm(s.w.transpose(1, 2), t[order].to(torch.bfloat16).t().contiguous()[:, :8], offs=torch.tensor([1, 4, 4, 8], dtype=torch.int32))
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 16),)


def run(exported, args):
    """Results, and the buffers as they are after the run."""
    called = copy.deepcopy(exported).module()
    out = called(*[a.clone() for a in args])
    written = set(exported.graph_signature.buffers_to_mutate.values())
    buffers = {n: b for n, b in called.named_buffers() if n in written}
    return (out if isinstance(out, (tuple, list)) else [out]), buffers


def write(folder, exported, inputs):
    os.makedirs(folder, exist_ok=True)
    torch.export.save(exported, folder + "/model.pt2")
    for k, args in enumerate(inputs):
        try:
            out, buffers = run(exported, args)
        except Exception as e:  # a guard of the program's own
            print("%s: not at the sizes of case %d: %s" % (folder, k, str(e).split("\n")[0]))
            continue
        data = {"in.%d" % i: t for i, t in enumerate(args)} | {"out.%d" % i: t for i, t in enumerate(out)}
        data |= {"buffer." + n: t for n, t in buffers.items()}
        save_file({n: t.detach().contiguous().clone() for n, t in data.items()}, "%s/case%d.safetensors" % (folder, k))


def main():
    out, names = sys.argv[1], sys.argv[2:] or PROGRAMS
    for name in names:
        cls, sizes = PROGRAMS[name]
        torch.manual_seed(1)
        model = cls().eval().requires_grad_(False)
        torch.manual_seed(2)
        first, other = [cls.inputs(*s) for s in sizes]
        dims = tuple({d: torch.export.Dim.AUTO for d in range(a.dim()) if a.shape[d] != b.shape[d]} for a, b in zip(first, other))
        ways = [(name + ".static", None, [first])] + ([(name, dims, [first, other])] if any(dims) else [])
        for folder, open_dims, inputs in ways:
            try:
                write("%s/%s" % (out, folder), torch.export.export(copy.deepcopy(model), first, dynamic_shapes=open_dims, strict=False), inputs)
                print(folder)
            except Exception as e:
                print("%s: not exported: %s" % (folder, str(e).split("\n")[0]))


if __name__ == "__main__":
    main()
