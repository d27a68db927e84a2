// ATen's schemas: the whole table reads and prints back, defaults are values, faults have
// positions.
#include "op/schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <thread>

#include "base/error.hpp"
#include "tensor/impl.hpp"

namespace ingot {
namespace {

constexpr std::size_t kTableLines = 3983;

template <class F>
void for_each_line(F f) {
  std::string_view rest = aten_schema_table();
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    f(line.substr(0, line.find('\t')), line.substr(line.find('\t') + 1));
  }
}

TEST(SchemaTable, EveryLinePrintsBackIdentically) {
  std::size_t lines = 0;
  for_each_line([&](std::string_view text, std::string_view) {
    lines++;
    Schema s;
    ASSERT_NO_THROW(s = parse_schema(text)) << text;
    ASSERT_EQ(to_text(s), text);
  });
  EXPECT_EQ(lines, kTableLines);
}

TEST(SchemaTable, EveryLineIsFoundByItsNameAndKeepsItsTags) {
  for_each_line([](std::string_view text, std::string_view tags) {
    const Schema s = parse_schema(text);
    const auto found = find_aten_schemas(s.ns + "::" + s.name);
    EXPECT_NE(std::find(found.begin(), found.end(), text), found.end()) << text;
    EXPECT_EQ(aten_schema_tags(s.ns + "::" + s.qualified()), tags) << text;
  });
}

TEST(SchemaTable, PlainNamesMeanAten) {
  const auto add = find_aten_schemas("add");
  ASSERT_FALSE(add.empty());
  for (const auto text : add) EXPECT_TRUE(text.starts_with("aten::add")) << text;
  EXPECT_EQ(find_aten_schemas("prims::sum").size(), 1u);
  EXPECT_TRUE(find_aten_schemas("sum").front().starts_with("aten::"));
  ASSERT_EQ(find_aten_schemas("convert_element_type").size(), 1u);  // prims alone has it
  EXPECT_TRUE(find_aten_schemas("no_such_op").empty());
  EXPECT_EQ(aten_schema_tags("sigmoid"), "core pointwise pt2_compliant_tag");
  EXPECT_TRUE(aten_schema_tags("add.no_such_overload").empty());
}

TEST(SchemaTable, ManyThreadsMayAskFirst) {
  std::vector<std::thread> threads;
  std::atomic<int> found = 0;
  for (int i = 0; i < 4; i++) threads.emplace_back([&] { found += find_aten_schemas("mul").empty() ? 0 : 1; });
  for (auto& t : threads) t.join();
  EXPECT_EQ(found, 4);
}

TEST(SchemaTable, EveryDefaultHasTheKindOfItsType) {
  std::size_t defaults = 0;
  for_each_line([&](std::string_view text, std::string_view) {
    for (const SchemaArg& a : parse_schema(text).args) {
      if (!a.has_default) continue;
      defaults++;
      const Value& v = a.default_value;
      const SchemaType& t = a.type;
      bool fits = v.is_none() && t.optional;
      switch (t.kind) {
        case Kind::integer:
        case Kind::sym_int: fits |= t.is_list() ? v.is_ints() : v.is_int(); break;
        case Kind::real: fits |= t.is_list() ? v.is_floats() : v.is_float(); break;
        case Kind::boolean: fits |= t.is_list() ? v.is_bools() : v.is_bool(); break;
        case Kind::scalar: fits |= v.is_int() || v.is_float(); break;
        case Kind::string: fits |= v.is_string(); break;
        case Kind::dtype: fits |= v.is_dtype(); break;
        case Kind::memory_format: fits |= v.is_memory_format(); break;
        default: break;
      }
      EXPECT_TRUE(fits) << text << ": " << a.name << " = " << to_text(v);
    }
  });
  EXPECT_GT(defaults, 2000u);
}

TEST(Schema, FieldsOfAnOrdinaryOp) {
  const Schema s = parse_schema("aten::add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)");
  EXPECT_EQ(s.ns, "aten");
  EXPECT_EQ(s.name, "add");
  EXPECT_EQ(s.overload, "out");
  EXPECT_EQ(s.qualified(), "add.out");
  ASSERT_EQ(s.args.size(), 4u);
  EXPECT_FALSE(s.args[1].keyword_only);
  EXPECT_TRUE(s.args[2].keyword_only);
  EXPECT_TRUE(s.args[3].type.writes());
  EXPECT_FALSE(s.args[0].type.writes());
  EXPECT_EQ(s.index_of("out"), 3);
  EXPECT_EQ(s.index_of("input"), -1);
  EXPECT_FALSE(s.parenthesised_results);
  ASSERT_EQ(s.results.size(), 1u);
  EXPECT_EQ(s.results[0].type.alias, "a!");
}

TEST(Schema, ShapesOfTypes) {
  const auto type = [](const std::string& t) {
    const std::string text = "aten::f(" + t + " x) -> ()";
    const Schema s = parse_schema(text);
    EXPECT_EQ(to_text(s), text);
    return s.args.at(0).type;
  };
  SchemaType t = type("Tensor?[]?");
  EXPECT_TRUE(t.element_optional && t.optional && t.lists == 1 && t.kind == Kind::tensor);
  t = type("int[2]");
  EXPECT_TRUE(t.fixed_size == 2 && t.lists == 1 && t.kind == Kind::integer && !t.optional);
  t = type("SymInt[1]?");
  EXPECT_TRUE(t.fixed_size == 1 && t.optional && t.kind == Kind::sym_int);
  t = type("Tensor(a!)[]");
  EXPECT_TRUE(t.writes() && !t.alias_after_lists);
  t = type("Tensor[](a!)");
  EXPECT_TRUE(t.writes() && t.alias_after_lists);
  EXPECT_EQ(type("Tensor(a -> *)").alias, "a -> *");
  EXPECT_EQ(type("Tensor(a|b)").alias, "a|b");
  EXPECT_EQ(type("Dict(str, t)(a!)").name, "Dict(str, t)");
  EXPECT_EQ(type("(Tensor, tVal)[]").lists, 1);
  EXPECT_EQ(type("__torch__.torch.classes.rnn.CellParamsBase[]").kind, Kind::other);
  EXPECT_EQ(type("int[][]").lists, 2);
}

TEST(Schema, Variadic) {
  EXPECT_TRUE(parse_schema("aten::format(str self, ...) -> str").variadic_args);
  EXPECT_TRUE(parse_schema("prim::f(...) -> ...").variadic_results);
  EXPECT_EQ(to_text(parse_schema("prim::f(...) -> (int, ...)")), "prim::f(...) -> (int, ...)");
}

Value default_of(const std::string& type_and_text) {
  const std::size_t equals = type_and_text.find('=');
  const std::string text = "aten::f(" + type_and_text.substr(0, equals) + " x=" + type_and_text.substr(equals + 1) + ") -> ()";
  const Schema s = parse_schema(text);
  EXPECT_EQ(to_text(s), text);
  return s.args.at(0).default_value;
}

TEST(Schema, DefaultsAreValues) {
  EXPECT_TRUE(default_of("Scalar=1").same(Value(1)));
  EXPECT_TRUE(default_of("Scalar=0.125").same(Value(0.125)));
  EXPECT_TRUE(default_of("Scalar=True").same(Value(true)));
  EXPECT_TRUE(default_of("float=2.").same(Value(2.0)));
  EXPECT_TRUE(default_of("float=1.0000000000000001e-05").same(Value(1e-5)));
  EXPECT_TRUE(default_of("float=-inf").same(Value(-INFINITY)));
  EXPECT_TRUE(default_of("float?=1").same(Value(1.0)));
  EXPECT_TRUE(default_of("int=-100").same(Value(-100)));
  EXPECT_TRUE(default_of("int=Mean").same(Value(1)));
  EXPECT_TRUE(default_of("int?=0").same(Value(0)));
  EXPECT_TRUE(default_of("bool=False").same(Value(false)));
  EXPECT_TRUE(default_of("bool?=None").is_none());
  EXPECT_TRUE(default_of("Tensor?=None").is_none());
  EXPECT_TRUE(default_of("int[2]=0").same(Value(Shape{0, 0})));
  EXPECT_TRUE(default_of("SymInt[3]=[1, 2, 3]").same(Value(Shape{1, 2, 3})));
  EXPECT_TRUE(default_of("int[1]=[]").same(Value(Shape{})));
  EXPECT_TRUE(default_of("int[1]=[-2, -1]").same(Value(Shape{-2, -1})));
  EXPECT_TRUE(default_of("bool[3]=True").same(Value(std::vector<bool>{true, true, true})));
  EXPECT_TRUE(default_of("float[]=[0.5, 1]").same(Value(std::vector<double>{0.5, 1})));
  EXPECT_TRUE(default_of("Tensor[]=[]").same(Value(TensorList())));
  EXPECT_TRUE(default_of("str=\"none\"").same(Value("none")));
  EXPECT_TRUE(default_of("str='none'").same(Value("none")));
  EXPECT_TRUE(default_of(R"(str=" \n\t\f\v")").same(Value(" \n\t\f\v")));
  EXPECT_TRUE(default_of(R"(str="\"\'\\")").same(Value("\"'\\")));
  EXPECT_TRUE(default_of(R"(str="\001")").same(Value("\x01")));
  EXPECT_TRUE(default_of("ScalarType?=4").same(Value(DType::i64)));
  EXPECT_TRUE(default_of("ScalarType=long").same(Value(DType::i64)));
  EXPECT_TRUE(default_of("ScalarType=float32").same(Value(DType::f32)));
  EXPECT_TRUE(default_of("ScalarType=15").same(Value(DType::bf16)));
  EXPECT_TRUE(default_of("ScalarType=24").same(Value(DType::f8e4m3fn)));
  EXPECT_TRUE(default_of("MemoryFormat?=0").same(Value(MemoryFormat::contiguous)));
  EXPECT_TRUE(default_of("MemoryFormat=contiguous_format").same(Value(MemoryFormat::contiguous)));
  EXPECT_TRUE(default_of("MemoryFormat=channels_last").same(Value(MemoryFormat::channels_last)));
  EXPECT_TRUE(default_of("Layout=strided").same(Value(Layout::strided)));
  EXPECT_TRUE(default_of("Device=\"cuda:1\"").same(Value(Device{DeviceType::cuda, 1})));
}

