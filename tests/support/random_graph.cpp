#include "support/random_graph.hpp"

#include <bit>
#include <limits>
#include <random>

#include "base/error.hpp"
#include "op/fits.hpp"
#include "support/graph_fixture.hpp"

namespace ingot {

namespace {

class RandomGraph {
 public:
  RandomGraph(uint64_t seed, int depth) : random_(seed), depth_(depth) {}

  Graph run() {
    for (int i = pick(4); i > 0; i--) graph_.placeholder(odd_name());
    for (int i = 1 + pick(12); i > 0; i--) trace(node());
    for (int i = pick(4); i > 0; i--) graph_.outputs.push_back(any(2));
    graph_.returns = static_cast<Graph::Returns>(pick(3));
    if (graph_.returns == Graph::Returns::bare) graph_.outputs = {pick(2) ? value() : some_node()};
    return std::move(graph_);
  }

 private:
  std::mt19937_64 random_;
  const int depth_;
  Graph graph_;

  int pick(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  template <class T, std::size_t N>
  const T& one_of(const T (&list)[N]) {
    return list[pick(static_cast<int>(N))];
  }

  // ---- nodes

  Node* node() {
    switch (pick(10)) {
      case 0: return fetch_tensor();
      case 1: return item();
      case 2: return scalar();
      case 3: {
        const int kind = pick(3);
        return kind == 0 ? graph_.grad_mode(pick(2)) : kind == 1 ? vmap() : unsupported();
      }
      case 4: return depth_ > 0 ? higher_order() : call();
      default: return call();
    }
  }

  std::string odd_name() {
    static constexpr const char* kNames[] = {"x",     "arg0_1", "sum", "a b",   "1",     "self",      "x_1",
                                             "copy_", "inf",    "",    "add_3", "größe", "math_trunc"};
    return one_of(kNames);
  }
  void trace(Node* n) {
    if (!pick(2)) n->stack_trace = text("  File \"m.py\", line ", pick(3), ", in f\n    y = '", pick(2) ? "é" : "x", "'\n");
  }

  Node* fetch_tensor() {
    static constexpr const char* kKeys[] = {"w",    "layers.0.weight", "0", "a.b.c", "odd \"key\"", "1.2.3", "",
                                            "a..b", "line\nbreak"};
    const std::string key = text(one_of(kKeys), pick(2) ? "" : text(".", pick(5)));
    if (!graph_.find_attribute(key)) graph_.attributes.emplace_back(key, fake({pick(3), 2}, static_cast<DType>(pick(kDTypes))));
    return graph_.attribute(key, pick(2) ? odd_name() : "");
  }

  Argument some_node() {
    if (graph_.nodes().empty()) return Value(pick(5));
    const Argument a = graph_.nodes()[static_cast<std::size_t>(pick(static_cast<int>(graph_.nodes().size())))].get();
    const bool is_of_member = a.node()->kind == NodeKind::vmap && a.node()->vmap_call != VmapCall::result;
    return a.node()->kind == NodeKind::attribute || is_of_member ? Argument(Value(pick(5))) : a;
  }

  // Of a call whose list has as many members as the schema says, or any number.
  Node* item() {
    for (const auto& n : graph_.nodes()) {
      if (n->kind != NodeKind::call || pick(2)) continue;
      const std::size_t results = n->op->schema.results.size();
      if (n->op->returns_list()) return graph_.item(n.get(), pick(1000000));
      if (results > 1) return graph_.item(n.get(), pick(static_cast<int>(results)));
    }
    return unsupported();
  }

  Node* scalar() {
    const auto f = static_cast<ScalarFunction>(pick(static_cast<int>(ScalarFunction::sym_sqrt) + 1));
    std::vector<Argument> args;
    while (static_cast<int>(args.size()) < arity_of(f)) {
      const Argument a = pick(2) ? some_node()
                                 : Argument(pick(3)   ? Value(integer())
                                            : pick(2) ? Value(real())
                                                      : Value(pick(2) == 0));
      args.push_back(a);
    }
    return graph_.scalar(f, std::move(args), pick(2) ? odd_name() : "");
  }

  Node* unsupported() {
    static constexpr const char* kTargets[] = {
        "torch.ops.mine.f.default", "torch.f",           "f",   "torch.ops.aten.nothing.default",
        "mine.odd part.f",          "_operator.getitem", "a.1", "torch.ops.aten.sin"};
    std::vector<Argument> args;
    for (int i = pick(5); i > 0; i--) args.push_back(any(3));
    return graph_.unsupported(one_of(kTargets), std::move(args), pick(2) ? odd_name() : "");
  }

  // One that gives its tensor back as it is.
  Node* vmap() {
    const Argument x = some_tensor();
    const auto name = [&] { return pick(2) ? odd_name() : ""; };
    if (!pick(3)) graph_.vmap(VmapCall::prepare, {}, name());
    graph_.vmap(VmapCall::begin, {Value(pick(5)), Value(string())}, name());
    Node* member = graph_.vmap(VmapCall::argument, {x, pick(3) ? Value(pick(3)) : Value(), Value(1)}, name());
    Node* result = graph_.vmap(VmapCall::result, {member, Value(1), Value(pick(5)), Value(pick(3))}, name());
    graph_.vmap(VmapCall::end, {}, name());
    return result;
  }

  Node* higher_order() {
    const auto region = [&] {
      const std::string key = text(pick(2) ? "region_" : "odd region ", graph_.attributes.size());
      graph_.attributes.emplace_back(key, shared(random_graph(random_(), depth_ - 1)));
      return graph_.attribute(key);
    };
    if (pick(2)) return graph_.call(op("higher_order::cond"), {any(0), region(), region(), list(2)});
    std::vector<Argument> args = {Value(pick(2) == 0), region()};
    for (int i = pick(4); i > 0; i--) args.push_back(any(2));
    return graph_.call(op("higher_order::wrap_with_set_grad_enabled"), std::move(args));
  }

  Node* call() {
    static const std::vector<const Op*> ops = [] {
      std::vector<const Op*> v;
      for (const Op* o : all_ops())
        if (o->form() != Form::higher_order) v.push_back(o);
      for (const char* variant : {"add_.Tensor", "copy_", "mul.out", "index_put_", "relu_", "add.out"}) v.push_back(&op(variant));
      return v;
    }();
    while (true) {
      const Op& o = *ops[static_cast<std::size_t>(pick(static_cast<int>(ops.size())))];
      std::vector<Argument> args;
      if (arguments(o, args)) return graph_.call(o, std::move(args), pick(4) ? "" : odd_name());
    }
  }

  // False for an op that wants something a graph cannot hold.
  bool arguments(const Op& o, std::vector<Argument>& args) {
    for (const SchemaArg& a : o.schema.args) {
      if (a.has_default && pick(2)) args.push_back(a.default_value);
      else if (a.type.optional && !pick(3)) args.emplace_back();
      else if (auto v = of_type(a.type)) args.push_back(*v);
      else if (a.type.optional) args.emplace_back();
      else return false;
    }
    return true;
  }

  // ---- arguments

  std::optional<Argument> of_type(const SchemaType& t) {
    if (t.is_list()) {
      const SchemaType element = element_type(t);
      std::vector<Argument> elements;
      for (int i = pick(4); i > 0; i--) {
        if (element.optional && !pick(3)) elements.emplace_back();
        else if (auto v = of_type(element)) elements.push_back(*v);
        else return std::nullopt;
      }
      return elements.empty() ? Argument(empty_list(&t)) : Argument::list(std::move(elements));
    }
    const bool number_node = !pick(3);
    switch (t.kind) {
      case Kind::tensor: return some_tensor();
      case Kind::integer:
      case Kind::sym_int: return number_node ? some_node() : Argument(Value(integer()));
      case Kind::real: return number_node ? some_node() : Argument(Value(real()));
      case Kind::boolean:
      case Kind::sym_bool: return Argument(Value(pick(2) == 0));
      case Kind::scalar: return number_node ? some_node() : number();
      case Kind::complex: return Argument(Value(std::complex<double>(real(), real())));
      case Kind::dtype: return Argument(Value(static_cast<DType>(pick(kDTypes))));
      case Kind::layout: return Argument(Value(pick(2) ? Layout::strided : Layout::sparse));
      case Kind::device: return Argument(Value(device()));
      case Kind::memory_format: return Argument(Value(static_cast<MemoryFormat>(pick(4))));
      case Kind::string: return Argument(Value(string()));
      case Kind::any:
      case Kind::other: return any(2);
      default: return std::nullopt;
    }
  }

  // In a list, only nodes: numbers there would make it a list of numbers.
  Argument some_tensor() {
    for (int tries = 0; tries < 3; tries++)
      if (const Argument a = some_node(); a.is_node()) return a;
    return unsupported();
  }

  Argument any(int depth) {
    if (depth > 0 && !pick(4)) return list(depth);
    return pick(3) ? some_node() : value();
  }
  Argument list(int depth) {
    std::vector<Argument> elements;
    for (int i = pick(4); i > 0; i--) elements.push_back(any(depth - 1));
    return Argument::list(std::move(elements));
  }

  Argument value() {
    switch (pick(8)) {
      case 0: return {};
      case 1: return Value(pick(2) == 0);
      case 2: return Value(static_cast<DType>(pick(kDTypes)));
      case 3: return Value(device());
      case 4: return Value(string());
      case 5: return Value(static_cast<MemoryFormat>(pick(4)));
      default: return number();
    }
  }
  Argument number() {
    switch (pick(3)) {
      case 0: return Value(integer());
      case 1: return Value(real());
      default: return Value(std::complex<double>(real(), real()));
    }
  }
  int64_t integer() {
    static constexpr int64_t kOdd[] = {
        0, 1, -1, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), int64_t{1} << 62, 10};
    return pick(2) ? one_of(kOdd) : static_cast<int64_t>(random_());
  }
  double real() {
    static constexpr double kInf = std::numeric_limits<double>::infinity();
    static constexpr double kOdd[] = {0.0,  -0.0, 1.0,    -1.0, 0.1,   1e-5,
                                      1e16, 1e22, 5e-324, kInf, -kInf, std::numeric_limits<double>::quiet_NaN()};
    return pick(2) ? one_of(kOdd) : std::bit_cast<double>(random_());
  }
  Device device() { return pick(2) ? Device{} : Device{DeviceType::cuda, static_cast<int8_t>(pick(128))}; }
  std::string string() {
    static constexpr std::string_view kParts[] = {
        "tanh", "'", "\"", "\\", "\n", "\r", "\t", ";  x = None", "#", std::string_view("\0", 1), "é", "\xff", "[", ")"};
    std::string s;
    for (int i = pick(5); i > 0; i--) s += one_of(kParts);
    return s;
  }
};

}  // namespace

Graph random_graph(uint64_t seed, int depth) { return RandomGraph(seed, depth).run(); }

}  // namespace ingot
