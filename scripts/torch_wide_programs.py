#!/usr/bin/env python3
"""Makes the golden programs of tests/golden/wide.tar.xz: small ones, each with one thing that
exported programs do.

    torch_wide_programs.py OUT [NAME...]
    ingot check --suite OUT --compiled

OUT/NAME has the sizes that differ between its two cases open, OUT/NAME.static none. Pack them with
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=2026-01-01 -cJf wide.tar.xz wide.
Needs PyTorch 2.14; no test does.
"""
import copy
import os
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
import torch.ao.quantization.fx._decomposed  # operators of quantised models
import torch.nn.functional as F
import torchvision  # operators of detectors
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

@program(sizes=((5, 8), (9, 8)))
class boxes_of_a_detector(nn.Module):
    "which of overlapping boxes stay, as many as the data says, and what is in them"
    def forward(s, boxes, scores, x):
        from torchvision import ops
        kept = ops.nms(boxes, scores, 0.4)
        rois = torch.cat([torch.zeros(kept.shape[0], 1), boxes[kept]], 1)
        return kept, ops.roi_align(x, rois, 3, 0.5, 2), ops.roi_align(x, rois, (2, 3), 1.0, -1, True), ops.roi_pool(x, rois, 2, 0.7)
    @staticmethod
    def inputs(b, n):
        corner = torch.rand(b, 2) * 4
        return torch.cat([corner, corner + 1 + torch.rand(b, 2) * 4], 1), torch.rand(b), torch.randn(1, 3, n, n)

@program(sizes=((2, 3), (2, 5)))
class boxes_by_position(nn.Module):
    "bins with channels of their own"
    def forward(s, x, rois):
        from torchvision import ops
        return ops.ps_roi_align(x, rois, 2, 0.5), ops.ps_roi_pool(x, rois, 2), ops.roi_align(x, rois, 2), ops.roi_pool(x, rois, (1, 2))
    @staticmethod
    def inputs(b, n): return torch.randn(2, 4, 7, 6), torch.cat([torch.randint(0, 2, (n, 1)).float(), torch.tensor([1.2, 0.5, 4.8, 5.1]).repeat(n, 1)], 1)

@program(sizes=((2, 0), (2, 0)))
class no_boxes(boxes_by_position): pass

@program(sizes=((2, 5), (3, 7)))
class deformable(nn.Module):
    def __init__(s):
        super().__init__()
        from torchvision.ops import DeformConv2d
        s.masked, s.plain = DeformConv2d(4, 6, 3, padding=1, groups=2), DeformConv2d(6, 3, (1, 2), stride=2, dilation=2, bias=False)
    def forward(s, x, offset, mask, other):
        return s.plain(s.masked(x, offset, mask.sigmoid()), other)
    @staticmethod
    def inputs(b, n): return torch.randn(b, 4, n, n), torch.randn(b, 36, n, n), torch.randn(b, 18, n, n), torch.randn(b, 4, (n - 1) // 2 + 1, (n - 3) // 2 + 1)

@program(sizes=fixed)
class fake_quantized(nn.Module):
    "with open sizes PyTorch does not export it"
    def __init__(s):
        super().__init__()
        s.w = nn.Parameter(torch.randn(4, 6))
        s.register_buffer('scale', torch.tensor([.1, .2, .05, .3]))
        s.register_buffer('zero', torch.tensor([0, 1, -2, 3], dtype=torch.int32))
    def forward(s, x):
        w = torch.fake_quantize_per_channel_affine(s.w, s.scale, s.zero, 0, -8, 7)
        y = torch.fake_quantize_per_tensor_affine(x @ w.t(), 0.07, 12, 0, 255)
        return y, torch.fake_quantize_per_tensor_affine(y, s.scale[2], s.zero[1], -128, 127), torch.fake_quantize_per_channel_affine(x.transpose(1, 2), s.scale.repeat(2)[:6], s.zero.repeat(2)[:6].float() + 0.4, 1, -8, 7)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 6),)

