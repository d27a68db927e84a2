#!/usr/bin/env python3
"""What PyTorch's layers and losses compute: layers.safetensors of tests/golden/nn.tar.xz.

    torch_nn_cases.py OUT.safetensors

For every CASE
  CASE/state.NAME      parameters and buffers, before the call
  CASE/in.N, out.N     arguments that are tensors, results
  CASE/grad.N          gradients of floating arguments, and
  CASE/grad.NAME       of parameters: of the sum of the results, each element weighted by the cosine of its number
  CASE/after.NAME      buffers that the call changed
Modules train unless the case says otherwise. tests/golden/layer_cases_test.cpp has the same cases.
Needs PyTorch 2.14; no test does.
"""
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from safetensors.torch import save_file
from torch import nn

CASES = {}


def coarse(t):
    return (t * 256).round() / 256


def r(*size):
    return coarse(torch.randn(*size))


def case(name, module, *inputs, forward=None, training=True, differentiable=9):
    CASES[name] = (module, inputs, forward or (lambda m, *a: m(*a)), training, differentiable)


def activations():
    x = lambda: r(3, 4) * 2
    for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Sigmoid", "LogSigmoid", "Hardsigmoid", "Hardswish", "Tanh", "Tanhshrink",
                 "Softsign", "CELU", "ELU", "LeakyReLU", "Hardshrink", "Softshrink", "GELU", "GLU", "Softplus", "Hardtanh", "PReLU",
                 "Identity"):
        case(name, getattr(nn, name)(), x())
    case("CELU_2", nn.CELU(2.0), x())
    case("ELU_half", nn.ELU(0.5), x())
    case("LeakyReLU_2", nn.LeakyReLU(0.2), x())
    case("Hardshrink_1", nn.Hardshrink(1.0), x())
    case("Softshrink_1", nn.Softshrink(1.0), x())
    case("GELU_tanh", nn.GELU("tanh"), x())
    case("GLU_0", nn.GLU(0), r(4, 3))
    case("Softplus_3", nn.Softplus(3.0, 2.0), x())
    case("Hardtanh_2", nn.Hardtanh(-0.5, 2.0), x())
    case("Threshold", nn.Threshold(0.3, 2.0), x())
    case("RReLU", nn.RReLU(), x(), training=False)
    case("RReLU_wide", nn.RReLU(0.1, 0.9), x(), training=False)
    case("PReLU_3", nn.PReLU(3, 0.5), r(2, 3, 2))
    case("Softmax", nn.Softmax(0), x())
    case("Softmin", nn.Softmin(1), x())
    case("LogSoftmax", nn.LogSoftmax(1), x())
    case("Softmax2d", nn.Softmax2d(), r(1, 3, 2, 2))
    for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"):
        case(name, getattr(nn, name)(), r(2, 3, 2) if name == "Dropout1d" else r(1, 2, 2, 2, 2), training=False)
    adaptive = lambda: nn.AdaptiveLogSoftmaxWithLoss(6, 9, [3, 6], 2.0, True)
    case("AdaptiveLogSoftmaxWithLoss", adaptive(), r(5, 6), torch.tensor([0, 4, 8, 2, 5]))
    case("AdaptiveLogSoftmaxWithLoss_log_prob", adaptive(), r(2, 6), forward=lambda m, x: m.log_prob(x))


def linears():
    case("Linear", nn.Linear(4, 3), r(2, 4))
    case("Linear_plain", nn.Linear(4, 3, bias=False), r(4))
    case("Bilinear", nn.Bilinear(3, 2, 2), r(3, 3), r(3, 2))
    case("Flatten", nn.Flatten(), r(2, 3, 2))
    case("Unflatten", nn.Unflatten(1, (2, 3)), r(2, 6))
    ids = torch.tensor([[1, 3, 1], [0, 2, 4]])
    case("Embedding", nn.Embedding(5, 3), ids)
    case("Embedding_padding", nn.Embedding(5, 3, padding_idx=-2, scale_grad_by_freq=True), ids)
    case("Embedding_norm", nn.Embedding(5, 3, max_norm=1.0, norm_type=1.0), ids)
    flat, offsets = torch.tensor([1, 3, 1, 0, 2, 4]), torch.tensor([0, 2, 5])
    case("EmbeddingBag", nn.EmbeddingBag(5, 3), ids)
    case("EmbeddingBag_max", nn.EmbeddingBag(5, 3, mode="max"), flat, offsets)
    case("EmbeddingBag_weights", nn.EmbeddingBag(5, 3, mode="sum", padding_idx=3), flat, offsets, r(6),
         forward=lambda m, i, o, w: m(i, o, per_sample_weights=w))
    case("EmbeddingBag_last", nn.EmbeddingBag(5, 3, mode="sum", include_last_offset=True, max_norm=1.0), flat, torch.tensor([0, 2, 6]))
    case("CosineSimilarity", nn.CosineSimilarity(), r(3, 4), r(3, 4))
    case("PairwiseDistance", nn.PairwiseDistance(), r(3, 4), r(3, 4))
    case("PairwiseDistance_1", nn.PairwiseDistance(1.0, 1e-3, True), r(3, 4), r(3, 4))


