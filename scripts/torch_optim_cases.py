#!/usr/bin/env python3
"""What PyTorch's optimizers, schedulers, averages and clipping compute: optim.safetensors of
tests/golden/nn.tar.xz.

    torch_optim_cases.py OUT.safetensors

  start.N, grads.N                 parameters, and their gradients in STEPS steps
  optim/CASE/N                     the parameters after the steps of SEEN, one after the other
  optim/CASE/state.N.NAME          what the optimizer keeps after the last
  lbfgs/CASE/N                     parameters after each of four steps down Rosenbrock's valley
  lr/CASE, momentum/CASE           what a scheduler made of the groups' learning rates, before each step
  clip/CASE/norm, clip/CASE/N      the norm, and what clipping made of the first gradients
  average/CASE/NAME                averages of a module whose parameters went by the gradients
tests/golden/optim_test.cpp has the same cases. Needs PyTorch 2.14; no test does.
"""
import sys
import warnings

warnings.filterwarnings("ignore")

import torch
from safetensors.torch import save_file
from torch import optim
from torch.optim import lr_scheduler as lr
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

STEPS, SEEN = 6, (1, 3, 6)
SIZES = ((3, 4), (5,))


class Lion(optim.Optimizer):
    """Algorithm 2 of Chen et al., Symbolic Discovery of Optimization Algorithms."""

    def __init__(self, params, lr=1e-4, betas=(0.9, 0.99), weight_decay=0.0, maximize=False):
        super().__init__(params, dict(lr=lr, betas=betas, weight_decay=weight_decay, maximize=maximize))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            b1, b2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                g = -p.grad if group["maximize"] else p.grad
                update = torch.sign(b1 * m + (1 - b1) * g)
                p.sub_(group["lr"] * (update + group["weight_decay"] * p))
                m.copy_(b2 * m + (1 - b2) * g)


OPTIMIZERS = {
    "sgd": (optim.SGD, {}),
    "sgd_momentum": (optim.SGD, dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.2)),
    "sgd_nesterov": (optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True, maximize=True)),
    "adam": (optim.Adam, {}),
    "adam_decay": (optim.Adam, dict(lr=0.1, betas=(0.8, 0.9), eps=1e-3, weight_decay=0.3)),
    "adam_amsgrad": (optim.Adam, dict(lr=0.1, betas=(0.5, 0.6), amsgrad=True, maximize=True)),
    "adamw": (optim.AdamW, {}),
    "adamw_amsgrad": (optim.AdamW, dict(lr=0.1, betas=(0.5, 0.6), amsgrad=True, weight_decay=0.3)),
    "rmsprop": (optim.RMSprop, {}),
    "rmsprop_centered": (optim.RMSprop, dict(lr=0.1, alpha=0.8, centered=True, weight_decay=0.2)),
    "rmsprop_momentum": (optim.RMSprop, dict(lr=0.05, momentum=0.9, eps=1e-3, maximize=True)),
    "rmsprop_all": (optim.RMSprop, dict(lr=0.05, momentum=0.9, centered=True, weight_decay=0.1)),
    "adagrad": (optim.Adagrad, {}),
    "adagrad_decay": (optim.Adagrad, dict(lr=0.1, lr_decay=0.2, weight_decay=0.3, initial_accumulator_value=0.4, eps=1e-3)),
    "adagrad_maximize": (optim.Adagrad, dict(lr=0.1, maximize=True)),
    "adafactor": (optim.Adafactor, {}),
    "adafactor_decay": (optim.Adafactor, dict(lr=0.5, beta2_decay=-0.5, eps=(1e-4, 0.2), d=1.5, weight_decay=0.1, maximize=True)),
    "lion": (Lion, {}),
    "lion_decay": (Lion, dict(lr=0.05, betas=(0.8, 0.7), weight_decay=0.4)),
    "lion_maximize": (Lion, dict(lr=0.05, maximize=True)),
    "muon": (optim.Muon, {}),
    "muon_plain": (optim.Muon, dict(lr=0.1, momentum=0.8, nesterov=False, weight_decay=0)),
    "muon_adamw": (optim.Muon, dict(lr=0.1, weight_decay=0.3, ns_steps=3, eps=1e-3, adjust_lr_fn="match_rms_adamw")),
    "muon_spectral": (optim.Muon, dict(lr=0.1, ns_coefficients=(3.0, -3.2, 1.2), adjust_lr_fn="spectral_unclamped")),
}
LBFGS = {
    "plain": dict(lr=1e-3, max_iter=4),
    "history": dict(lr=0.2, max_iter=7, history_size=3),
    "wolfe": dict(max_iter=6, line_search_fn="strong_wolfe"),
    "wolfe_long": dict(lr=0.5, line_search_fn="strong_wolfe", history_size=4),
    "wolfe_few": dict(max_iter=9, max_eval=5, line_search_fn="strong_wolfe"),
    "maximize": dict(max_iter=5, line_search_fn="strong_wolfe", maximize=True),
}


