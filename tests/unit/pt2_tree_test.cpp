// How callers nest the arguments and results of an exported program.
#include "program/tree_spec.hpp"
#include "unit/pt2_fixture.hpp"

namespace ingot {
namespace {

using namespace pt2_json;

constexpr std::string_view kLeaf = R"({"type": null, "context": null, "children_spec": []})";
std::string container(std::string_view type, std::string_view context, const std::vector<std::string>& children) {
  return text(R"({"type": ")", type, R"(", "context": )", context, R"(, "children_spec": [)", joined(children), "]}");
}
std::string leaf() { return std::string(kLeaf); }
std::string tuple(const std::vector<std::string>& c) { return container("builtins.tuple", "\"null\"", c); }
std::string list(const std::vector<std::string>& c) { return container("builtins.list", "\"null\"", c); }
std::string dict(std::string_view keys, const std::vector<std::string>& c) {
  return container("builtins.dict", text("\"", keys, "\""), c);
}
std::string spec(std::string_view tree, int protocol = 1) { return text("[", protocol, ", ", tree, "]"); }

// JSON text as a string inside JSON.
std::string json_string(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}
TreeSpec parsed(const std::string& text_of_spec, const NamedTupleFields& fields = {}) {
  const JsonDocument document(text(R"({"in_spec": )", json_string(text_of_spec), "}"), "m.json");
  return read_tree_spec(document.root().field("in_spec"), fields);
}
std::string call_entry(std::string_view in, std::string_view out, std::string_view names) {
  return text(R"({"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": )", json_string(spec(in)), R"(, "out_spec": )",
              json_string(spec(out)), R"(, "forward_arg_names": )", names, "}}");
}

TEST(Pt2Tree, P151_P152_P153_Containers) {
  const std::string in = spec(tuple(
      {leaf(), list({leaf(), leaf()}), dict(R"([\"k\", \"l\"])", {leaf(), tuple({})}),
       container("collections.OrderedDict", R"("[1, true, null, 2.5]")", {leaf(), leaf(), leaf(), leaf()}),
       container("collections.defaultdict",
                 R"({"default_factory_module": "builtins", "default_factory_name": "int", "dict_context": ["z"]})", {leaf()}),
       container("collections.deque", R"("5")", {leaf()})}));
  const TreeSpec s = parsed(in);
  EXPECT_EQ(s.leaves(), 10u);
  EXPECT_EQ(s.children[0].type, "");
  EXPECT_EQ(s.children[2].keys[1].string(), "l");
  EXPECT_TRUE(s.children[3].keys[0].is_int() && s.children[3].keys[1].is_bool() && s.children[3].keys[2].is_none() &&
              s.children[3].keys[3].is_float());
  EXPECT_EQ(s.children[4].keys[0].string(), "z");
  EXPECT_TRUE(s.children[5].keys.empty());
  EXPECT_EQ(tree_spec_text(s), in);  // printed as it was read
  const auto names = leaf_names(s, "a");
  EXPECT_EQ(names[0], "a[0]");
  EXPECT_EQ(names[3], "a[2]['k']");
  EXPECT_EQ(names[4], "a[3][1]");
  EXPECT_EQ(names[8], "a[4]['z']");
}

TEST(Pt2Tree, P152_P153_NamedTuplesAndEnums) {
  const TreeSpec s =
      parsed(spec(container("collections.namedtuple", R"("m.Point")", {leaf(), leaf()})), {{"m.Point", {"x", "y"}}});
  EXPECT_EQ(leaf_names(s, "p"), (std::vector<std::string>{"p['x']", "p['y']"}));
  const TreeSpec unknown = parsed(spec(container("collections.namedtuple", R"("m.Other")", {leaf(), leaf()})));
  EXPECT_EQ(leaf_names(unknown, "p"), (std::vector<std::string>{"p[0]", "p[1]"}));
  const TreeSpec e = parsed(spec(dict(R"([{\"__enum__\": true, \"fqn\": \"m.Color\", \"name\": \"RED\"}])", {leaf()})));
  EXPECT_EQ(e.keys[0].string(), "m.Color.RED");
}

// Names are for people: a long key, and a long way down, are cut.
TEST(Pt2Tree, P202_LongNamesOfLeaves) {
  const std::string key(100'000, 'k');
  TreeSpec s;
  for (int depth = 0; depth < 100; depth++) {
    TreeSpec outer;
    outer.type = "builtins.dict";
    outer.keys = {Value(key)};
    outer.children.push_back(std::move(s));
    s = std::move(outer);
  }
  const auto names = leaf_names(s, "a");
  ASSERT_EQ(names.size(), 1u);
  ASSERT_LT(names[0].size(), 2500u);
  EXPECT_TRUE(names[0].starts_with(text("a['", std::string(200, 'k'), "…']['k")));
  EXPECT_TRUE(names[0].ends_with("…"));
}

TEST(Pt2Tree, P151_Refusals) {
  const auto error = [](const std::string& s) { return user_error([&] { (void)parsed(s); }); };
  expect_in("tree spec protocol 2 is not supported", error(spec(leaf(), 2)));
  expect_in("expected [protocol, tree]", error("[1]"));
  expect_in("a leaf has no children", error(spec(R"({"type": null, "context": null, "children_spec": [)" + leaf() + "]}")));
  expect_in("has 1 keys and 2 children", error(spec(dict(R"([\"k\"])", {leaf(), leaf()}))));
  expect_in("in_spec", error("nonsense"));
}

TEST(Pt2Tree, P154_UnknownTypesAreTuples) {
  const std::string data = spec(container("my.Data", R"("[[\"a\", \"b\"], []]")", {leaf(), leaf()}));
  EXPECT_EQ(leaf_names(parsed(data), "d"), (std::vector<std::string>{"d['a']", "d['b']"}));
  const std::string free = spec(container("my.Other", R"({"any": ["thing", 1]})", {leaf(), leaf()}));
  const TreeSpec s = parsed(free);
  EXPECT_EQ(tree_spec_text(s), free);
  EXPECT_EQ(leaf_names(s, "d"), (std::vector<std::string>{"d[0]", "d[1]"}));
  EXPECT_EQ(unflatten(Values{Value(1), Value(2)}, s).type(), "my.Other");
  EXPECT_EQ(flatten(Tree::tuple({Value(1), Value(2)}), s, "d").size(), 2u);
}

TEST(Pt2Tree, P155_NoneIsALeaf) {
  const TreeSpec s = parsed(spec(tuple({leaf(), tuple({leaf()})})));
  const Values leaves = flatten(Tree::tuple({Tree(), Tree::tuple({Value(3)})}), s, "a");
  ASSERT_EQ(leaves.size(), 2u);
  EXPECT_TRUE(leaves[0].is_none());
  EXPECT_EQ(leaves[1].to_int64(), 3);
}

TEST(Pt2Tree, FlattenNamesTheDifference) {
  const TreeSpec s = parsed(spec(tuple({leaf(), dict(R"([\"k\", \"l\"])", {leaf(), list({leaf()})})})));
  const auto error = [&](const Tree& t) { return user_error([&] { (void)flatten(t, s, "a"); }); };
  EXPECT_EQ(error(Value(1)), "input a must be a tuple of 2, got int");
  EXPECT_EQ(error(Tree::tuple({Value(1)})), "input a must be a tuple of 2, got a tuple of 1");
  EXPECT_EQ(error(Tree::tuple({Value(1), Tree::dict({{"k", Value(1)}, {"m", Value(2)}})})),
            "input a[1]: missing keys 'l', unexpected keys 'm'");
  EXPECT_EQ(error(Tree::tuple({Tree::list({}), Tree::dict({})})), "input a[0] must be a single value, got a list of 0");
  EXPECT_EQ(error(Tree::tuple({Value(1), Tree::tuple({Value(1), Value(2)})})),
            "input a[1] must be a dict of 2, got a tuple of 2");
  // Keys in any order.
  const Values v = flatten(Tree::tuple({Value(1), Tree::dict({{"l", Tree::list({Value(3)})}, {"k", Value(2)}})}), s, "a");
  EXPECT_EQ(v[1].to_int64(), 2);
  EXPECT_EQ(v[2].to_int64(), 3);
}

// The worked example of section 12: a parameter, a buffer, four tensors and one constant flag.
Program worked_example() {
  ProgramJson p;
  p.state("parameter", "p_w", "w").state("buffer", "b_n", "n", R"(, "persistent": true)");
  p.input("a").input("d_k").input("d_l_0").input("scale");
  p.graph.inputs.push_back(as("as_bool", "true"));
  p.input_specs.push_back(R"({"constant_input": {"name": "flag", "value": {"as_bool": true}}})");
  p.then(op_node("mul.Tensor", {arg("self", val("a")), arg("other", val("p_w"))}, "mul"));
  p.then(op_node("mul.Tensor", {arg("self", val("mul")), arg("other", val("scale"))}, "mul_1"));
  p.then(op_node("add.Tensor", {arg("self", val("d_k")), arg("other", val("d_l_0"))}, "add"));
  p.then(op_node("mul.Tensor", {arg("self", val("b_n")), arg("other", integer(2))}, "mul_2"));
  for (const char* out : {"mul_1", "add", "d_l_0", "mul_2"}) p.returns(val(out));
  p.returns(integer(3)).returns(as("as_none", "true")).returns(str("s"));
  p.calls = {call_entry(tuple({tuple({leaf(), dict(R"([\"k\", \"l\"])", {leaf(), tuple({leaf()})})}),
                               dict(R"([\"scale\", \"flag\"])", {leaf(), leaf()})}),
                        dict(R"([\"x\", \"n\", \"t\"])",
                             {tuple({leaf(), list({leaf(), leaf()})}), leaf(), tuple({leaf(), leaf(), leaf()})}),
                        R"(["a", "d", "scale", "flag"])"),
             R"({"fqn": "sub", "signature": null})"};
  return read(p, {{"w", state_of(tensor({2.}))}, {"n", state_of(tensor({5.}))}});
}
const Tensor kA = tensor({1.}), kK = tensor({10.}), kL = tensor({20.}), kS = tensor({3.});
Tree positional() { return Tree::tuple({kA, Tree::dict({{"k", kK}, {"l", Tree::tuple({kL})}})}); }

TEST(Pt2Tree, P141_P145_P150_P156_P157_NestedCall) {
  Program p = worked_example();
  // Keyword arguments in another order than the spec's.
  const Tree out = p.call(positional(), Tree::dict({{"flag", Value(true)}, {"scale", kS}}));
  EXPECT_EQ(out.type(), "builtins.dict");
  EXPECT_EQ(floats(out.at("x")[0].leaf()), Floats{6});
  EXPECT_EQ(out.at("x")[1].type(), "builtins.list");
  EXPECT_EQ(floats(out.at("x")[1][0].leaf()), Floats{30});
  EXPECT_TRUE(out.at("x")[1][1].leaf().tensor().is_same(kL));  // an input returned directly is that tensor
  EXPECT_EQ(floats(out.at("n").leaf()), Floats{10});
  EXPECT_EQ(out.at("t")[0].leaf().to_int64(), 3);
  EXPECT_TRUE(out.at("t")[1].leaf().is_none());
  EXPECT_EQ(out.at("t")[2].leaf().string(), "s");
}

TEST(Pt2Tree, P156_KeywordArgumentsAreNamed) {
  Program p = worked_example();
  const auto error = [&](const Tree& args, const Tree& kwargs) { return user_error([&] { (void)p.call(args, kwargs); }); };
  EXPECT_EQ(error(positional(), Tree::dict({{"flag", Value(true)}})), "m.pt2: missing keyword arguments: scale");
  EXPECT_EQ(error(positional(), Tree::dict({{"flag", Value(true)}, {"scale", kS}, {"x", kS}, {"y", kS}})),
            "m.pt2: unexpected keyword arguments: x, y");
  EXPECT_EQ(error(Tree::tuple({kA}), Tree::dict({})), "m.pt2 takes 2 positional arguments, found 1");
  EXPECT_EQ(error(Tree::tuple({kA, Tree::dict({{"k", kK}})}), Tree::dict({{"flag", Value(true)}, {"scale", kS}})),
            "input d: missing keys 'l'");
}

TEST(Pt2Tree, P142_ConstantInputs) {
  Program p = worked_example();
  const auto flat = [&](Value flag) { return Values{kA, kK, kL, kS, flag}; };
  EXPECT_EQ(user_error([&] { (void)p.run(flat(false)); }), "input flag must be True, got False");
  EXPECT_EQ(user_error([&] { (void)p.run(flat(1)); }), "input flag must be True, got 1");  // the type counts
  EXPECT_EQ(p.run(flat(true)).size(), 7u);
  EXPECT_EQ(p.run(Values{kA, kK, kL, kS}).size(), 7u);  // a flat list may leave it out
  p.check_inputs = false;
  EXPECT_EQ(p.run(flat(false)).size(), 7u);
}

TEST(Pt2Tree, P158_LeafNamesForHumans) {
  const Program p = worked_example();
  std::vector<std::string> in, out;
  for (const Leaf& l : p.main().input_leaves()) in.push_back(l.name);
  for (const Leaf& l : p.main().result_leaves()) out.push_back(l.name);
  EXPECT_EQ(in, (std::vector<std::string>{"a", "d['k']", "d['l'][0]", "scale", "flag"}));
  EXPECT_TRUE(p.main().input_leaves()[4].is_constant);
  EXPECT_EQ(out[1], "output['x'][1][0]");
}

TEST(Pt2Tree, P141_P145_LeavesMustFitTheSignature) {
  ProgramJson p;
  p.input("x").returns(val("x"));
  p.calls = {call_entry(tuple({tuple({leaf(), leaf()}), dict("[]", {})}), leaf(), R"(["x", "y"])")};
  expect_in("in_spec has 2 leaves for 1 user inputs", error_of(p));
  p.calls = {call_entry(tuple({tuple({leaf()}), dict("[]", {})}), tuple({leaf(), leaf()}), "null")};
  expect_in("out_spec has 2 leaves for 1 user outputs", error_of(p));
  p.calls = {call_entry(tuple({leaf()}), leaf(), "null")};
  expect_in("in_spec should be a tuple", error_of(p));
  p.calls = {call_entry(tuple({tuple({leaf()}), dict("[]", {})}), leaf(), "null")};
  Program program = read(p);
  EXPECT_EQ(program.main().input_leaves()[0].name, "args[0]");
  EXPECT_TRUE(program.call(Tree::tuple({kA})).leaf().tensor().is_same(kA));  // P157: a bare leaf
}

}  // namespace
}  // namespace ingot