def convolutions():
    case("Conv1d", nn.Conv1d(2, 3, 3), r(1, 2, 6))
    case("Conv1d_same", nn.Conv1d(2, 2, 4, padding="same", dilation=2, bias=False), r(1, 2, 7))
    case("Conv2d", nn.Conv2d(2, 4, 3, stride=2, padding=1, groups=2), r(1, 2, 5, 4))
    case("Conv2d_lists", nn.Conv2d(1, 2, (3, 2), stride=(1, 2), padding=(2, 1), dilation=(2, 1)), r(1, 1, 5, 4))
    case("Conv2d_same", nn.Conv2d(1, 2, (2, 3), padding="same"), r(1, 1, 4, 4))
    for mode in ("reflect", "replicate", "circular"):
        case("Conv2d_" + mode, nn.Conv2d(1, 2, 3, padding=(1, 2), padding_mode=mode), r(1, 1, 4, 4))
    case("Conv2d_circular_same", nn.Conv2d(1, 2, (2, 3), padding="same", padding_mode="circular"), r(1, 1, 4, 4))
    case("Conv3d", nn.Conv3d(1, 2, 2, padding=(1, 0, 1)), r(1, 1, 3, 3, 2))
    case("ConvTranspose1d", nn.ConvTranspose1d(2, 2, 3, stride=2, output_padding=1), r(1, 2, 4))
    case("ConvTranspose2d", nn.ConvTranspose2d(2, 4, 3, stride=2, padding=1, groups=2, dilation=2), r(1, 2, 3, 3))
    case("ConvTranspose3d", nn.ConvTranspose3d(1, 2, 2, stride=(2, 1, 1)), r(1, 1, 2, 3, 2))
    case("Unfold", nn.Unfold((2, 3), dilation=1, padding=1, stride=2), r(1, 2, 4, 5))
    case("Fold", nn.Fold((4, 5), (2, 3), stride=(2, 1)), r(1, 6, 6))


def norms():
    for n, size in ((1, (4, 2, 3)), (2, (3, 2, 2, 2)), (3, (2, 2, 2, 1, 2))):
        bn, inorm = getattr(nn, "BatchNorm%dd" % n), getattr(nn, "InstanceNorm%dd" % n)
        case("BatchNorm%dd" % n, bn(2), r(*size))
        case("BatchNorm%dd_eval" % n, bn(2, eps=1e-3), r(*size), training=False)
        case("InstanceNorm%dd" % n, inorm(2), r(*size))
        case("InstanceNorm%dd_affine" % n, inorm(2, 1e-3, 0.3, True, True), r(*size))
        case("InstanceNorm%dd_eval" % n, inorm(2, track_running_stats=True), r(*size), training=False)
        case("InstanceNorm%dd_one" % n, inorm(2, affine=True), r(*size[1:]))
    case("BatchNorm1d_average", nn.BatchNorm1d(3, momentum=None), r(4, 3))
    case("BatchNorm2d_plain", nn.BatchNorm2d(2, affine=False, track_running_stats=False), r(2, 2, 2, 2))
    case("LayerNorm", nn.LayerNorm(4), r(2, 3, 4))
    case("LayerNorm_two", nn.LayerNorm((3, 4), 1e-3, bias=False), r(2, 3, 4))
    case("GroupNorm", nn.GroupNorm(2, 4), r(2, 4, 3))
    case("RMSNorm", nn.RMSNorm(4), r(3, 4))
    case("RMSNorm_eps", nn.RMSNorm((4,), 1e-2, False), r(3, 4))
    case("LocalResponseNorm", nn.LocalResponseNorm(3), r(1, 5, 3))
    case("LocalResponseNorm_2", nn.LocalResponseNorm(2, 1.0, 0.5, 2.0), r(1, 4, 2, 3))


