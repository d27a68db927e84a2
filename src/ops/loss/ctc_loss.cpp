// Connectionist temporal classification: the probability of a label sequence under per-step class
// probabilities, summed over all alignments (Graves et al. 2006). Everything is computed in log
// space and double.
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "base/parallel.hpp"
#include "ops/family.hpp"
#include "ops/loss/loss_reduction.hpp"
#include "tensor/rows.hpp"

namespace ingot {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double hi = std::max(a, b);
  return hi == kNever ? kNever : hi + std::log1p(std::exp(std::min(a, b) - hi));
}

// Lengths are a list of ints, or a tensor of them.
std::vector<int64_t> lengths_of(const Value& v) { return v.is_tensor() ? v.tensor().to_vector<int64_t>() : v.ints().values(); }
int64_t longest(const std::vector<int64_t>& lengths) {
  int64_t n = 0;
  for (int64_t l : lengths) n = std::max(n, l);
  return n;
}

// One call: log_probs (T, N, C), the labels of every sample with blanks between them.
struct Problem {
  int64_t steps, batch, classes, blank;
  std::vector<double> log_p;
  std::vector<int64_t> input_lengths, target_lengths, targets, offsets;
  int64_t states;  // of the longest target: blank, label, blank, …, blank

  Problem(const Call& c, const Tensor& log_probs, const Tensor& target, const Value& input, const Value& lengths,
          const Value& blank_class) {
    const std::vector<int64_t> s = log_probs.sizes().values();
    steps = s[0], batch = s[1], classes = s[2];
    blank = blank_class.to_int64();
    INGOT_REQUIRE(blank >= 0 && blank < classes, c.op.schema.name, ": blank must be in label range, found ", blank, " with ",
                  classes, " classes");
    input_lengths = lengths_of(input);
    target_lengths = lengths_of(lengths);
    INGOT_REQUIRE(static_cast<int64_t>(input_lengths.size()) == batch && static_cast<int64_t>(target_lengths.size()) == batch,
                  c.op.schema.name, ": input_lengths and target_lengths must be of size batch_size = ", batch);
    targets = target.to_vector<int64_t>();
    const int64_t width = target.dim() == 1 ? -1 : target.size(1).value();
    INGOT_REQUIRE(width < 0 || target.size(0) == batch, c.op.schema.name,
                  ": expected targets of shape (N, S) or one row of all labels, found ", target.sizes());
    int64_t next = 0;
    for (int64_t b = 0; b < batch; b++) {
      const int64_t n = target_lengths[static_cast<std::size_t>(b)];
      const int64_t t = input_lengths[static_cast<std::size_t>(b)];
      INGOT_REQUIRE(t >= 0 && t <= steps, c.op.schema.name, ": Expected input_lengths to have value at most ", steps,
                    ", but got value ", t);
      INGOT_REQUIRE(n >= 0 && (width < 0 || n <= width), c.op.schema.name, ": Expected tensor to have size at least ", n,
                    " at dimension 1, but got size ", target.sizes());
      offsets.push_back(width < 0 ? next : b * width);
      next += n;
    }
    INGOT_REQUIRE(width >= 0 || next == static_cast<int64_t>(targets.size()), c.op.schema.name, ": expected ", next,
                  " labels in all, found ", targets.size());
    for (int64_t b = 0; b < batch; b++)
      for (int64_t i = 0; i < target_lengths[static_cast<std::size_t>(b)]; i++) {
        const int64_t label = targets[static_cast<std::size_t>(offsets[static_cast<std::size_t>(b)] + i)];
        INGOT_REQUIRE_INDEX(label >= 0 && label < classes, c.op.schema.name, ": target ", label, " is out of bounds for ",
                            classes, " classes");
      }
    log_p = log_probs.to_vector<double>();
    states = 2 * longest(target_lengths) + 1;
  }
  int64_t states_of(int64_t b) const { return 2 * target_lengths[static_cast<std::size_t>(b)] + 1; }
  int64_t label(int64_t b, int64_t s) const {
    return s % 2 == 0 ? blank : targets[static_cast<std::size_t>(offsets[static_cast<std::size_t>(b)] + s / 2)];
  }
  double at(int64_t t, int64_t b, int64_t k) const { return log_p[static_cast<std::size_t>((t * batch + b) * classes + k)]; }
  // Whether state s may be entered straight from s - 2: its label differs and is no blank.
  bool skips(int64_t b, int64_t s) const { return s >= 2 && s % 2 == 1 && label(b, s) != label(b, s - 2); }
};