TEST(Schema, SpacesAreForgiven) {
  EXPECT_EQ(to_text(parse_schema(" aten::f( Tensor x ,int  y = 1 )->( Tensor ,int n ) ")),
            "aten::f(Tensor x, int y=1) -> (Tensor, int n)");
  EXPECT_EQ(to_text(parse_schema("relu(Tensor self) -> Tensor")), "relu(Tensor self) -> Tensor");  // no namespace
}

struct Fault {
  const char* text;
  int position;
  const char* expected;
};

class SchemaFault : public ::testing::TestWithParam<Fault> {};

TEST_P(SchemaFault, SaysWhere) {
  const Fault& f = GetParam();
  try {
    parse_schema(f.text);
    FAIL() << "accepted: " << f.text;
  } catch (const UserError& e) {
    const std::string message = e.what();
    EXPECT_NE(message.find("at position " + std::to_string(f.position) + ":"), message.npos) << message;
    EXPECT_NE(message.find(f.expected), message.npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Table, SchemaFault,
    ::testing::Values(
        Fault{"", 0, "expected the name of an operator, found the end of the text"},
        Fault{"aten::", 6, "the name of an operator"}, Fault{"aten::f", 7, "'('"},
        Fault{"aten::f.(Tensor x) -> ()", 8, "the name of an overload"}, Fault{"aten::f(Tensor x -> Tensor", 17, "',' or ')'"},
        Fault{"aten::f(Tensor x)", 17, "'->'"}, Fault{"aten::f(Tensor x) -> ", 21, "a type"},
        Fault{"aten::f(Tensor x) -> Tensor y z", 30, "the end of the schema"}, Fault{"aten::f(Tesnor x) -> ()", 8, "a type"},
        Fault{"aten::f(Tensor) -> ()", 14, "the name of an argument"},
        Fault{"aten::f(Tensor x, Tensor x) -> ()", 25, "a name no other argument has"},
        Fault{"aten::f(Tensor x,) -> ()", 17, "a type"}, Fault{"aten::f(Tensor x, *) -> ()", 19, "an argument behind '*'"},
        Fault{"aten::f(*, int x, *, int y) -> ()", 18, "one '*' only"},
        Fault{"aten::f(..., int x) -> ()", 11, "')' behind '...'"}, Fault{"aten::f(int[x] y) -> ()", 12, "']'"},
        Fault{"aten::f(int[99999] y) -> ()", 17, "a smaller list size"}, Fault{"aten::f(Tensor(a x) -> ()", 17, "')'"},
        Fault{"aten::f(Tensor(!) x) -> ()", 15, "an alias name"},
        Fault{"aten::f(Dict x) -> ()", 12, "'(' and the arguments of the type Dict"},
        Fault{"aten::f(int x=) -> ()", 14, "a number"}, Fault{"aten::f(int x=1.5) -> ()", 14, "an integer"},
        Fault{"aten::f(int x=99999999999999999999) -> ()", 14, "an integer of 64 bits"},
        Fault{"aten::f(float x=1e) -> ()", 18, "the digits of an exponent"},
        Fault{"aten::f(float x=1e999) -> ()", 16, "fits a double"}, Fault{"aten::f(int x=None) -> ()", 14, "not optional"},
        Fault{"aten::f(bool x=true) -> ()", 15, "True or False"}, Fault{"aten::f(int[] x=0) -> ()", 16, "'[' of a list"},
        Fault{"aten::f(int[2] x=[0, 1) -> ()", 22, "',' or ']'"}, Fault{"aten::f(str x=\"abc) -> ()", 14, "a string that ends"},
        Fault{"aten::f(str x=\"\\q\") -> ()", 15, "an escape"}, Fault{"aten::f(str x=abc) -> ()", 14, "a quoted string"},
        Fault{"aten::f(ScalarType x=8) -> ()", 21, "a ScalarType Ingot has"},
        Fault{"aten::f(ScalarType x=lnog) -> ()", 21, "a ScalarType"},
        Fault{"aten::f(MemoryFormat x=flat) -> ()", 23, "a MemoryFormat"}, Fault{"aten::f(Tensor x=1) -> ()", 17, "None"},
        Fault{"aten::f(((((((((((((((((((((int x) -> ()", 25, "nested less deeply"}));

// No prefix of a schema and no single change of a byte may do worse than a user error.
TEST(Schema, DamagedTextsNeverCrash) {
  const std::string good = R"(aten::f.o(Tensor(a!) x, Tensor?[] y, int[2] z=[0, 1], *, str s="a\n", Dict(str, t)[] d, ...) -> )"
                           R"((Tensor(a -> *), int n))";
  ASSERT_EQ(to_text(parse_schema(good)), good);
  const auto try_parse = [](const std::string& text) {
    try {
      // What is accepted must be stable under printing.
      const std::string printed = to_text(parse_schema(text));
      EXPECT_EQ(to_text(parse_schema(printed)), printed);
    } catch (const UserError&) {}
  };
  for (std::size_t i = 0; i < good.size(); i++) {
    try_parse(good.substr(0, i));
    for (const char c : std::string_view("()[]?!*=,\"\\.-9a \0\xff", 18)) {
      std::string bad = good;
      bad[i] = c;
      try_parse(bad);
      try_parse(good.substr(0, i) + c + good.substr(i));
    }
  }
}

TEST(Value, TextIsPythons) {
  EXPECT_EQ(to_text(Value(2)), "2");
  EXPECT_EQ(to_text(Value(0.5)), "0.5");
  EXPECT_EQ(to_text(Value(1.0)), "1.0");
  EXPECT_EQ(to_text(Value(-0.0)), "-0.0");
  EXPECT_EQ(to_text(Value(1e-5)), "1e-05");
  EXPECT_EQ(to_text(Value(0.0001)), "0.0001");
  EXPECT_EQ(to_text(Value(1e15)), "1000000000000000.0");
  EXPECT_EQ(to_text(Value(1e16)), "1e+16");
  EXPECT_EQ(to_text(Value(1.5e300)), "1.5e+300");
  EXPECT_EQ(to_text(Value(123.456)), "123.456");
  EXPECT_EQ(to_text(Value(-INFINITY)), "-inf");
  EXPECT_EQ(to_text(Value(std::complex<double>(1, -2))), "(1-2j)");
  EXPECT_EQ(to_text(Value(std::complex<double>(0, 2))), "2j");
  EXPECT_EQ(to_text(Value(true)), "True");
  EXPECT_EQ(to_text(Value()), "None");
  EXPECT_EQ(to_text(Value(Shape{1, 2})), "[1, 2]");
  EXPECT_EQ(to_text(Value(std::vector<double>{1, 0.5})), "[1.0, 0.5]");
  EXPECT_EQ(to_text(Value(std::vector<bool>{true, false})), "[True, False]");
  EXPECT_EQ(to_text(Value(Values{1, Value(), "x"})), "[1, None, 'x']");
  EXPECT_EQ(to_text(Value("tanh")), "'tanh'");
  EXPECT_EQ(to_text(Value("it's")), "\"it's\"");
  EXPECT_EQ(to_text(Value("a\n\x01")), "'a\\n\\x01'");
  EXPECT_EQ(to_text(Value(DType::f32)), "torch.float32");
  EXPECT_EQ(to_text(Value(Device{})), "device(type='cpu')");
  EXPECT_EQ(to_text(Value(Device{DeviceType::cuda, 0})), "device(type='cuda', index=0)");
  EXPECT_EQ(to_text(Value(MemoryFormat::channels_last)), "torch.channels_last");
  EXPECT_EQ(to_text(Value(Layout::strided)), "torch.strided");
}

TEST(Value, HoldsTensors) {
  const Tensor t = make_tensor(Geometry::contiguous({2, 3}, DType::f32), {}, true);
  EXPECT_EQ(to_text(Value(t)), "f32[2, 3][3, 1]");
  EXPECT_EQ(to_text(Value(TensorList{t, Tensor()})), "[f32[2, 3][3, 1], None]");
  EXPECT_TRUE(Value(t).same(Value(t)));
  EXPECT_FALSE(Value(t).same(Value(make_alias(t, t->geom))));
  EXPECT_TRUE(Value(t).tensor().is_same(t));
}

TEST(Value, SameIsStructural) {
  EXPECT_TRUE(Value(NAN).same(Value(NAN)));
  EXPECT_FALSE(Value(0.0).same(Value(-0.0)));
  EXPECT_FALSE(Value(1).same(Value(1.0)));
  EXPECT_FALSE(Value(1).same(Value(true)));
  EXPECT_TRUE(Value(Values{1, "a"}).same(Value(Values{1, "a"})));
  EXPECT_FALSE(Value(Values{1, "a"}).same(Value(Values{1})));
  EXPECT_LE(sizeof(Value), 24u);
}

TEST(Value, AccessorsRequireTheirKind) {
  EXPECT_EQ(Value(true).to_int64(), 1);
  EXPECT_EQ(Value(3).to_double(), 3.0);
  EXPECT_TRUE(Value(3).to_bool());
  EXPECT_THROW(Value("x").to_int(), InternalError);
  EXPECT_THROW(Value(1.5).to_int(), InternalError);
  EXPECT_THROW(Value().tensor(), InternalError);
  EXPECT_THROW(Value(Shape{1}).values(), InternalError);
  EXPECT_FALSE(Value().tensor_or_none().defined());
  EXPECT_EQ(Value(Tensor()).kind_name(), "None");
}

TEST(Scalar, Conversions) {
  EXPECT_EQ(Scalar(2.9).to_int().value(), 2);
  EXPECT_EQ(Scalar(-2.9).to_int().value(), -2);
  EXPECT_EQ(Scalar(std::complex<double>(3, 0)).to_int().value(), 3);
  EXPECT_THROW(Scalar(std::complex<double>(3, 1)).to_double(), UserError);
  EXPECT_THROW(Scalar(NAN).to_int(), UserError);
  EXPECT_THROW(Scalar(1e19).to_int(), UserError);
  EXPECT_TRUE(Scalar(std::complex<double>(0, 1)).to_bool());
  EXPECT_FALSE(Scalar(0).to_bool());
  EXPECT_EQ(Scalar(1).dtype(), DType::i64);
  EXPECT_EQ(Scalar(1.0).dtype(), DType::f32);
  EXPECT_EQ(Scalar(true).dtype(), DType::b8);
  EXPECT_EQ(Scalar(std::complex<double>(1)).dtype(), DType::c64);
}

}  // namespace
}  // namespace ingot
