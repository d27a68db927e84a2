// Programs with flex_attention as PyTorch exports and prints them (it has no file format for them),
// with its numbers for inputs, results and gradients: tests/data/flex_attention, and
// flex_attention_backward, which has backward graphs.
#pragma once
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "check/compare.hpp"
#include "graph/interpret.hpp"
#include "graph/text.hpp"
#include "ingot/autograd.hpp"
#include "ingot/ingot.hpp"
#include "io/safetensors.hpp"

namespace ingot::testing {

struct FlexCase {
  std::string name, listing;
  TensorList inputs, results, tangents;
  std::vector<Tensor> gradients;  // by input; undefined: none
  std::vector<Tensor> exact;  // of half types: the gradients in float64, which PyTorch's own are some way from

  Graph graph() const { return parse_graph(listing); }
};

inline TensorList numbered(const SafeTensors& data, const std::string& key) {
  TensorList l;
  for (int i = 0; data.contains(key + std::to_string(i)); i++) l.push_back(data.get(key + std::to_string(i)).clone());
  return l;
}

inline std::vector<FlexCase> flex_cases(const std::string& folder) {
  std::vector<FlexCase> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".txt") continue;
    FlexCase c;
    c.name = entry.path().stem();
    std::ifstream in(entry.path());
    c.listing.assign(std::istreambuf_iterator<char>(in), {});
    const SafeTensors data = SafeTensors::open(std::filesystem::path(entry.path()).replace_extension(".safetensors").string());
    c.inputs = numbered(data, "in.");
    c.results = numbered(data, "out.");
    c.tangents = numbered(data, "tangent.");
    for (std::size_t i = 0; i < c.inputs.size(); i++) {
      const std::string key = "grad." + std::to_string(i);
      c.gradients.push_back(data.contains(key) ? data.get(key).clone() : Tensor());
      const std::string exact = "exact." + std::to_string(i);
      c.exact.push_back(data.contains(exact) ? data.get(exact).clone() : Tensor());
    }
    all.push_back(std::move(c));
  }
  std::sort(all.begin(), all.end(), [](const FlexCase& a, const FlexCase& b) { return a.name < b.name; });
  return all;
}

inline double largest_difference(const Tensor& a, const Tensor& b) {
  return (a.detach().to(DType::f64) - b.to(DType::f64)).abs().max().item_double();
}

// What `f` makes of the inputs, and its gradients for the tangents, are PyTorch's; the empty text,
// or what differs. Gradients of half types are sums of rounded terms that cancel: they are as close
// to the exact ones as PyTorch's are.
inline std::string difference_from_pytorch(const FlexCase& c, const TensorFunction& f) {
  TensorList in;
  for (std::size_t i = 0; i < c.inputs.size(); i++) {
    const Tensor copy = c.inputs[i].clone();
    in.push_back(c.gradients[i].defined() ? Tensor(copy).requires_grad_() : copy);
  }
  std::string found;
  const auto note = [&](const Tensor& got, const Tensor& want, bool is_gradient, const std::string& what) {
    if (!got.defined()) {
      found += what + " is missing; ";
      return;
    }
    const Difference d = compare(got.detach(), want, tolerance_for(want.dtype(), is_gradient, "flex_attention", {}));
    if (!d.message.empty()) found += what + ": " + d.message + "; ";
  };
  const TensorList out = f(in);
  if (out.size() != c.results.size()) return "another number of results";
  for (std::size_t k = 0; k < out.size(); k++) note(out[k], c.results[k], false, "result " + std::to_string(k));
  if (c.tangents.empty()) return found;
  backward(out, c.tangents);
  for (std::size_t i = 0; i < in.size(); i++)
    if (c.exact[i].defined()) {
      const double off = largest_difference(in[i].grad(), c.exact[i]), allowed = largest_difference(c.gradients[i], c.exact[i]);
      if (!(off <= allowed))
        found += "gradient " + std::to_string(i) + " is off by " + std::to_string(off) + ", PyTorch's by " +
                 std::to_string(allowed) + "; ";
    } else if (c.gradients[i].defined()) {
      note(in[i].grad(), c.gradients[i], true, "gradient " + std::to_string(i));
    }
  return found;
}

inline TensorFunction interpreted(const Graph& g) {
  return [&g](const TensorList& in) {
    TensorList out;
    for (const Value& v : Interpreter(g).run(Values(in.begin(), in.end()))) out.push_back(v.tensor());
    return out;
  };
}

}  // namespace ingot::testing