void ctc_meta(const Call& c, const Tensor& log_probs, Int states, Outputs& o) {
  INGOT_REQUIRE(log_probs.dim() == 3 && log_probs.is_floating_point(), c.op.schema.name,
                ": expected floating log_probs of shape (T, N, C), found ", log_probs.sizes());
  o.add(Shape{log_probs.size(1)}, log_probs.dtype());
  o.add(Shape{log_probs.size(1), log_probs.size(0), states}, log_probs.dtype());
}
// log_probs, targets, input_lengths, target_lengths, blank, zero_infinity. The size of log_alpha
// depends on the lengths.
void ctc_loss_meta(const Call& c, Outputs& o) {
  INGOT_REQUIRE(c[3].is_ints() || !c.tensor(3)->is_fake(), c.op.schema.name,
                ": the size of a result depends on data; it cannot be traced");
  ctc_meta(c, c.tensor(0), 2 * longest(lengths_of(c[3])) + 1, o);
}
void ctc_loss_kernel(const Call& c, std::span<const Tensor> r) {
  const Problem p(c, c.tensor(0), c.tensor(1), c[2], c[3], c[4]);
  std::vector<double> loss(static_cast<std::size_t>(p.batch)),
      alpha(static_cast<std::size_t>(p.batch * p.steps * p.states), kNever);
  parallel_for(0, p.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; b++) {
      double* a = alpha.data() + b * p.steps * p.states;
      const int64_t steps = p.input_lengths[static_cast<std::size_t>(b)], states = p.states_of(b);
      double& out = loss[static_cast<std::size_t>(b)];
      if (steps == 0) {
        out = states == 1 ? 0 : -kNever;
        continue;
      }
      a[0] = p.at(0, b, p.blank);
      if (states > 1) a[1] = p.at(0, b, p.label(b, 1));
      for (int64_t t = 1; t < steps; t++)
        for (int64_t s = 0; s < states; s++) {
          const double* before = a + (t - 1) * p.states;
          double v = before[s];
          if (s >= 1) v = log_add(v, before[s - 1]);
          if (p.skips(b, s)) v = log_add(v, before[s - 2]);
          a[t * p.states + s] = v + p.at(t, b, p.label(b, s));
        }
      const double* last = a + (steps - 1) * p.states;
      out = -(states == 1 ? last[0] : log_add(last[states - 1], last[states - 2]));
    }
  });
  store_row(Compute::f64, loss.data(), p.batch, r[0].dtype(), r[0].data_ptr(), 1);
  store_row(Compute::f64, alpha.data(), static_cast<int64_t>(alpha.size()), r[1].dtype(), r[1].data_ptr(), 1);
}

// grad, log_probs, targets, input_lengths, target_lengths, neg_log_likelihood, log_alpha, blank,
// zero_infinity
void ctc_backward_meta(const Call& c, Outputs& o) { o.add(c.tensor(1).sizes(), c.tensor(1).dtype()); }
void ctc_backward_kernel(const Call& c, std::span<const Tensor> r) {
  const Problem p(c, c.tensor(1), c.tensor(2), c[3], c[4], c[7]);
  const std::vector<double> grad = c.tensor(0).to_vector<double>(), nll = c.tensor(5).to_vector<double>(),
                            alpha = c.tensor(6).to_vector<double>();
  INGOT_REQUIRE(static_cast<int64_t>(alpha.size()) == p.batch * p.steps * p.states &&
                    static_cast<int64_t>(grad.size()) == p.batch && static_cast<int64_t>(nll.size()) == p.batch,
                c.op.schema.name, ": log_alpha, grad or neg_log_likelihood are not of this call");
  std::vector<double> out(p.log_p.size());
  parallel_for(0, p.batch, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> beta(static_cast<std::size_t>(p.states)), before, per_class(static_cast<std::size_t>(p.classes));
    for (int64_t b = begin; b < end; b++) {
      const auto i = static_cast<std::size_t>(b);
      const int64_t steps = p.input_lengths[i], states = p.states_of(b);
      if (c[8].to_bool() && nll[i] == -kNever) continue;
      const double* a = alpha.data() + b * p.steps * p.states;
      for (int64_t t = steps - 1; t >= 0; t--) {
        before = beta;
        for (int64_t s = 0; s < states; s++) {
          double v;
          if (t == steps - 1) {
            v = s >= states - 2 ? 0 : kNever;
          } else {
            v = before[static_cast<std::size_t>(s)];
            if (s + 1 < states) v = log_add(v, before[static_cast<std::size_t>(s + 1)]);
            if (s + 2 < states && p.skips(b, s + 2)) v = log_add(v, before[static_cast<std::size_t>(s + 2)]);
          }
          beta[static_cast<std::size_t>(s)] = v + p.at(t, b, p.label(b, s));
        }
        // The posterior of every class at this step.
        std::fill(per_class.begin(), per_class.end(), kNever);
        for (int64_t s = 0; s < states; s++) {
          double& v = per_class[static_cast<std::size_t>(p.label(b, s))];
          v = log_add(v, a[t * p.states + s] + beta[static_cast<std::size_t>(s)]);
        }
        for (int64_t k = 0; k < p.classes; k++) {
          const double lp = p.at(t, b, k), posterior = per_class[static_cast<std::size_t>(k)];
          const double joint = posterior == kNever ? 0 : std::exp(posterior + nll[i] - lp);
          out[static_cast<std::size_t>((t * p.batch + b) * p.classes + k)] = (std::exp(lp) - joint) * grad[i];
        }
      }
    }
  });
  store_row(Compute::f64, out.data(), static_cast<int64_t>(out.size()), r[0].dtype(), r[0].data_ptr(), 1);
}

