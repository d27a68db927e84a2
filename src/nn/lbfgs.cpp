#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "ingot/ingot.hpp"
#include "ingot/optim/optimizers.hpp"
#include "nn/first_order.hpp"
#include "nn/named_values.hpp"

namespace ingot::optim {

void LBFGSOptions::check() const { require_lr(lr); }
std::vector<NamedOption> LBFGSOptions::named() {
  return {{"lr", &lr},
          {"max_iter", &max_iter},
          {"tolerance_grad", &tolerance_grad},
          {"tolerance_change", &tolerance_change},
          {"history_size", &history_size},
          {"maximize", &maximize}};
}

LBFGS::LBFGS(TensorList parameters, LBFGSOptions o) : OptimizerOf(std::move(parameters), o, {}, false) {
  for (const Tensor& p : parameters_) INGOT_REQUIRE(!p.is_complex(), "LBFGS needs real parameters, found ", p.dtype());
}

namespace {

double dot(const Tensor& a, const Tensor& b) { return aten<"dot">(a, b).item_double(); }
double largest(const Tensor& t) { return t.abs().max().item_double(); }

// The minimum of the cubic with these values and slopes, within bounds.
double cubic_minimum(double x1, double f1, double g1, double x2, double f2, double g2, double least, double most) {
  const double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2), square = d1 * d1 - g1 * g2;
  if (!(square >= 0)) return (least + most) / 2;
  const double d2 = std::sqrt(square);
  const double at =
      x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2)) : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
  return std::min(std::max(at, least), most);
}

}  // namespace

Tensor LBFGS::flat_gradient() const {
  TensorList parts;
  for (const Tensor& p : parameters_) {
    const Tensor g = p.grad();
    parts.push_back(g.defined() ? to_dense(g).reshape({-1}) : zeros_like(p).reshape({-1}));
  }
  const Tensor flat = cat(parts);
  return options_[0].maximize ? flat.neg() : flat;
}

void LBFGS::move(double t, const Tensor& direction) {
  Int offset = 0;
  for (Tensor& p : parameters_) {
    p.add_(direction.narrow(0, offset, p.numel()).view(p.sizes()), t);
    offset = offset + p.numel();
  }
}

// The loss and its gradient at `at` + t·direction; the parameters are at `at` again afterwards.
LBFGS::Point LBFGS::evaluate(const std::function<Tensor()>& closure, const TensorList& at, double t, const Tensor& direction) {
  move(t, direction);
  const double loss = [&] {
    const EnableGrad grad;
    return closure().item_double();
  }();
  Point r{options_[0].maximize ? -loss : loss, flat_gradient()};
  for (std::size_t i = 0; i < parameters_.size(); i++) parameters_[i].copy_(at[i]);
  return r;
}

// PyTorch's (minFunc's): a bracket around a point that satisfies the strong Wolfe conditions, which
// then shrinks.
struct LBFGS::Search {
  static constexpr double kSufficient = 1e-4, kCurvature = 0.9;
  struct End {
    double t, loss;
    Tensor gradient;
    double slope;
  };
  const std::function<Point(double)>& evaluate;
  const Tensor& direction;
  const End start;
  const double tolerance_change;
  const int64_t most;  // evaluations after the first
  int64_t evaluations = 0, rounds = 0;

  End at(double t) {
    const Point p = evaluate(t);
    evaluations++;
    return {t, p.loss, p.gradient, dot(p.gradient, direction)};
  }
  bool too_high(const End& e) const { return e.loss > start.loss + kSufficient * e.t * start.slope; }
  bool is_flat(const End& e) const { return std::abs(e.slope) <= -kCurvature * start.slope; }

  End run(double t) {
    End now = at(t), before = start;
    std::vector<End> bracket;
    for (; rounds < most; rounds++) {
      if (too_high(now) || (rounds > 1 && now.loss >= before.loss)) {
        bracket = {before, now};
        break;
      }
      if (is_flat(now)) return now;
      if (now.slope >= 0) {
        bracket = {before, now};
        break;
      }
      const double next = cubic_minimum(before.t, before.loss, before.slope, now.t, now.loss, now.slope,
                                        now.t + 0.01 * (now.t - before.t), now.t * 10);
      before = now;
      now = at(next);
    }
    if (rounds == most) bracket = {start, now};
    return shrink(bracket);
  }

