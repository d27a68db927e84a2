#include "loop/program.hpp"

#include <algorithm>

#include "base/dtype.hpp"

namespace ingot::loop {

Expr bytes_of(const Buffer& b) {
  Expr bytes = size_of(b.dtype);
  for (const Expr& n : b.sizes) bytes = bytes * n;
  return bytes;
}

namespace {

void collect_loads(const Expr& e, std::vector<int>& buffers) {
  visit(e, [&](const Expr& x) {
    if (x.op() == ExprOp::Load) buffers.push_back(static_cast<int>(x->i));
  });
}

struct Uses {
  std::vector<int> read, written;

  void operator()(const Computation& c) {
    for (const Fold& f : c.folds) collect_loads(f.body, read);
    collect_loads(c.value, read);
    written.push_back(c.out);
  }
  void operator()(const Kernel& k) {
    if (k.product) {
      const Product& x = *k.product;
      read.push_back(x.rows.buffer);
      read.push_back(x.columns.buffer);
      written.push_back(x.sums.buffer);
    }
    for (const Nest& n : k.nests) {
      for (const Fold& f : n.folds) collect_loads(f.body, read);
      for (const Store& s : n.stores) {
        collect_loads(s.value, read);
        collect_loads(s.offset, read);
        written.push_back(s.out);
      }
    }
  }
  void operator()(const KernelCall& k) {
    using Kind = KernelCall::Argument::Kind;
    for (const auto& a : k.args)
      if (a.kind == Kind::read) read.push_back(a.buffer);
      else if (a.kind == Kind::write) written.push_back(a.buffer);
  }
  void operator()(const EagerCall& c) {
    read.insert(read.end(), c.tensors.begin(), c.tensors.end());
    written.insert(written.end(), c.results.begin(), c.results.end());
  }
  void operator()(const Branch& b) {
    collect_loads(b.condition, read);
    steps(b.then);
    steps(b.otherwise);
  }
  void operator()(const Repeat& r) {
    steps(r.test);
    collect_loads(r.condition, read);
    steps(r.body);
  }
  void operator()(const Times& t) { steps(t.body); }
  void steps(const Steps& all) {
    for (const Step& s : all) std::visit(*this, s);
  }
  void operator()(const Decide& d) { collect_loads(d.value, read); }
  void operator()(const Check& c) { collect_loads(c.condition, read); }
};

std::vector<int> once(const std::vector<int>& all) {
  std::vector<int> unique;
  for (int b : all)
    if (std::find(unique.begin(), unique.end(), b) == unique.end()) unique.push_back(b);
  return unique;
}

}  // namespace

std::vector<int> buffers_of(const Step& step) {
  Uses uses;
  std::visit(uses, step);
  uses.read.insert(uses.read.end(), uses.written.begin(), uses.written.end());
  return once(uses.read);
}

std::vector<int> written_by(const Step& step) {
  Uses uses;
  std::visit(uses, step);
  return once(uses.written);
}

void each_step(const Steps& steps, const std::function<void(const Step&)>& f) {
  for (const Step& s : steps) {
    if (const auto* b = std::get_if<Branch>(&s)) each_step(b->then, f), each_step(b->otherwise, f);
    if (const auto* r = std::get_if<Repeat>(&s)) each_step(r->test, f), each_step(r->body, f);
    if (const auto* t = std::get_if<Times>(&s)) each_step(t->body, f);
    f(s);
  }
}

}  // namespace ingot::loop
