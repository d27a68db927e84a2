#include <algorithm>

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/index.hpp"
#include "expr/range.hpp"
#include "expr/text.hpp"
#include "loop/spelling.hpp"
#include "loop/text.hpp"

namespace ingot::loop {
namespace {

std::string quoted(std::string_view s) {
  std::string r = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') r += '\\';
    r += c == '\n' ? "\\n" : std::string(1, c);
  }
  return r + "\"";
}

std::string list(const std::vector<Expr>& v) {
  std::string s;
  for (const Expr& e : v) s += text(s.empty() ? "" : ", ", e);
  return s;
}
std::string ranges(const std::vector<Expr>& vars) {
  std::string s;
  for (const Expr& v : vars) s += text(s.empty() ? "" : ", ", v, " < ", v.arg(0));
  return s;
}

bool is_row_major(const Buffer& b) {
  Expr stride = 1;
  for (std::size_t d = b.sizes.size(); d-- > 0; stride = stride * b.sizes[d])
    if (!same(b.strides[d], stride)) return false;
  return true;
}

std::string declared(const Expr& symbol) {
  if (is_floating(symbol.dtype())) return text(symbol, ": real");
  std::string s = to_text(symbol);
  if (symbol->lo != Range::kMin) s += text(" >= ", symbol->lo);
  if (symbol->hi != kUnbounded) s += text(" <= ", symbol->hi);
  return s;
}

// Steps as lines, each with its indentation.
class Printer {
 public:
  explicit Printer(const Program& p) : p_(p) {}

  std::string program() {
    std::string symbols;
    for (std::size_t k = 0; k < p_.symbols.size(); k++) {
      const bool first_decided = k + p_.decided == p_.symbols.size();
      symbols += text(first_decided ? "; " : k ? ", " : "", declared(p_.symbols[k]));
    }
    line("program ", p_.name, "(", symbols, ")", p_.arena_bytes.is_const(0) ? "" : text(" arena ", p_.arena_bytes));
    indent_ = "  ";
    for (const Guard& g : p_.guards)
      line("guard ", g.condition, g.answer ? "" : " is false", g.asked_by.empty() ? "" : text(" for ", quoted(g.asked_by)));
    for (std::size_t k = 0; k < p_.buffers.size(); k++) buffer(static_cast<int>(k));
    order("inputs", p_.inputs, Place::input);
    order("constants", p_.constants, Place::constant);
    order("outputs", p_.outputs, Place::output);
    steps(p_.steps);
    return std::move(out_);
  }

 private:
  const Program& p_;
  std::string out_, indent_;

  template <class... A>
  void line(const A&... a) {
    out_ += text(indent_, a..., "\n");
  }
  template <class F>
  void block(const F& f) {
    indent_ += "  ";
    f();
    indent_.resize(indent_.size() - 2);
  }
  const std::string& name(int buffer) const { return p_.buffers[at(buffer)].name; }
  std::string names(const std::vector<int>& buffers) const {
    std::string s;
    for (const int b : buffers) s += (s.empty() ? "" : ", ") + name(b);
    return s;
  }

  void buffer(int id) {
    const Buffer& b = p_.buffers[at(id)];
    std::string number;
    for (std::size_t k = 0; k < p_.inputs.size() && k < p_.numbers.size(); k++)
      if (p_.inputs[k] == id && p_.numbers[k].valid()) number = text(" is ", p_.numbers[k]);
    line(spelling_of(b.place), " ", b.name, ": ", short_name_of(b.dtype), "[", list(b.sizes), "]",
         is_row_major(b) ? "" : text(" strides [", list(b.strides), "]"), b.offset.valid() ? text(" at ", b.offset) : "", number);
  }
  void order(std::string_view what, const std::vector<int>& buffers, Place place) {
    if (buffers != buffers_in(p_, place)) line(what, buffers.empty() ? "" : " ", names(buffers));
  }

