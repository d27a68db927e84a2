"""Operators that PyTorch's operator database does not have, in its form, for torch_op_cases.py:
those of torchvision, of quantised models (quantized_decomposed), and the fake quantisation of
PyTorch itself. Entries are named LIBRARY.OPERATOR."""
import torch
import torch.ao.quantization.fx._decomposed
import torchvision

FLOATS, HALVES = [torch.float32, torch.float64], [torch.float16, torch.bfloat16]


class Sample:
    def __init__(self, input, *args):
        self.input, self.args, self.kwargs = input, args, {}


class Other:
    variant_test_name = ""

    def __init__(self, op, samples, dtypes, gradients):
        self.op, self.samples, self.dtypes = op, samples, dtypes
        self.name = "%s.%s" % (op._schema.name.split("::")[0], op._schema.name.split("::")[1] + ("." + op._overloadname if op._overloadname != "default" else ""))
        self.supports_autograd, self.backward_dtypes = gradients, dtypes

    def sample_inputs(self, device, dtype, requires_grad):
        for sample in self.samples(dtype):
            sample.input.requires_grad_(requires_grad)
            yield sample


OTHERS = []


def other(*ops, dtypes=FLOATS, gradients=True):
    def take(samples):
        OTHERS.extend(Other(op, lambda dtype, op=op: samples(op, dtype), dtypes, gradients) for op in ops)
        return samples

    return take


vision, quantized, aten = torch.ops.torchvision, torch.ops.quantized_decomposed, torch.ops.aten


@other(vision.nms.default, gradients=False)  # exported, it asserts that two boxes or more stay
def boxes(op, dtype):
    for n, threshold in [(12, 0.3), (40, 0.6), (40, 0.0)]:
        corner = torch.rand(n, 2, dtype=dtype) * 4
        yield Sample(torch.cat([corner, corner + torch.rand(n, 2, dtype=dtype) * 4], 1), torch.rand(n, dtype=dtype), threshold)


def rois(n, dtype):
    corner = torch.rand(n, 2) * 6 - 1
    return torch.cat([torch.randint(0, 2, (n, 1)).float(), corner, corner + torch.rand(n, 2) * 6], 1).to(dtype)


@other(vision.roi_align.default, dtypes=FLOATS + [torch.float16])
def roi_align(op, dtype):
    for n, size, scale, ratio, aligned in [(0, (2, 2), 1., 2, False), (3, (2, 3), 1., 2, False), (4, (3, 3), 0.5, -1, True), (4, (1, 2), 2., 0, False), (2, (2, 2), 1., 3, True)]:
        yield Sample(torch.randn(2, 3, 5, 6, dtype=dtype), rois(n, dtype), scale, *size, ratio, aligned)
    yield Sample(torch.randn(2, 3, 1, 6, dtype=dtype).transpose(2, 3), rois(3, dtype), 1., 2, 2, -1, False)


@other(vision.roi_pool.default, vision.ps_roi_pool.default, dtypes=FLOATS + [torch.float16])
def roi_pool(op, dtype):
    for n, size, scale in [(0, (2, 2), 1.), (3, (2, 3), 1.), (4, (3, 2), 0.5), (4, (1, 2), 2.)]:
        yield Sample(torch.randn(2, 12, 5, 6, dtype=dtype), rois(n, dtype), scale, *size)


@other(vision.ps_roi_align.default, dtypes=FLOATS + [torch.float16])
def ps_roi_align(op, dtype):
    for n, size, scale, ratio in [(0, (2, 2), 1., 2), (3, (2, 3), 1., 2), (4, (3, 2), 0.5, -1), (4, (1, 2), 2., 0)]:
        yield Sample(torch.randn(2, 12, 5, 6, dtype=dtype), rois(n, dtype), scale, *size, ratio)