template <OpName Backward>
void ctc_vjp(Vjp& v) {
  if (!v.grad(0).defined()) return;
  const Value input = v.is_tensor(2) ? Value(v.saved(2)) : v.arg(2), lengths = v.is_tensor(3) ? Value(v.saved(3)) : v.arg(3);
  v.set(0, aten<Backward>(v.grad(0), v.saved(0), v.saved(1), input, lengths, v.result(0), v.result(1), v.arg(4), v.arg(5)));
}

// log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity
template <OpName Loss>
Value ctc_loss(const Call& c) {
  Tensor log_probs = c.tensor(0), targets = aten<"to.dtype">(c.tensor(1), DType::i64);
  Value input = c[2], lengths = c[3];
  const bool batched = log_probs.dim() == 3;
  if (!batched) {
    INGOT_REQUIRE(log_probs.dim() == 2, "ctc_loss: expected log_probs of shape (T, N, C) or (T, C), found ", log_probs.sizes());
    log_probs = aten<"unsqueeze">(log_probs, 1);
    if (targets.dim() == 1) targets = aten<"unsqueeze">(targets, 0);
    if (input.is_tensor() && input.tensor().dim() == 0) input = aten<"unsqueeze">(input.tensor(), 0);
    if (lengths.is_tensor() && lengths.tensor().dim() == 0) lengths = aten<"unsqueeze">(lengths.tensor(), 0);
  }
  Tensor loss = atens<Loss>(log_probs, targets, input, lengths, c[4], c[6])[0];
  if (c[6].to_bool()) loss = aten<"where.ScalarSelf">(aten<"eq.Scalar">(loss, std::numeric_limits<double>::infinity()), 0, loss);
  if (loss_reduction(c[5]) == LossReduction::mean) {
    // Per label, then over the batch.
    Tensor count;
    if (lengths.is_tensor()) {
      count = aten<"clamp_min">(aten<"to.dtype">(lengths.tensor(), loss.dtype()), 1);
    } else {
      std::vector<double> n;
      for (int64_t l : lengths_of(lengths)) n.push_back(static_cast<double>(std::max<int64_t>(1, l)));
      count = ingot::tensor(n, loss.dtype());
    }
    return aten<"mean">(loss / count);
  }
  if (loss_reduction(c[5]) == LossReduction::sum) return aten<"sum">(loss);
  return batched ? loss : aten<"squeeze.dim">(loss, 0);
}

constexpr OpDef forward(std::string_view schema, void (*vjp)(Vjp&), uint8_t index) {
  return {.schema = schema,
          .meta = ctc_loss_meta,
          .kernel = ctc_loss_kernel,
          .vjp = vjp,
          .saves = {{0}, {1}, {2}, {3}, {kResult}, {kResult - 1}},
          .grad = {.results = 1, .node_number = index}};
}
constexpr OpDef backward(std::string_view schema) {
  return {.schema = schema, .meta = ctc_backward_meta, .kernel = ctc_backward_kernel};
}

constexpr OpDef kCtcLossOps[] = {
    forward(
        "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, bool zero_infinity=False) -> "
        "(Tensor, Tensor)",
        ctc_vjp<"_ctc_loss_backward">, 0),
    forward(
        "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, bool "
        "zero_infinity=False) -> (Tensor, Tensor)",
        ctc_vjp<"_ctc_loss_backward.Tensor">, 1),
    backward(
        "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, Tensor "
        "neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"),
    backward(
        "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, Tensor "
        "neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False) -> Tensor"),
    composite_loss(
        "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0, int reduction=1, "
        "bool zero_infinity=False) -> Tensor",
        ctc_loss<"_ctc_loss">),
    composite_loss(
        "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=1, "
        "bool zero_infinity=False) -> Tensor",
        ctc_loss<"_ctc_loss.Tensor">),
};

}  // namespace

INGOT_FAMILY(ctc_loss, kCtcLossOps)

}  // namespace ingot