def pools():
    sizes = {1: (1, 2, 7), 2: (1, 1, 6, 5), 3: (1, 1, 4, 5, 4)}
    for n, size in sizes.items():
        get = lambda name: getattr(nn, "%s%dd" % (name, n))
        case("MaxPool%dd" % n, get("MaxPool")(2), r(*size))
        case("MaxPool%dd_options" % n, get("MaxPool")(2, 1, 1, 2, ceil_mode=True), r(*size))
        case("AvgPool%dd" % n, get("AvgPool")(2), r(*size))
        case("AvgPool%dd_options" % n, get("AvgPool")(3, 2, 1, ceil_mode=True, count_include_pad=False), r(*size))
        case("LPPool%dd" % n, get("LPPool")(2.0, 2), r(*size).abs() + 0.5)
        case("LPPool%dd_3" % n, get("LPPool")(3.0, 3, 1, True), r(*size).abs() + 0.5)
        case("AdaptiveAvgPool%dd" % n, get("AdaptiveAvgPool")(3), r(*size))
        case("AdaptiveMaxPool%dd" % n, get("AdaptiveMaxPool")(2), r(*size))
        pool = get("MaxPool")(2, return_indices=True)
        case("MaxUnpool%dd" % n, get("MaxUnpool")(2), *pool(r(1, 2, *[4] * n)))
        values, indices = pool(r(*size))
        case("MaxUnpool%dd_size" % n, get("MaxUnpool")(2), values, indices, forward=lambda m, v, i, s=size: m(v, i, output_size=s[2:]))
        for name in ("ReflectionPad", "ReplicationPad", "ZeroPad", "CircularPad"):
            case("%s%dd" % (name, n), get(name)(tuple([1, 2, 2, 1, 1, 0][: 2 * n])), r(1, 1, *[3] * n))
        case("ConstantPad%dd" % n, get("ConstantPad")(1, 2.5), r(1, 1, *[2] * n))
    case("AvgPool2d_divisor", nn.AvgPool2d((3, 2), divisor_override=4), r(*sizes[2]))
    case("AdaptiveAvgPool2d_keep", nn.AdaptiveAvgPool2d((None, 2)), r(*sizes[2]))
    samples = coarse(torch.rand(1, 1, 2))
    case("FractionalMaxPool2d", nn.FractionalMaxPool2d(2, output_size=(3, 2), _random_samples=samples), r(*sizes[2]))
    samples3 = coarse(torch.rand(1, 1, 3))
    case("FractionalMaxPool3d", nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=samples3), r(*sizes[3]))
    CASES["FractionalMaxPool2d"][0].samples, CASES["FractionalMaxPool3d"][0].samples = samples, samples3


def images():
    case("PixelShuffle", nn.PixelShuffle(2), r(1, 4, 2, 2))
    case("PixelUnshuffle", nn.PixelUnshuffle(2), r(1, 1, 4, 4))
    case("ChannelShuffle", nn.ChannelShuffle(2), r(1, 4, 2, 2))
    case("Upsample", nn.Upsample(scale_factor=2), r(1, 2, 3))
    case("Upsample_size", nn.Upsample((5, 3)), r(1, 1, 3, 2))
    case("Upsample_3d", nn.Upsample(scale_factor=(1.5, 2, 1)), r(1, 1, 2, 2, 2))
    case("Upsample_exact", nn.Upsample(5, mode="nearest-exact"), r(1, 1, 3, 2))
    case("Upsample_linear", nn.Upsample(7, mode="linear"), r(1, 1, 3))
    case("Upsample_bilinear", nn.Upsample(scale_factor=1.5, mode="bilinear"), r(1, 1, 4, 2))
    case("Upsample_bicubic", nn.Upsample((5, 4), mode="bicubic", align_corners=True), r(1, 1, 3, 3))
    case("Upsample_trilinear", nn.Upsample(scale_factor=2, mode="trilinear", align_corners=True), r(1, 1, 2, 2, 2))
    case("UpsamplingNearest2d", nn.UpsamplingNearest2d(scale_factor=2), r(1, 1, 2, 2))
    case("UpsamplingBilinear2d", nn.UpsamplingBilinear2d((3, 5)), r(1, 1, 2, 2))