@other(vision.deform_conv2d.default)
def deform_conv2d(op, dtype):
    def random(*size):
        return torch.randn(*size, dtype=dtype, requires_grad=True)

    for n, (h, w), stride, pad, dilation, groups, offsets, masked in [(2, (3, 3), 1, 1, 1, 1, 1, True), (1, (2, 3), 2, 0, 1, 2, 2, False), (3, (1, 2), 1, 2, 2, 2, 1, True), (0, (2, 2), 1, 0, 1, 1, 1, False), (33, (1, 1), 2, 0, 1, 4, 1, True)]:
        out = [(s + 2 * pad - dilation * (k - 1) - 1) // stride + 1 for s, k in ((6, h), (5, w))]
        mask = random(n, offsets * h * w, *out) if masked else torch.zeros(n, 1, dtype=dtype)
        yield Sample(random(n, 4, 6, 5), random(8, 4 // groups, h, w), random(n, 2 * offsets * h * w, *out), mask, random(8), stride, stride, pad, pad, dilation, dilation, groups, offsets, masked)


@other(aten.fake_quantize_per_tensor_affine_cachemask.default, dtypes=FLOATS + HALVES)
def fake_quantize(op, dtype):
    for size, scale, zero, low, high in [((3, 4), 0.1, 0, -128, 127), ((3, 4), 0.3, 2, -4, 5), ((0,), 0.1, 0, 0, 255), ((), 0.1, 7, 0, 255)]:
        yield Sample(torch.randn(size, dtype=dtype) * 2, scale, zero, low, high)
    yield Sample(torch.tensor([1., 0.5, -0.25, float("nan"), float("inf"), -float("inf"), 1e4], dtype=dtype), 0.5, 0, -8, 7)
    yield Sample((torch.randn(3, 4, dtype=dtype) * 2).t(), 0.25, 1, -8, 7)


@other(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default, dtypes=FLOATS + HALVES)
def fake_quantize_tensors(op, dtype):
    for on, zero in [(1, torch.tensor([3], dtype=torch.int32)), (0, torch.tensor(2)), (1, torch.tensor([20]))]:
        yield Sample(torch.randn(3, 4, dtype=dtype) * 2, torch.tensor([0.3]), zero, torch.tensor([on]), -8, 7)


@other(aten.fake_quantize_per_channel_affine_cachemask.default, dtypes=FLOATS + HALVES)
def fake_quantize_channels(op, dtype):
    for axis, zero in [(0, torch.tensor([3, 0, -2], dtype=torch.int32)), (1, torch.tensor([3.3, 0.5, -2.2, 0.])), (1, torch.tensor([3.3, 0.5, -2.2, 0.]).half())]:
        yield Sample(torch.randn(3, 4, 2, dtype=dtype) * 2, torch.rand(len(zero)) + 0.1, zero, axis, -8, 7)


@other(aten._fake_quantize_learnable_per_tensor_affine.default, dtypes=[torch.float32])
def learnable(op, dtype):
    for zero in [2., -1.5, 20.]:
        yield Sample(torch.randn(3, 4) * 2, torch.tensor([0.3], requires_grad=True), torch.tensor([zero], requires_grad=True), -8, 7, 0.7)


@other(aten._fake_quantize_learnable_per_channel_affine.default, dtypes=[torch.float32])
def learnable_channels(op, dtype):
    for axis, size in [(0, 3), (1, 4)]:
        yield Sample(torch.randn(3, 4, 2) * 2, (torch.rand(size) + 0.1).requires_grad_(), (torch.randn(size) * 3).requires_grad_(), axis, -8, 7, 0.7)


@other(aten._fused_moving_avg_obs_fq_helper_functional.default, dtypes=[torch.float32], gradients=False)
def observed(op, dtype):
    def state(n, low, high):
        return torch.full((n,), low), torch.full((n,), high), torch.ones(n), torch.zeros(n, dtype=torch.int32)

    on, off, inf = torch.tensor([1]), torch.tensor([0]), float("inf")
    for watch, quantize, low, high, least, most, rows, symmetric, by in [
            (on, on, inf, -inf, 0, 255, False, False, 3), (on, on, -1., 2., 0, 15, False, False, 3), (on, on, -1., 2., -8, 7, True, True, 3),
            (on, on, inf, -inf, -8, 7, True, False, 3), (off, on, -1., 2., -128, 127, False, True, 3), (on, off, -1., 2., 0, 255, False, False, 3),
            (on, on, inf, -inf, 0, 255, False, False, 0), (on, on, inf, -inf, 0, 255, False, False, 1e-6), (on, on, inf, -inf, -128, 127, False, True, 1e-6)]:
        yield Sample(torch.randn(3, 4) * by, watch, quantize, *state(3 if rows else 1, low, high), 0.01, least, most, 0, rows, symmetric)
    yield Sample(torch.randn(3, 4).abs() * 1e-6, on, on, *state(1, inf, -inf), 0.01, 0, 255, 0, False, False)
    yield Sample(-torch.randn(3, 4).abs() * 1e-6, on, on, *state(1, inf, -inf), 0.01, 0, 255, 0, False, False)


I8 = (-128, 127, torch.int8)


@other(quantized.quantize_per_tensor.default, dtypes=[torch.float32] + HALVES, gradients=False)
def quantize(op, dtype):
    for scale, zero, low, high, to in [(0.1, 3, *I8), (0.03, 100, 0, 255, torch.uint8), (0.01, 0, -30000, 30000, torch.int16), (0.1, 0, -448, 448, torch.float8_e4m3fn), (0.5, 1, -8, 7, torch.int8)]:
        yield Sample(torch.randn(3, 4, dtype=dtype).t() * 3, scale, zero, low, high, to)


@other(quantized.quantize_per_tensor.tensor, dtypes=[torch.float32] + HALVES, gradients=False)
def quantize_tensors(op, dtype):
    for scale, zero in [(torch.tensor([0.1]), torch.tensor([3])), (torch.tensor(0.07, dtype=torch.float64), torch.tensor(-5, dtype=torch.int32))]:
        yield Sample(torch.randn(3, 4, dtype=dtype) * 3, scale, zero, *I8)


@other(quantized.dequantize_per_tensor.default, dtypes=[torch.int8, torch.uint8, torch.int16, torch.int32], gradients=False)
def dequantize(op, dtype):
    yield Sample(torch.randint(0, 100, (3, 4)).to(dtype), 0.1, 3, 0, 127, dtype)


@other(quantized.dequantize_per_tensor.tensor, dtypes=[torch.int8], gradients=False)
def dequantize_tensors(op, dtype):
    yield Sample(torch.randint(-100, 100, (3, 4)).to(dtype), torch.tensor(0.1, dtype=torch.float64), torch.tensor([3]), *I8)


@other(quantized.quantize_per_channel.default, dtypes=[torch.float32] + HALVES, gradients=False)
def quantize_channels(op, dtype):
    for axis, size, scale in [(0, 3, torch.float32), (1, 4, torch.float64), (-1, 2, torch.float32)]:
        yield Sample(torch.randn(3, 4, 2, dtype=dtype) * 3, torch.rand(size, dtype=scale) + 0.02, torch.randint(-5, 5, (size,)), axis, *I8)


@other(quantized.dequantize_per_channel.default, dtypes=[torch.int8], gradients=False)
def dequantize_channels(op, dtype):
    for axis, size, zero in [(0, 3, torch.int64), (1, 4, torch.int8), (2, 2, torch.float32)]:
        yield Sample(torch.randint(-128, 128, (3, 4, 2)).to(dtype), torch.rand(size) + 0.02, torch.randint(-5, 5, (size,)).to(zero), axis, *I8)


@other(quantized.quantize_per_channel_group.default, dtypes=[torch.float32, torch.bfloat16], gradients=False)
def quantize_groups(op, dtype):
    yield Sample(torch.randn(3, 8, dtype=dtype) * 3, torch.rand(6) + 0.02, torch.randint(-5, 5, (6,)), *I8, 4)


@other(quantized.dequantize_per_channel_group.default, dtypes=[torch.int8], gradients=False)
def dequantize_groups(op, dtype):
    yield Sample(torch.randint(-8, 8, (3, 8)).to(dtype), torch.rand(6) + 0.02, torch.randint(-5, 5, (6,)), *I8, 4, torch.bfloat16)


@other(quantized.choose_qparams.tensor, quantized.choose_qparams_symmetric.tensor, dtypes=[torch.float32] + HALVES, gradients=False)
def choose(op, dtype):
    for low, high, to in [I8, (0, 255, torch.uint8), (-8, 7, torch.int8)]:
        yield Sample(torch.randn(3, 4, dtype=dtype) * 3 + 1, low, high, 1e-5, to)


@other(quantized.choose_qparams_per_token_asymmetric.default, dtypes=[torch.float32] + HALVES, gradients=False)
def choose_tokens(op, dtype):
    yield Sample(torch.randn(2, 3, 4, dtype=dtype) * 3 + 1, torch.int8)


@other(quantized.quantize_per_token.default, dtypes=[torch.float32] + HALVES, gradients=False)
def quantize_tokens(op, dtype):
    yield Sample(torch.randn(2, 3, 4, dtype=dtype) * 3, torch.rand(2, 3, 1, dtype=torch.float64) + 0.02, torch.randint(-5, 5, (2, 3, 1)), *I8)


@other(quantized.dequantize_per_token.default, dtypes=[torch.int8], gradients=False)
def dequantize_tokens(op, dtype):
    yield Sample(torch.randint(-128, 128, (2, 3, 4)).to(dtype), torch.rand(2, 3, 1, dtype=torch.float64) + 0.02, torch.randint(-5, 5, (2, 3, 1)), *I8, torch.float32)


@other(aten._weight_int8pack_mm.default, dtypes=[torch.float32] + HALVES, gradients=False)
def int8_product(op, dtype):
    for m, k, n in [(3, 16, 5), (1, 37, 8), (0, 16, 3)]:
        yield Sample(torch.randn(m, k, dtype=dtype), torch.randint(-128, 128, (n, k), dtype=torch.int8), torch.rand(n, dtype=dtype))


@other(aten._convert_weight_to_int4pack_for_cpu.default, dtypes=[torch.int32], gradients=False)
def int4_packed(op, dtype):
    yield Sample(torch.randint(0, 16, (48, 6), dtype=dtype), 1)


@other(aten._weight_int4pack_mm_for_cpu.default, dtypes=[torch.float32] + HALVES, gradients=False)
def int4_product(op, dtype):
    for m, k, n, group in [(3, 64, 16, 32), (1, 128, 48, 64)]:
        yield Sample(torch.randn(m, k, dtype=dtype), torch.randint(0, 256, (n, k // 2), dtype=torch.uint8), group, torch.randn(k // group, n, 2, dtype=dtype))