  void steps(const Steps& all) {
    for (const Step& s : all) std::visit([&](const auto& x) { step(x); }, s);
  }

  void step(const Computation& c) {
    std::string folds;
    for (const Fold& f : c.folds)
      folds += text(folds.empty() ? " where " : ", ", f.tmp, " = ", spelling_of(f.how), "(", ranges(f.vars), ") ", f.body);
    line(name(c.out), "[", list(c.leading), c.leading.empty() || c.vars.empty() ? "" : ", ", ranges(c.vars), "] = ", c.value,
         folds);
  }

  void step(const Kernel& k) {
    line("kernel ", k.name, k.outer.empty() ? "" : " parallel ", ranges(k.outer), k.across ? " across" : "",
         k.scratch_bytes.is_const(0) ? "" : text(" scratch ", k.scratch_bytes));
    block([&] {
      for (std::size_t i = 0; i <= k.nests.size(); i++) {
        if (k.product && k.product->place == i) product(*k.product);
        if (i < k.nests.size()) nest(k.nests[i]);
      }
    });
  }
  void nest(const Nest& n) {
    std::string s;
    for (const Fold& f : n.folds) s += text(s.empty() ? "" : "; ", f.tmp, " ", assignment_of(f.how), " ", f.body);
    for (const Store& t : n.stores) s += text(s.empty() ? "" : "; ", name(t.out), "[", t.offset, "] = ", t.value);
    line(n.vars.empty() ? "do" : "for ", ranges(n.vars), ": ", s);
  }
  void product(const Product& x) {
    const auto element = [&](const Product::Element& e) { return text(name(e.buffer), "[", e.offset, "]"); };
    line("product ", element(x.sums), " = ", element(x.rows), " * ", element(x.columns), " over ", ranges(x.k), " as ",
         short_name_of(x.types.rows), " * ", short_name_of(x.types.columns), " in ", short_name_of(x.types.sums),
         x.vars.empty() ? "" : "; for ", ranges(x.vars), "; rows ", ranges({x.row}), ", columns ", ranges({x.column}), " by ",
         x.microkernel);
  }

  std::string argument(const KernelCall::Argument& a) const {
    using enum KernelCall::Argument::Kind;
    switch (a.kind) {
      case read: return name(a.buffer);
      case write: return "&" + name(a.buffer);
      case null: return "null";
      case int32: return text("int ", a.values[0]);
      case int64: return text("(", a.values[0], ")");
      case array: return text("{", list(a.values), "}");
    }
    return {};
  }
  void step(const KernelCall& k) {
    std::string args;
    for (const auto& a : k.args) args += (args.empty() ? "" : ", ") + argument(a);
    line("call ", k.symbol, "(", args, ")");
  }

  void step(const EagerCall& c) {
    std::string decides;
    for (const EagerCall::Size& d : c.decides)
      decides += text(decides.empty() ? " " : ", ", d.symbol, " = size ", d.dim, " of ", d.result);
    line(c.by_host ? "host " : "eager ", c.op, c.draws ? " draws " : " ", quoted(c.text), " (", names(c.tensors),
         c.integers.empty() ? "" : "; ", list(c.integers), ") -> (", names(c.results), ")", decides);
  }
  void step(const Decide& d) { line(d.symbol, " = ", d.value); }
  void step(const Check& c) { line("check ", c.condition, " else ", quoted(c.message)); }
  void step(const Branch& b) {
    line("if ", b.condition);
    block([&] { steps(b.then); });
    line("else");
    block([&] { steps(b.otherwise); });
  }
  void step(const Repeat& r) {
    line("repeat");
    block([&] { steps(r.test); });
    line("while ", r.condition);
    block([&] { steps(r.body); });
  }
  void step(const Times& t) {
    line("times ", t.symbol, " < ", t.count);
    block([&] { steps(t.body); });
  }
};

}  // namespace

std::string to_text(const Program& p) { return Printer(p).program(); }

}  // namespace ingot::loop