@program()
class quantized(nn.Module):
    "as converted models have it: a range chosen or known, weights of 8 bits by channel, activations by tensor and by token"
    def __init__(s):
        super().__init__()
        s.register_buffer('w', torch.randint(-127, 128, (5, 8), dtype=torch.int8))
        s.register_buffer('scale', torch.rand(5) * 0.02 + 0.01)
        s.register_buffer('zero', torch.zeros(5, dtype=torch.int64))
    def forward(s, x):
        q = torch.ops.quantized_decomposed
        w = q.dequantize_per_channel(s.w, s.scale, s.zero, 0, -127, 127, torch.int8)
        a = q.dequantize_per_tensor(q.quantize_per_tensor(x, 0.02, -3, -128, 127, torch.int8), 0.02, -3, -128, 127, torch.int8)
        y = q.quantize_per_tensor(F.linear(a, w), 0.1, 128, 0, 255, torch.uint8)
        scale, zero = q.choose_qparams.tensor(x, -128, 127, 1.1920928955078125e-07, torch.int8)
        chosen = q.quantize_per_tensor.tensor(x, scale, zero, -128, 127, torch.int8)
        token_scale, token_zero = q.choose_qparams_per_token_asymmetric(x, torch.int8)
        tokens = q.quantize_per_token(x, token_scale, token_zero, -128, 127, torch.int8)
        return (y, q.dequantize_per_tensor(y, 0.1, 128, 0, 255, torch.uint8), chosen, q.dequantize_per_tensor.tensor(chosen, scale, zero, -128, 127, torch.int8),
                tokens, q.dequantize_per_token(tokens, token_scale, token_zero, -128, 127, torch.int8, torch.float32))
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 8),)

@program()
class packed_weights(nn.Module):
    def __init__(s):
        super().__init__()
        s.register_buffer('w8', torch.randint(-128, 128, (3, 32), dtype=torch.int8))
        s.register_buffer('scale', torch.rand(3) * 0.01)
        s.register_buffer('w4', torch.randint(0, 16, (16, 32), dtype=torch.int32))
        s.register_buffer('groups', torch.randn(1, 16, 2))
    def forward(s, x):
        t, a = x.reshape(-1, 32), torch.ops.aten
        packed = a._convert_weight_to_int4pack_for_cpu(s.w4, 1)
        return a._weight_int8pack_mm(t, s.w8, s.scale), a._weight_int4pack_mm_for_cpu(t, packed, 32, s.groups)
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 32),)

@program(sizes=fixed)
class diagonals(nn.Module):
    "a diagonal that is filled through views, of the storage too"
    def forward(s, x):
        y = x.clone()
        y[:, 1:].t().fill_diagonal_(3.0)
        z = torch.zeros(20)
        z.as_strided((3, 4), (4, 1), 2).fill_diagonal_(2.0)
        z.as_strided((5, 2), (2, 1), 8)[1:].fill_diagonal_(1.0, wrap=True)
        return y, z, torch.zeros(3, 3, 3).fill_diagonal_(4.0) + x.sum()
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program()
class floats_of_sizes(nn.Module):
    "quotients, roots and powers of open sizes, as factors, fill values and conditions"
    def forward(s, x):
        n = x.shape[1]
        scale = 1.0 / torch.sym_sqrt(n)
        return (x / n**0.5, x * (n / 3), torch.arange(n) / (n // 2), x.sum(1) * scale, torch.full((3,), n * 0.5), F.leaky_relu(x, 1 / n),
                torch.sym_max(n / 4, 2.5) * x, x.clamp(max=n / 20))
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n),)

@program(sizes=fixed)
class floats_that_decide(nn.Module):
    "a float of the data in assertions, as a condition, and rounded to an integer that is a size"
    def forward(s, x, y):
        k = y.item()
        torch._check(k > 0.5)
        torch._check(k * 2 < 11)
        n = torch.sym_int(k * 2)
        torch._check(n >= 2)
        torch._check(n <= 11)
        return torch.cond(k > 1, lambda x: x.sin(), lambda x: x.cos(), (x,)), torch.arange(n) * 0.5, x[:, :n].sum(1), torch.arange(0, k, 0.3), torch.sym_ite(k > 1, k, k * 2) * x
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.tensor(1.7)