def recurrent():
    flat = lambda out: (out[0], *(out[1] if isinstance(out[1], tuple) else (out[1],)))
    run = lambda m, x: flat(m(x))
    deep = dict(num_layers=2, bidirectional=True, batch_first=True)
    for name in ("RNN", "GRU", "LSTM"):
        case(name, getattr(nn, name)(3, 2), r(4, 2, 3), forward=run)
        case(name + "_deep", getattr(nn, name)(3, 2, **deep), r(2, 3, 3), forward=run)
        case(name + "_one", getattr(nn, name)(3, 2, bias=False), r(3, 3), forward=run)
        case(name + "Cell", getattr(nn, name + "Cell")(3, 2), r(2, 3))
    case("RNN_relu", nn.RNN(3, 2, nonlinearity="relu"), r(3, 2, 3), r(1, 2, 2), forward=lambda m, x, h: flat(m(x, h)))
    case("RNNCell_relu", nn.RNNCell(3, 2, nonlinearity="relu"), r(3), r(2))
    case("GRUCell_plain", nn.GRUCell(3, 2, bias=False), r(2, 3), r(2, 2))
    case("LSTMCell_state", nn.LSTMCell(3, 2), r(3), r(2), r(2), forward=lambda m, x, h, c: m(x, (h, c)))
    case("LSTM_proj", nn.LSTM(3, 4, 2, proj_size=2), r(3, 2, 3), forward=run)


def attention():
    x = lambda n: r(n, 2, 4)
    hidden = torch.ones(3, 3).triu(1).bool()
    padding = torch.tensor([[False, False, True], [False, False, False]])
    plain = lambda m, *a: m(*a, need_weights=False)[0]
    case("MultiheadAttention", nn.MultiheadAttention(4, 2), x(3), x(2), x(2), forward=lambda m, *a: m(*a, need_weights=False)[0])
    case("MultiheadAttention_weights", nn.MultiheadAttention(4, 2), x(3), x(3), x(3), hidden,
         forward=lambda m, q, k, v, mask: m(q, k, v, attn_mask=mask))
    case("MultiheadAttention_heads", nn.MultiheadAttention(4, 2, bias=False, batch_first=True), r(2, 3, 4), r(2, 3, 4), padding,
         forward=lambda m, q, k, p: m(q, k, k, key_padding_mask=p, average_attn_weights=False))
    case("MultiheadAttention_all", nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=5), x(3), r(3, 2, 3),
         r(3, 2, 5), hidden, padding,
         forward=lambda m, q, k, v, h, p: m(q, k, v, attn_mask=h, key_padding_mask=p, need_weights=False)[0])
    options = dict(dim_feedforward=6, dropout=0.0)
    case("TransformerEncoderLayer", nn.TransformerEncoderLayer(4, 2, **options), x(3))
    case("TransformerEncoderLayer_first", nn.TransformerEncoderLayer(4, 2, activation="gelu", norm_first=True, bias=False,
                                                                     layer_norm_eps=1e-3, **options), x(3), padding,
         forward=lambda m, x, p: m(x, src_key_padding_mask=p))
    case("TransformerDecoderLayer", nn.TransformerDecoderLayer(4, 2, **options), x(3), x(2))
    case("TransformerDecoderLayer_first", nn.TransformerDecoderLayer(4, 2, norm_first=True, batch_first=True, **options), r(2, 3, 4),
         r(2, 3, 4), hidden, padding, forward=lambda m, t, s, h, p: m(t, s, tgt_mask=h, memory_key_padding_mask=p))
    case("TransformerEncoder", nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, **options), 2, nn.LayerNorm(4)), x(3))
    case("TransformerDecoder", nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, **options), 2), x(3), x(2))
    case("Transformer", nn.Transformer(4, 2, 1, 1, **options), x(2), x(3), hidden, forward=lambda m, s, t, h: m(s, t, tgt_mask=h))


