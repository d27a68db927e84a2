#include "loop/schedule.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/error.hpp"
#include "base/index.hpp"
#include "loop/epilogue.hpp"
#include "loop/group.hpp"
#include "loop/hoist.hpp"
#include "loop/local.hpp"

namespace ingot::loop {

namespace {

// By buffer: how many steps read it; one more for those that are seen from outside.
std::vector<int> count_readers(const Program& p) {
  std::vector<int> readers(p.buffers.size());
  auto add = [&](const Expr& condition) {
    visit(condition, [&](const Expr& x) {
      if (x.op() == ExprOp::Load) readers[at(x->i)]++;
    });
  };
  each_step(p.steps, [&](const Step& s) {
    if (const auto* b = std::get_if<Branch>(&s)) return add(b->condition);
    if (const auto* r = std::get_if<Repeat>(&s)) return add(r->condition);
    if (std::holds_alternative<Times>(s)) return;
    const std::vector<int> written = written_by(s);
    for (int b : buffers_of(s)) readers[at(b)] += std::find(written.begin(), written.end(), b) == written.end();
  });
  for (std::size_t b = 0; b < p.buffers.size(); b++) readers[b] += p.buffers[b].place != Place::arena;
  return readers;
}

// By kernel: which of the buffers that it writes nobody else looks at. The kernels have the loads
// of the computations `run`.
std::vector<std::vector<int>> own_buffers(const std::vector<Kernel>& kernels, const std::vector<Computation>& run,
                                          const std::vector<int>& readers) {
  std::vector<std::vector<int>> written;
  std::unordered_map<int, std::vector<std::size_t>> writers;  // by buffer
  for (std::size_t n = 0; n < kernels.size(); n++) {
    written.push_back(written_by(Step(kernels[n])));
    for (int b : written.back()) writers[b].push_back(n);
  }
  std::vector<std::unordered_map<int, int>> reads(kernels.size());  // by buffer: how often the kernel's computations read it
  for (const Computation& c : run)
    if (const auto found = writers.find(c.out); found != writers.end())
      for (int b : buffers_of(Step(c)))
        for (std::size_t n : found->second) reads[n][b] += b != c.out;
  // Buffers that scheduling itself has added are read by the step after.
  for (std::size_t n = 0; n < kernels.size(); n++)
    std::erase_if(written[n],
                  [&](int b) { return static_cast<std::size_t>(b) >= readers.size() || readers[at(b)] > reads[n][b]; });
  return written;
}

void add_kernels(Program& p, const std::vector<Computation>& run, const std::vector<int>& readers, const MachineRules& machine,
                 Steps& steps) {
  std::vector<Kernel> kernels = group(p, run);
  const std::vector<std::vector<int>> own = own_buffers(kernels, run, readers);
  for (std::size_t n = 0; n < kernels.size(); n++) {
    arrange_loops(kernels[n], machine.fewest_neighbours);
    keep_local(p, kernels[n], own[n]);
    steps.emplace_back(std::move(kernels[n]));
  }
}

// What was laid out for a product, and is there when the next one asks for the same: the steps of a
// recurrence that was unrolled all multiply by the same weight, queries, keys and values are all
// made of the same rows.
class Layouts {
 public:
  explicit Layouts(const Program& p) : is_settled_(p.buffers.size()) {
    std::vector<int> writers(p.buffers.size());
    each_step(p.steps, [&](const Step& s) {
      for (int b : written_by(s)) writers[at(b)]++;
    });
    for (std::size_t b = 0; b < p.buffers.size(); b++)
      is_settled_[b] = writers[b] <= (p.buffers[b].place == Place::arena ? 1 : 0);
  }

  // Takes out of the steps of the product, which are those of `c`, what was laid out before, and
  // remembers the others. Products of other sizes keep layouts of their own, though these may be
  // alike: whether they are differs from one machine to the next, and a library that has code for
  // several has the same constants for all of them.
  void share(const Computation& c, ProductSteps& product) {
    std::erase_if(product.packs, [&](const Computation& pack) {
      bool is_settled = true;
      visit(pack.value, [&](const Expr& x) {
        if (x.op() == ExprOp::Load) is_settled = is_settled && at(x->i) < is_settled_.size() && is_settled_[at(x->i)];
      });
      if (!is_settled) return false;
      std::vector<Expr> key = pack.vars;
      key.push_back(pack.value);
      for (const auto* sizes : {&c.vars, &c.folds[0].vars}) key.insert(key.end(), sizes->begin(), sizes->end());
      const auto [known, is_new] = made_.try_emplace(std::move(key), pack.out);
      for (int* b : {&product.kernel.product->rows.buffer, &product.kernel.product->columns.buffer})
        if (*b == pack.out) *b = known->second;
      return !is_new;
    });
  }

 private:
  struct Less {
    bool operator()(const std::vector<Expr>& a, const std::vector<Expr>& b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), ExprLess());
    }
  };
  // By buffer: nothing writes it, or one step, which is before all that read it. What is laid out
  // in the body of a loop is laid out anew each time.
  std::vector<bool> is_settled_;
  std::map<std::vector<Expr>, int, Less> made_;
};

// `layouts`: those of the steps around and before.
Steps scheduled(Program& p, Steps all, const std::vector<int>& readers, const MachineRules& machine, Layouts& layouts) {
  Steps steps;
  auto inside = [&](Steps& s) {
    Layouts own = layouts;
    s = scheduled(p, std::move(s), readers, machine, own);
  };
  for (std::size_t i = 0; i < all.size();) {
    if (!std::holds_alternative<Computation>(all[i])) {
      if (auto* b = std::get_if<Branch>(&all[i])) inside(b->then), inside(b->otherwise);
      if (auto* r = std::get_if<Repeat>(&all[i])) inside(r->test), inside(r->body);
      if (auto* t = std::get_if<Times>(&all[i])) inside(t->body);
      steps.push_back(std::move(all[i++]));
      continue;
    }
    std::vector<Computation> run;  // computations one after the other may be regrouped; other steps stand where they are
    for (; i < all.size() && std::holds_alternative<Computation>(all[i]); i++) run.push_back(std::get<Computation>(all[i]));
    fuse_epilogues(p, run, readers);
    std::vector<Computation> plain;  // since the last product
    for (const Computation& c : run) {
      std::optional<ProductSteps> product = machine.product(p, c);
      if (!product) {
        plain.push_back(c);
        continue;
      }
      layouts.share(c, *product);
      add_kernels(p, plain, readers, machine, steps);
      for (const Computation& pack : product->packs) add_kernels(p, {pack}, readers, machine, steps);
      arrange_loops(product->kernel, machine.fewest_neighbours);
      steps.emplace_back(std::move(product->kernel));
      plain.clear();
    }
    add_kernels(p, plain, readers, machine, steps);
  }
  return steps;
}

}  // namespace

void schedule(Program& p, const MachineRules& machine) {
  const std::vector<int> readers = count_readers(p);
  Layouts layouts(p);
  p.steps = scheduled(p, std::move(p.steps), readers, machine, layouts);
  hoist(p);
}

}  // namespace ingot::loop