  End shrink(std::vector<End>& bracket) {
    const auto lower = [&] { return bracket[0].loss <= bracket[1].loss ? 0U : 1U; };
    std::size_t low = lower();
    const double size = largest(direction);
    for (bool stuck = false, done = false; !done && rounds < most; rounds++) {
      const double left = std::min(bracket[0].t, bracket[1].t), right = std::max(bracket[0].t, bracket[1].t);
      if ((right - left) * size < tolerance_change) break;
      double t = cubic_minimum(bracket[0].t, bracket[0].loss, bracket[0].slope, bracket[1].t, bracket[1].loss, bracket[1].slope,
                               left, right);
      // Close to an end twice, or at it: a tenth of the bracket away from it.
      const double tenth = 0.1 * (right - left);
      if (std::min(right - t, t - left) < tenth) {
        if (stuck || t >= right || t <= left) {
          t = std::abs(t - right) < std::abs(t - left) ? right - tenth : left + tenth;
          stuck = false;
        } else {
          stuck = true;
        }
      } else {
        stuck = false;
      }
      const End now = at(t);
      End &best = bracket[low], &other = bracket[1 - low];
      if (too_high(now) || now.loss >= best.loss) {
        other = now;
        low = lower();
        continue;
      }
      if (is_flat(now)) done = true;
      else if (now.slope * (other.t - best.t) >= 0) other = best;
      best = now;
    }
    return bracket[low];
  }
};

// The direction of the next step, from the gradient and the steps so far.
void LBFGS::find_direction(const Tensor& gradient) {
  const auto history = static_cast<std::size_t>(options_[0].history_size);
  if (iterations_ == 1) {
    direction_ = gradient.neg();
    changes_.clear();
    steps_.clear();
    ro_.clear();
    h_diag_ = 1;
    return;
  }
  const Tensor y = gradient.sub(last_gradient_), s = direction_ * t_;
  const double ys = dot(y, s);
  if (ys > 1e-10) {
    if (changes_.size() == history) {
      changes_.erase(changes_.begin());
      steps_.erase(steps_.begin());
      ro_.erase(ro_.begin());
    }
    changes_.push_back(y);
    steps_.push_back(s);
    ro_.push_back(1 / ys);
    h_diag_ = ys / dot(y, y);
  }
  std::vector<double> al(changes_.size());
  Tensor q = gradient.neg();
  for (std::size_t i = changes_.size(); i-- > 0;) {
    al[i] = dot(steps_[i], q) * ro_[i];
    q.add_(changes_[i], -al[i]);
  }
  direction_ = q * h_diag_;
  for (std::size_t i = 0; i < changes_.size(); i++) direction_.add_(steps_[i], al[i] - dot(changes_[i], direction_) * ro_[i]);
}