def losses():
    x = lambda: r(3, 4)
    classes, signs = torch.tensor([1, 3, 0]), torch.tensor([1.0, -1, 1])
    weight, p = torch.tensor([0.5, 1, 2, 0.25]), lambda: coarse(torch.rand(3, 4) * 0.8 + 0.1)
    for reduction in ("none", "mean", "sum"):

        def add(name, options, *inputs):
            case("%s_%s" % (name, reduction), getattr(nn, name)(reduction=reduction, **options), *inputs,
                 differentiable={"MarginRankingLoss": 2, "CosineEmbeddingLoss": 2, "GaussianNLLLoss": 3, "TripletMarginLoss": 3,
                                 "TripletMarginWithDistanceLoss": 3}.get(name, 1))

        add("MSELoss", {}, x(), x())
        add("L1Loss", {}, x(), x())
        add("SmoothL1Loss", dict(beta=0.5), x(), x())
        add("HuberLoss", dict(delta=0.7), x(), x())
        add("CrossEntropyLoss", dict(weight=weight, ignore_index=3, label_smoothing=0.1), x(), classes)
        add("NLLLoss", dict(weight=weight, ignore_index=0), x(), classes)
        add("BCELoss", dict(weight=weight), p(), p())
        add("BCEWithLogitsLoss", dict(weight=weight, pos_weight=weight + 1), x(), p())
        add("KLDivLoss", {}, x(), p())
        add("PoissonNLLLoss", dict(log_input=False, full=True, eps=0.01), p(), p() * 4)
        add("HingeEmbeddingLoss", dict(margin=0.5), r(3), signs)
        add("SoftMarginLoss", {}, r(3), signs)
        add("MultiLabelMarginLoss", {}, x(), torch.tensor([[3, 0, -1, 1], [1, -1, 0, 2], [0, 1, 2, 3]]))
        add("MultiLabelSoftMarginLoss", dict(weight=weight), x(), p())
        add("MultiMarginLoss", dict(p=2, margin=0.5, weight=weight), x(), classes)
        add("GaussianNLLLoss", dict(full=True, eps=0.3), x(), x(), p())
        add("MarginRankingLoss", dict(margin=0.5), r(3), r(3), signs)
        add("CosineEmbeddingLoss", dict(margin=0.2), x(), x(), signs)
        add("TripletMarginLoss", dict(margin=0.8, swap=True), x(), x(), x())
        add("TripletMarginWithDistanceLoss", dict(margin=0.8, swap=True), x(), x(), x())
        case("CTCLoss_" + reduction, nn.CTCLoss(blank=1, reduction=reduction), r(6, 2, 4).log_softmax(2), torch.tensor([[2, 3], [0, 2]]),
             torch.tensor([6, 5]), torch.tensor([2, 1]))
    case("CrossEntropyLoss_probabilities", nn.CrossEntropyLoss(), x(), p(), differentiable=1)
    case("KLDivLoss_batchmean", nn.KLDivLoss(reduction="batchmean", log_target=True), x(), x(), differentiable=1)
    case("GaussianNLLLoss_row", nn.GaussianNLLLoss(), x(), x(), torch.tensor([0.5, 0.25, 2.0]))
    case("MultiMarginLoss_1", nn.MultiMarginLoss(), x(), classes)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    for add in (activations, linears, convolutions, norms, pools, images, recurrent, attention, losses):
        add()
    data = {}
    for name, (module, inputs, forward, training, differentiable) in CASES.items():
        module.train(training)
        put = lambda key, t: data.__setitem__(name + "/" + key, t.detach().clone().contiguous())
        with torch.no_grad():
            for key, t in module.state_dict(keep_vars=True).items():
                if t.is_floating_point():
                    t.copy_(coarse(t.abs() + 0.125 if "running_var" in key else t))
                if key != "_random_samples":  # an argument of its own
                    put("state." + key, t)
        before = {k: t.clone() for k, t in module.named_buffers()}
        given = [t.detach().clone().requires_grad_(t.is_floating_point() and n < differentiable) for n, t in enumerate(inputs)]
        for n, t in enumerate(given):
            put("in.%d" % n, t)
        if hasattr(module, "samples"):
            put("samples", module.samples)
        out = forward(module, *given)
        out = list(out) if isinstance(out, tuple) else [out]
        for n, t in enumerate(out):
            put("out.%d" % n, t)
        loss = sum((t.flatten() * torch.cos(torch.arange(t.numel(), dtype=t.dtype))).sum() for t in out)
        if loss.requires_grad:
            loss.backward()
        for key, t in [(str(n), t) for n, t in enumerate(given)] + list(module.named_parameters()):
            if t.grad is not None:
                put("grad." + key, t.grad)
        for key, t in module.named_buffers():
            if not torch.equal(t, before[key]):
                put("after." + key, t)
        if any(not torch.isfinite(t).all() for k, t in data.items() if k.startswith(name + "/") and t.is_floating_point()):
            print("not finite:", name)
    save_file(data, sys.argv[1])


if __name__ == "__main__":
    main()