def chained(o):
    return lr.ChainedScheduler([lr.ConstantLR(o, 0.1, 3), lr.ExponentialLR(o, 0.9)])


def sequential(o):
    return lr.SequentialLR(o, [lr.LinearLR(o, 0.2, 1, 4), lr.CosineAnnealingLR(o, 6), lr.StepLR(o, 2)], [4, 9])


SCHEDULERS = {
    "step": lambda o: lr.StepLR(o, 3),
    "multi_step": lambda o: lr.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda o: lr.ConstantLR(o),
    "constant_half": lambda o: lr.ConstantLR(o, 0.5, 3),
    "linear": lambda o: lr.LinearLR(o),
    "linear_down": lambda o: lr.LinearLR(o, 1.0, 0.25, 7),
    "exponential": lambda o: lr.ExponentialLR(o, 0.8),
    "polynomial": lambda o: lr.PolynomialLR(o),
    "polynomial_square": lambda o: lr.PolynomialLR(o, 8, 2.0),
    "cosine": lambda o: lr.CosineAnnealingLR(o, 5),
    "cosine_floor": lambda o: lr.CosineAnnealingLR(o, 4, 0.01),
    "restarts": lambda o: lr.CosineAnnealingWarmRestarts(o, 3),
    "restarts_longer": lambda o: lr.CosineAnnealingWarmRestarts(o, 2, 2, 0.001),
    "lambda": lambda o: lr.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda o: lr.MultiplicativeLR(o, lambda e: 1 - 0.05 * e),
    "one_cycle": lambda o: lr.OneCycleLR(o, 0.5, 14),
    "one_cycle_three": lambda o: lr.OneCycleLR(o, [0.5, 0.2], 14, pct_start=0.4, anneal_strategy="linear", three_phase=True,
                                               base_momentum=0.7, max_momentum=0.8, div_factor=10, final_div_factor=50),
    "cyclic": lambda o: lr.CyclicLR(o, 0.01, 0.1, 3),
    "cyclic_2": lambda o: lr.CyclicLR(o, [0.01, 0.02], [0.1, 0.3], 2, 3, "triangular2", base_momentum=0.5),
    "cyclic_range": lambda o: lr.CyclicLR(o, 0.01, 0.1, 2, mode="exp_range", gamma=0.9, cycle_momentum=False),
    "plateau": lambda o: lr.ReduceLROnPlateau(o, patience=1, factor=0.5),
    "plateau_max": lambda o: lr.ReduceLROnPlateau(o, "max", 0.3, 0, 0.05, "abs", 2, [0.01, 0.001]),
    "sequential": sequential,
    "chained": chained,
}
MEASURES = [3.0, 2.0, 2.5, 1.9, 2.2, 2.4, 2.0, 1.95, 1.0, 0.9999, 0.9999, 1.2, 0.99]


def parameters():
    torch.manual_seed(1)
    return [torch.randn(s, dtype=torch.float64) for s in SIZES]


def flat_state(state):
    r = {}
    for number, kept in state.items():
        for name, value in kept.items():
            if name != "step" and isinstance(value, torch.Tensor):
                r["state.%d.%s" % (number, name)] = value.double()
    return r