Tensor LBFGS::step(const std::function<Tensor()>& closure) {
  INGOT_REQUIRE(groups() == 1, "LBFGS doesn't support per-parameter options (parameter groups)");
  const NoGrad no_grad;
  const LBFGSOptions& o = options_[0];
  const int64_t max_eval = o.max_eval.value_or(o.max_iter * 5 / 4);
  const auto run_closure = [&] {
    const EnableGrad grad;
    return closure();
  };
  const Tensor first = run_closure();
  double loss = o.maximize ? -first.item_double() : first.item_double();
  int64_t evaluations = 1;
  evaluations_++;
  Tensor gradient = flat_gradient();
  bool is_optimal = largest(gradient) <= o.tolerance_grad;
  for (int64_t iteration = 1; !is_optimal && iteration <= o.max_iter; iteration++) {
    iterations_++;
    find_direction(gradient);
    last_gradient_ = gradient.clone();
    last_loss_ = loss;
    t_ = iterations_ == 1 ? std::min(1.0, 1 / gradient.abs().sum().item_double()) * o.lr : o.lr;
    const double slope = dot(gradient, direction_);
    if (slope > -o.tolerance_change) break;
    int64_t more = 0;
    if (o.strong_wolfe) {
      TensorList at;
      for (const Tensor& p : parameters_) at.push_back(p.clone());
      const std::function<Point(double)> at_t = [&](double t) { return evaluate(closure, at, t, direction_); };
      Search search{at_t, direction_, {0, loss, gradient, slope}, o.tolerance_change, max_eval - evaluations};
      const Search::End end = search.run(t_);
      t_ = end.t;
      loss = end.loss;
      gradient = end.gradient;
      more = search.evaluations;
      move(t_, direction_);
      is_optimal = largest(gradient) <= o.tolerance_grad;
    } else {
      move(t_, direction_);
      if (iteration != o.max_iter) {  // with other data in the next step, a last evaluation would be of no use
        const double now = run_closure().item_double();
        loss = o.maximize ? -now : now;
        gradient = flat_gradient();
        is_optimal = largest(gradient) <= o.tolerance_grad;
        more = 1;
      }
    }
    evaluations += more;
    evaluations_ += more;
    if (evaluations >= max_eval || std::abs(t_) * largest(direction_) <= o.tolerance_change ||
        std::abs(loss - last_loss_) < o.tolerance_change)
      break;
  }
  return first;
}
void LBFGS::step() {
  INGOT_REQUIRE(false,
                "LBFGS: step() needs a closure, which it calls several times: step([&] { optimizer.zero_grad(); Tensor "
                "loss = …; loss.backward(); return loss; })");
}

// ---- state

nn::NamedTensors LBFGS::shared_state() const {
  nn::NamedTensors r;
  if (iterations_ == 0) return r;
  for (const auto& [name, x] : {std::pair{"func_evals", static_cast<double>(evaluations_)},
                                {"n_iter", static_cast<double>(iterations_)},
                                {"t", t_},
                                {"H_diag", h_diag_},
                                {"prev_loss", last_loss_}})
    r.emplace_back(name, nn::value_of(x));
  r.emplace_back("d", direction_);
  r.emplace_back("prev_flat_grad", last_gradient_);
  r.emplace_back("ro", tensor(ro_, float64));
  for (std::size_t i = 0; i < changes_.size(); i++) {
    r.emplace_back(text("old_dirs.", i), changes_[i]);
    r.emplace_back(text("old_stps.", i), steps_[i]);
  }
  return r;
}

void LBFGS::load_shared_state(const nn::NamedTensors& values) {
  nn::GivenState given(values, "LBFGS");
  evaluations_ = iterations_ = 0;
  if (values.empty()) return;
  const auto flat = [&](const std::string& name) {
    const Tensor t = given.take(name);
    INGOT_REQUIRE(t.defined() && t.dim() == 1, "load_state: LBFGS needs a vector ", name);
    return t.detach().clone();
  };
  const double evaluations = given.number("func_evals"), iterations = given.number("n_iter"), t = given.number("t"),
               h_diag = given.number("H_diag"), last_loss = given.number("prev_loss");
  const Tensor direction = flat("d"), last_gradient = flat("prev_flat_grad");
  const std::vector<double> ro = flat("ro").to_vector<double>();
  TensorList changes, steps;
  for (std::size_t i = 0; i < ro.size(); i++) {
    changes.push_back(flat(text("old_dirs.", i)));
    steps.push_back(flat(text("old_stps.", i)));
  }
  given.expect_all_taken();
  evaluations_ = static_cast<int64_t>(evaluations);
  iterations_ = static_cast<int64_t>(iterations);
  t_ = t;
  h_diag_ = h_diag;
  last_loss_ = last_loss;
  direction_ = direction;
  last_gradient_ = last_gradient;
  changes_ = changes;
  steps_ = steps;
  ro_ = ro;
}

}  // namespace ingot::optim
