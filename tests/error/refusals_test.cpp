// What PyTorch does not differentiate we do not either, and refuse in the same words. The table is
// refusals.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "autograd/op_node.hpp"
#include "base/dtype.hpp"
#include "ingot/ingot.hpp"
#include "op/call.hpp"
#include "support/error_text.hpp"
#include "support/sample.hpp"
#include "support/split.hpp"

namespace ingot::testing {
namespace {

constexpr const char* kNoGradient = "no gradient";
constexpr const char* kIntegers = "takes integers";
constexpr const char* kMayNot = "may not require grad";

// One line of the table: a call, and the words for some of its arguments (or results), or for every
// argument.
struct Refusal {
  Sample call;
  std::string words;  // of every argument; empty: only those named
  std::map<std::string, std::string> named;
  // What is said of an argument; of one that is not named, nothing.
  std::string words_for(const std::string& argument) const {
    if (!words.empty()) return words;
    const auto at = named.find(argument);
    return at == named.end() ? "no error" : at->second;
  }
  bool says(const std::string& w) const { return words == w || (!named.empty() && named.begin()->second == w); }
};

std::vector<Refusal> read_table() {
  const auto path = std::filesystem::path(INGOT_TEST_DATA).parent_path() / "error" / "refusals.txt";
  std::vector<Refusal> table;
  for (Sample s : read_samples(path.string())) {
    const auto sides = split(s.text, "=>");
    EXPECT_EQ(sides.size(), 2u) << s.where();
    s.text = sides.at(0);
    Refusal r{s, {}, {}};
    for (const std::string& part : split(sides.at(1), "|")) {
      const std::size_t colon = part.find(": ");
      if (colon < part.find('\'')) {  // not the one in 'igamma: input'
        for (const std::string& name : split(part.substr(0, colon), ",")) r.named[name] = part.substr(colon + 2);
      } else {
        r.words = part;
      }
    }
    table.push_back(std::move(r));
  }
  return table;
}

// A tensor among the arguments: argument i, or member k of a list.
struct Place {
  std::size_t i, k = 0;
};
std::vector<Place> differentiable_places(const Values& args) {
  std::vector<Place> places;
  for (std::size_t i = 0; i < args.size(); i++) {
    if (args[i].is_tensor() && is_differentiable(args[i].tensor().dtype())) places.push_back({i});
    if (!args[i].is_tensors()) continue;
    for (std::size_t k = 0; k < args[i].tensors().size(); k++)
      if (args[i].tensors()[k].defined() && is_differentiable(args[i].tensors()[k].dtype())) places.push_back({i, k});
  }
  return places;
}

TensorList tensors_of(const Value& r) {
  if (r.is_tensor()) return {r.tensor()};
  if (r.is_tensors()) return r.tensors();
  TensorList l;
  if (r.is_values())
    for (const Value& v : r.values())
      for (const Tensor& t : tensors_of(v)) l.push_back(t);
  return l;
}

// What came of a call one of whose tensors requires grad.
struct Outcome {
  std::string forward = "no error";  // the error of the call
  TensorList results;
  std::set<std::string> nodes;     // the nodes of the results that require grad
  std::set<std::string> backward;  // what their backward says: an error, or "no error"
};

Outcome differentiate(const SampleCall& c, Place place) {
  Values args = c.args;
  Tensor leaf;
  // The op gets a copy of the leaf: it may write to it.
  auto copied = [&](const Tensor& t) {
    leaf = t.detach().requires_grad_();
    return leaf.clone();
  };
  if (args[place.i].is_tensors()) {
    TensorList l = args[place.i].tensors();
    l[place.k] = copied(l[place.k]);
    args[place.i] = std::move(l);
  } else {
    args[place.i] = copied(args[place.i].tensor());
  }
  Outcome o;
  o.forward = error_of([&] { o.results = tensors_of(call(*c.op, args)); });
  for (const Tensor& r : o.results) {
    if (!r.defined() || !r.requires_grad()) continue;
    o.nodes.insert(r.grad_fn_name());
    o.backward.insert(error_of([&] { grad({r}, {leaf}, {aten<"ones_like">(r)}, {.retain_graph = true, .allow_unused = true}); }));
  }
  return o;
}

std::string argument_name(const SampleCall& c, Place p) { return c.op->schema.args[p.i].name; }

using Texts = std::set<std::string>;

void check_integers(const SampleCall& c) {
  EXPECT_TRUE(differentiable_places(c.args).empty()) << "the call has floating arguments";
  Values args = c.args;
  for (Value& v : args)
    if (v.is_tensor()) v = v.tensor().to(DType::f64);
  EXPECT_NE(error_of([&] { call(*c.op, args); }), "no error") << "floating arguments were taken";
}

void check_no_gradient(const Refusal& r, const SampleCall& c, Place p) {
  const Outcome o = differentiate(c, p);
  ASSERT_EQ(o.forward, "no error");
  ASSERT_FALSE(o.results.empty());
  if (r.named.empty()) {
    EXPECT_EQ(o.nodes, Texts{}) << "a result requires grad";
    EXPECT_EQ(error_of([&] { o.results[0].backward(aten<"ones_like">(o.results[0])); }),
              "element 0 of tensors does not require grad and does not have a grad_fn");
    return;
  }
  // A result among several.
  EXPECT_FALSE(o.nodes.empty()) << "no result requires grad";
  const auto& schema = c.op->schema.results;
  for (const auto& [name, words] : r.named) {
    const auto at = std::ranges::find(schema, name, &SchemaArg::name);
    ASSERT_TRUE(at != schema.end()) << "no result '" << name << "'";
    EXPECT_FALSE(o.results[static_cast<std::size_t>(at - schema.begin())].requires_grad()) << name;
  }
}

void check_refused_call(const Refusal& r, const SampleCall& c, Place p) {
  const std::string argument = argument_name(c, p);
  const std::string words = "The function '" + c.op->schema.name + "' is not differentiable with respect to argument '" +
                            argument + "'. This input cannot have requires_grad True.";
  EXPECT_EQ(differentiate(c, p).forward, r.words_for(argument) == kMayNot ? words : "no error") << "argument " << argument;
}

void check_refused_backward(const Refusal& r, const SampleCall& c, Place p) {
  const Outcome o = differentiate(c, p);
  const std::string argument = argument_name(c, p);
  EXPECT_EQ(o.forward, "no error") << "argument " << argument;
  EXPECT_EQ(o.backward, Texts{r.words_for(argument)}) << "argument " << argument;
  if (r.named.empty()) {
    EXPECT_EQ(o.nodes, Texts{"NotImplemented"}) << "argument " << argument;
  }
}

TEST(Refusals, Words) {
  for (const Refusal& r : read_table()) {
    SCOPED_TRACE(r.call.where());
    const int64_t live = TensorImpl::live();
    {
      SampleCall c;
      ASSERT_EQ(error_of([&] { c = make_call(r.call, Make::real, 0); }), "no error");
      const std::vector<Place> places = differentiable_places(c.args);
      if (r.says(kIntegers)) {
        check_integers(c);
        continue;
      }
      EXPECT_FALSE(places.empty()) << "no argument can require grad";
      if (!r.says(kNoGradient)) {
        for (const auto& [name, words] : r.named)
          EXPECT_TRUE(std::ranges::any_of(places, [&](Place p) { return argument_name(c, p) == name; }))
              << "no floating argument '" << name << "'";
      }
      for (Place p : places) {
        if (r.says(kNoGradient)) check_no_gradient(r, c, p);
        else if (r.says(kMayNot)) check_refused_call(r, c, p);
        else check_refused_backward(r, c, p);
      }
    }
    EXPECT_EQ(TensorImpl::live(), live) << "tensors are left alive";
  }
}

// The functional forms of these are in the table; in place PyTorch differentiates them, or does not
// look at the history.
TEST(Refusals, InPlaceFormsDiffer) {
  const Tensor x = ones({3}).requires_grad_();
  Tensor copied = zeros({3});
  aten_value<"copy_">(copied, x);
  EXPECT_EQ(grad({copied.sum()}, {x})[0].to_vector<double>(), (std::vector<double>{1, 1, 1}));
  Tensor random = x.clone(), normal = x.clone(), logic = x.clone();
  aten_value<"bernoulli_.float">(random, 0.5);
  EXPECT_EQ(grad({random.sum()}, {x})[0].to_vector<double>(), (std::vector<double>{0, 0, 0}));
  aten_value<"normal_">(normal);
  EXPECT_EQ(grad({normal.sum()}, {x})[0].to_vector<double>(), (std::vector<double>{0, 0, 0}));
  aten_value<"logical_not_">(logic);
  EXPECT_EQ(logic.grad_fn_name(), "CloneBackward0");
}

bool has_tensor(const std::vector<SchemaArg>& l) {
  return std::ranges::any_of(l, [](const SchemaArg& a) { return a.type.kind == Kind::tensor; });
}

// Nobody may forget an op: one that takes and makes tensors has a gradient rule or a line in the
// table.
TEST(Refusals, TableIsComplete) {
  std::set<std::string> listed;
  for (const Refusal& r : read_table()) listed.insert(r.call.op_name);
  for (const Op* o : all_ops()) {
    if (o->comes_apart() || o->mutates() || has_vjp(*o, false) || !has_tensor(o->schema.args) || !has_tensor(o->schema.results))
      continue;
    EXPECT_TRUE(listed.contains(o->name)) << o->name << " has neither a vjp nor a line in tests/error/refusals.txt";
  }
}

}  // namespace
}  // namespace ingot::testing