def add_optimizers(data):
    start = parameters()
    grads = [torch.randn(STEPS, *s, dtype=torch.float64) for s in SIZES]
    for n in range(len(SIZES)):
        data["start.%d" % n], data["grads.%d" % n] = start[n].clone(), grads[n].clone()
    for case, (kind, options) in OPTIMIZERS.items():
        p = [t.clone().requires_grad_() for t in start]
        if kind is optim.Muon:
            p[1] = p[0].detach().t().contiguous().requires_grad_()  # a tall matrix beside the wide one
        o = kind(p[:1], **options)
        o.add_param_group({"params": p[1:], "lr": 0.03})
        seen = [[] for _ in p]
        for step in range(STEPS):
            for n, t in enumerate(p):
                g = grads[n] if t.shape == grads[n].shape[1:] else grads[0].transpose(1, 2)
                t.grad = g[step].clone().contiguous()
            o.step()
            for n, t in enumerate(p):
                if step + 1 in SEEN:
                    seen[n].append(t.detach().clone())
        for n, l in enumerate(seen):
            data["optim/%s/%d" % (case, n)] = torch.stack(l)
        for name, t in flat_state(o.state_dict()["state"]).items():
            data["optim/%s/%s" % (case, name)] = t


def add_lbfgs(data):
    for case, options in LBFGS.items():
        p = [torch.tensor([-1.2, 1.0, 0.3], dtype=torch.float64).requires_grad_(),
             torch.tensor([[0.5], [-0.7]], dtype=torch.float64).requires_grad_()]
        o = optim.LBFGS(p, **options)

        def closure():
            o.zero_grad()
            x = torch.cat([t.flatten() for t in p])
            loss = (10 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
            if options.get("maximize"):
                loss = -loss
            loss.backward()
            return loss

        seen = [[] for _ in p]
        for _ in range(4):
            o.step(closure)
            for n, t in enumerate(p):
                seen[n].append(t.detach().clone())
        for n, l in enumerate(seen):
            data["lbfgs/%s/%d" % (case, n)] = torch.stack(l)


def add_schedulers(data):
    for case, make in SCHEDULERS.items():
        p = [t.clone().requires_grad_() for t in parameters()]
        groups = [{"params": p[:1]}, {"params": p[1:], "lr": 0.02}]
        adam = case in ("one_cycle_three", "cyclic_2")
        o = optim.Adam(groups, lr=0.1) if adam else optim.SGD(groups, lr=0.1, momentum=0.9)
        s = make(o)
        rates, momenta = [], []
        for measure in MEASURES:
            rates.append([g["lr"] for g in o.param_groups])
            momenta.append(o.param_groups[0]["betas"][0] if adam else o.param_groups[0]["momentum"])
            s.step(measure) if isinstance(s, lr.ReduceLROnPlateau) else s.step()
        data["lr/" + case] = torch.tensor(rates, dtype=torch.float64)
        data["momentum/" + case] = torch.tensor(momenta, dtype=torch.float64)


def add_clipping(data):
    for case, norm in {"two": 2.0, "one": 1.0, "infinity": float("inf"), "half": 0.5}.items():
        p = [t.clone().requires_grad_() for t in parameters()]
        for n, t in enumerate(p):
            t.grad = data["grads.%d" % n][0].clone()
        data["clip/%s/norm" % case] = torch.nn.utils.clip_grad_norm_(p, 1.5, norm).detach().clone()
        for n, t in enumerate(p):
            data["clip/%s/%d" % (case, n)] = t.grad.clone()
    p[0].grad = data["grads.0"][0].clone()
    torch.nn.utils.clip_grad_value_(p[:1], 0.4)
    data["clip/value/0"] = p[0].grad.clone()


def add_averages(data):
    for case, decay, buffers in (("ema", 0.8, False), ("ema_buffers", 0.8, True), ("mean", None, False)):
        m = torch.nn.BatchNorm1d(5).double()
        a = AveragedModel(m, multi_avg_fn=get_ema_multi_avg_fn(decay) if decay else None, use_buffers=buffers)
        for step in range(STEPS):
            with torch.no_grad():
                m.weight.add_(data["grads.1"][step])
                m.bias.sub_(data["grads.1"][step])
                m.running_mean.add_(data["grads.1"][step])
            a.update_parameters(m)
        for name, t in a.state_dict().items():
            data["average/%s/%s" % (case, name)] = t.detach().clone().double()


def main():
    torch.set_num_threads(1)
    data = {}
    for add in (add_optimizers, add_lbfgs, add_schedulers, add_clipping, add_averages):
        add(data)
    save_file({n: t.detach().contiguous() for n, t in data.items()}, sys.argv[1])


if __name__ == "__main__":
    main()