@program(sizes=fixed)
class floats_as_arguments(nn.Module):
    "numbers of the data where an op has a number that is no operand of a formula"
    def forward(s, x, y):
        k, m = y.min().item(), y.max().item()
        w = x.t() @ x
        return (torch.add(x, x, alpha=k), torch.addmm(w, x.t(), x, alpha=m), x.masked_fill(x > 0, k), torch.lerp(x, x * x, k), torch.addcmul(x, x, x, value=k),
                F.leaky_relu(x, k), F.elu(x, m), F.softplus(x, m), x.new_full((2, 2), k).fill_(m), F.threshold(x, k, m), x.remainder(m), torch.scalar_tensor(k),
                torch.ops.aten.rsub.Scalar(x, m), x.eq(k), F.gelu(x) * -m, torch.linspace(k, m, 5), x.clamp(k, m), x.fmod(m), x.floor_divide(m),
                x.index_fill(0, torch.tensor([1]), m), torch.histc(x, 4, -m, m), torch.addcdiv(x, x, x.abs() + 1, value=m), torch.arange(0, 4, 1) * m,
                torch.xlogy(x.abs(), m), torch.where(x > 0, m, k), x.abs().pow(m), torch.pow(m, x), F.hardshrink(x, k), torch.baddbmm(w[None], x.t()[None], x[None], alpha=m),
                x.scatter(1, torch.zeros(2, 1, dtype=torch.long), m), torch.full_like(x, m).long() + 1, torch.full((2,), k, dtype=torch.float64), x.double() * k)
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.rand(3) * 0.4 + 0.1

@program(sizes=((3, 8), (3, 13)))
class slices_by_data(nn.Module):
    "where a slice begins and ends, only data says, from behind too, and nobody promises anything"
    def forward(s, x, at):
        a, b = at[0].item(), at[1].item()
        part = x[:, a:b]
        return part.sum(1), part * 2, x[:, b:].amax(0).sum(), x[:, :a].clone(), (part @ part.transpose(0, 1)), x[:, a:b:2]
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.tensor([2, -1 if n == 8 else 7])

@program(sizes=fixed)
class slice_written_by_data(nn.Module):
    "keys and values at a position of the data"
    def __init__(s):
        super().__init__()
        s.register_buffer('keys', torch.zeros(2, 16, 4))
    def forward(s, x, at):
        i = at.item()
        torch._check(i >= 0)
        torch._check(i + 1 <= 16)
        s.keys[:, i:i + 1] = x
        return torch.softmax(x @ s.keys.transpose(1, 2), -1) @ s.keys
    @staticmethod
    def inputs(b, n): return torch.randn(2, 1, 4), torch.tensor(5)

@program(sizes=fixed)
class sizes_that_are_equal(nn.Module):
    "two sizes of the data that an op needs to be equal: checked when it runs"
    def forward(s, x, y):
        a, b = x[x[:, 0] > 0], y[(x[:, 0] > 0).flip(0)]
        z = torch.zeros_like(a)
        z.copy_(b)
        return a + b, z * 2, (a * b).sum(0), torch.where(a > b, a, b).amax(0), a.t() @ b
    @staticmethod
    def inputs(b, n): return torch.randn(7, n), torch.randn(7, n)

@program(sizes=fixed)
class split_by_data(nn.Module):
    "pieces as long as the data says"
    def forward(s, x, n):
        sizes = n.tolist()
        for k in sizes:
            torch._check(k >= 0)
        return tuple(t.sum(0) * 2 for t in x.split(sizes))
    @staticmethod
    def inputs(b, n): return torch.randn(9, n), torch.tensor([2, 4, 3])

@program()
class repeated_by_data(nn.Module):
    "rows as often as the data says, and distinct ones"
    def forward(s, x, n):
        y = torch.repeat_interleave(x, n, dim=0)
        values, inverse, counts = torch.unique(n, return_inverse=True, return_counts=True)
        return y * 2, y.mean(0), values, inverse, counts, values[inverse] - n
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.arange(b) + 1

@program(sizes=fixed)
class selected_by_data(nn.Module):
    "a row and a window at a number of the data"
    def forward(s, x, at):
        i = at.item()
        torch._check(i >= 0)
        torch._check(i < 5)
        return x[i] * 2, x.narrow(0, i, 3).sum(0), torch.ones(i + 1, 1).expand(i + 1, 4), x.roll(i, 0), x.index_fill(0, at.reshape(1), 1.5)
    @staticmethod
    def inputs(b, n): return torch.randn(8, n), torch.tensor(4)

@program(sizes=((2, 8), (3, 16)))
class windows(nn.Module):
    "attention within windows of an open length, shifted"
    def __init__(s):
        super().__init__()
        s.qkv = nn.Linear(8, 24)
    def forward(s, x):
        b, n, c = x.shape
        y = torch.roll(x, -2, 1).view(b, n // 4, 4, c).reshape(-1, 4, c)
        q, k, v = s.qkv(y).view(-1, 4, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, c)
        return torch.roll(y, 2, 1) + x
    @staticmethod
    def inputs(b, n): return (torch.randn(b, n, 8),)

@program(sizes=fixed)
class asserted_numbers(nn.Module):
    "what the program itself checks of its numbers, of which one is another, and one is 3"
    def forward(s, x, a, b, c):
        i, j, k = a.item(), b.item(), c.item()
        torch._check(i == j)
        torch._check(i >= 0)
        torch._check(i <= 8)
        torch._check(k == 3)
        return x[:, :i].sum(1), torch.ones(j) * 2, x * k
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.tensor(5), torch.tensor(5), torch.tensor(3)

@program()
class positions_of_a_mask(nn.Module):
    "positions that count what is no padding, of a table, and rows that a mask writes"
    def __init__(s):
        super().__init__()
        s.table = nn.Embedding(32, 4)
    def forward(s, x):
        mask = x.ne(1).int()
        positions = torch.cumsum(mask, 1).type_as(mask) * mask + 1
        y = s.table(positions.long())
        y = y.masked_fill(mask.eq(0).unsqueeze(-1), 0.5)
        z = y.clone()
        z[mask.bool()] = y[mask.bool()] * 2
        return y, z
    @staticmethod
    def inputs(b, n): return (torch.randint(0, 4, (b, n)),)

@program(sizes=((2, 16), (3, 24)))
class image_sides(nn.Module):
    "an image whose sides are open: strided convolutions, averages of a fixed number of places, and back to its size"
    def __init__(s):
        super().__init__()
        s.down, s.up = nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 2, 1)
    def forward(s, x):
        y = F.relu(s.down(x))
        places = F.adaptive_avg_pool2d(y, 1) + y
        return F.interpolate(s.up(places), size=x.shape[2:], mode="bilinear", align_corners=False), F.max_pool2d(y, 3, 2, 1).mean((2, 3))
    @staticmethod
    def inputs(b, n): return (torch.randn(b, 3, n, n + 8),)

@program(sizes=fixed)
class numbers_of_the_data(nn.Module):
    "integers and bools of the data in formulas and results"
    def forward(s, x, n):
        i, b = n.sum().item(), (n > 2).any().item()
        return x * i + b, torch.full((2, 2), i), x.masked_fill(x > i % 3, i), torch.arange(4) * i - i // 2, torch.full((2,), b), x / i
    @staticmethod
    def inputs(b, n): return torch.randn(b, n), torch.tensor([1, 4, 2])


def run(exported, args):
    """Results, and the buffers as they are after the run."""
    called = copy.deepcopy(exported).module()
    before = {n: b.clone() for n, b in called.named_buffers()}
    out = called(*[a.clone() for a in args])
    written = set(exported.graph_signature.buffers_to_mutate.values())
    buffers = {n: b for n, b in called.named_buffers() if n in written or not torch.equal(b, before[n])}
    return (out if isinstance(out, (tuple, list)) else [out]), buffers


def write(folder, exported, inputs):
    os.makedirs(folder, exist_ok=True)
    for m in exported.graph_module.modules():
        for n in m.graph.nodes if isinstance(m, torch.fx.GraphModule) else ():
            n.meta.pop("stack_trace", None)  # it names folders of this machine
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
