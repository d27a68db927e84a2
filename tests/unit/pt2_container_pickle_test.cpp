// The restricted unpickler: what torch.save writes for tensors is read, everything else is refused
// and never run.
#include "format/pt2/pickle.hpp"
#include "ingot/ingot.hpp"
#include "unit/pt2_container_fixture.hpp"

namespace ingot {
namespace {

using namespace pickled;
using std::string_literals::operator""s;
using Kind = PythonValue::Kind;

class Pickle : public IoTest {
 protected:
  ZipReader archive(const std::string& bytes) { return ZipReader::open(put("p.pt", bytes), "bad file p.pt"); }
  PythonValue read(const std::string& value, const std::map<std::string, std::string>& storages = {}) {
    return read_torch_save(archive(torch_save(value, storages)));
  }
  // The message for a pickle given whole.
  std::string raw_error(const std::string& pickle, const std::map<std::string, std::string>& storages = {}) {
    std::vector<ZipEntry> entries = {{"archive/data.pkl", pickle}};
    for (const auto& [key, bytes] : storages) entries.emplace_back("archive/data/" + key, bytes);
    const ZipReader z = archive(zip(entries));
    const std::string message = user_error([&] { (void)read_torch_save(z); });
    EXPECT_TRUE(message.starts_with("bad file p.pt: entry 'data.pkl'")) << message;
    return message;
  }
  std::string error(const std::string& value, const std::map<std::string, std::string>& storages = {}) {
    return raw_error(program(value), storages);
  }
  static void expect_says(const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), message.npos) << message;
  }
};

TEST_F(Pickle, P036_ReadsEveryAllowedInstruction) {
  EXPECT_TRUE(read("N").is(Kind::none));
  EXPECT_EQ(read(kTrue).integer, 1);
  EXPECT_TRUE(read(kFalse).is(Kind::boolean));
  EXPECT_EQ(read("K\xff").integer, 255);
  EXPECT_EQ(read("M\xff\xff").integer, 65535);
  EXPECT_EQ(read("J" + le<int32_t>(-5)).integer, -5);
  EXPECT_EQ(read("\x8a\x00"s).integer, 0);
  EXPECT_EQ(read("\x8a\x01\xff").integer, -1);
  EXPECT_EQ(read("\x8a\x03\xff\xff\x7f").integer, 0x7fffff);
  EXPECT_EQ(read("\x8a\x08" + le(std::numeric_limits<int64_t>::min())).integer, std::numeric_limits<int64_t>::min());
  EXPECT_EQ(read("G\x3f\xf8\0\0\0\0\0\0"s).real, 1.5);
  EXPECT_EQ(read(string("h\xc3\xa9")).string, "h\xc3\xa9");
  EXPECT_EQ(read(")").items.size(), 0u);
  EXPECT_EQ(read("K\1\x85").items.size(), 1u);
  EXPECT_EQ(read("K\1K\2\x86").items.at(1).integer, 2);
  EXPECT_EQ(read("K\1K\2K\3\x87").items.at(2).integer, 3);
  EXPECT_EQ(read("(K\1K\2K\3K\4t").items.size(), 4u);
  EXPECT_EQ(read("]K\1a").items.at(0).integer, 1);
  EXPECT_EQ(read("](K\1K\2e").items.size(), 2u);
  EXPECT_EQ(read("}" + string("k") + "K\1s").find("k")->integer, 1);
  EXPECT_EQ(read("}(" + string("k") + "K\1" + string("l") + "K\2u").find("l")->integer, 2);
  EXPECT_EQ(read("}").find("k"), nullptr);
  // The memo: one list under two names is filled through one of them.
  const PythonValue shared = read("]q\0](h\0K\7ae\x86"s);
  EXPECT_EQ(shared.items.at(0).items.at(0).integer, 7);
  EXPECT_EQ(read("K\5r" + le<uint32_t>(70000) + "j" + le<uint32_t>(70000) + "\x86").items.at(1).integer, 5);
  EXPECT_EQ(read(ordered_dict() + "(" + string("a") + "K\1u" + pickled::dict({{"_metadata", "N"}}) + "b").find("a")->integer, 1);
  EXPECT_EQ(read(call("collections", "OrderedDict", {list({tuple({string("a"), "K\1"}), list({string("b"), "K\2"})})}))
                .find("b")
                ->integer,
            2);
  EXPECT_EQ(read(call("torch", "Size", {integers({2, 3})})).items.at(1).integer, 3);
  EXPECT_EQ(read(call("torch", "device", {string("cpu")})).string, "cpu");
  EXPECT_EQ(read(call("torch", "device", {string("cuda"), integer(1)})).string, "cuda:1");
  EXPECT_EQ(read(global("torch", "bfloat16")).dtype, DType::bf16);
}

TEST_F(Pickle, P036_RefusesEverythingElseByName) {
  // Every instruction of any protocol that is not in the list.
  const std::string allowed =
      "\x80"
      "cqrhj(t\x85\x86\x87)]ae}suXJKM\x8aGN\x88\x89RbQ.";
  int refused = 0;
  for (int op = 0; op < 256; op++) {
    if (allowed.find(static_cast<char>(op)) != allowed.npos) continue;
    expect_says(raw_error("\x80\x02" + std::string(1, static_cast<char>(op)) + std::string(20, '\0')),
                "at byte 2: the instruction 0x");
    refused++;
  }
  EXPECT_EQ(refused, 256 - 31);
  const std::pair<std::string, std::string> globals[] = {{"os", "system"},
                                                         {"builtins", "eval"},
                                                         {"torch", "load"},
                                                         {"torch._utils", "_rebuild_qtensor"},
                                                         {"torch", "FancyStorage"},
                                                         {"collections", "defaultdict"},
                                                         {"torch.storage", "_load_from_bytes"},
                                                         {"torch", "Tensor"},
                                                         {"", ""},
                                                         {"torch", "f32"}};
  for (const auto& [module, name] : globals)
    expect_says(error(global(module, name)), text("the class or function '", module, ".", name, "' is not allowed"));
  for (const char version : {'\0', '\1', '\3', '\4', '\5'})
    expect_says(raw_error("\x80"s + version + "N."), "no pickle of protocol 2");
  expect_says(raw_error("N."), "no pickle of protocol 2");
}

TEST_F(Pickle, P036_DamagedPicklesAreRefused) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "takes a value where there is none"},
      {"(", "takes a value where there is none"},
      {"NN", "values left over"},
      {"N(", "takes a value"},
      {"t", "a mark where there is none"},
      {"N\x86", "takes a value"},
      {"(N\x86", "takes a value"},
      {"h\x05", "nothing was remembered as 5"},
      {"q\0"s, "takes a value"},
      {"Na", "takes a value"},
      {"NNa", "appends to what is no list"},
      {"N(Ne", "appends to what is no list"},
      {"](NNu", "sets items of what is no dict"},
      {"}(Nu", "a key of a dict has no value"},
      {"NNNs", "sets items of what is no dict"},
      {"NR", "takes a value"},
      {"N)R", "calls what is no function"},
      {ordered_dict() + "NR", "calls what is no function"},
      {global("collections", "OrderedDict") + "NR", "without a tuple"},
      {"N}b", "sets attributes of what is no dict"},
      {"}Nb", "sets attributes from what is no dict"},
      {"NQ", "a persistent id should be a tuple"},
      {")Q", "that of a storage"},
      {"\x80\x02N", "names its protocol twice"},
      {"\x8a\x09" + std::string(9, '\1'), "an integer of 9 bytes"},
      {global("torch", "FloatStorage"), "a value is a class"},
      {global("collections", "OrderedDict"), "a value is a class"},
      {call("torch", "Size", {"N"}), "made of a tuple"},
      {call("torch", "device", {"N"}), "made of a name"},
      {call("collections", "OrderedDict", {"N"}), "made of a list"},
      {call("collections", "OrderedDict", {list({"N"})}), "made of pairs"},
      {call("torch._utils", "_rebuild_parameter", {"N", kTrue, "N"}), "made of a tensor and a bool"}};
  for (const auto& [value, says] : cases) expect_says(error(value), says);
  // Cut at every byte.
  const std::string whole =
      program(tuple({pickled::tensor("0", 2, {2}, {1}), string("abc"), "\x8a\x03\xff\xff\x7f", "G\x3f\xf8\0\0\0\0\0\0"s}));
  for (std::size_t n = 0; n < whole.size(); n++) raw_error(whole.substr(0, n), {{"0", raw<float>({1, 2})}});
}

TEST_F(Pickle, P037_Tensors) {
  struct Case {
    const char* type;
    DType dtype;
  };
  for (const auto& [type, dtype] : {Case{"ByteStorage", DType::u8},
                                    {"CharStorage", DType::i8},
                                    {"ShortStorage", DType::i16},
                                    {"IntStorage", DType::i32},
                                    {"LongStorage", DType::i64},
                                    {"HalfStorage", DType::f16},
                                    {"BFloat16Storage", DType::bf16},
                                    {"FloatStorage", DType::f32},
                                    {"DoubleStorage", DType::f64},
                                    {"ComplexFloatStorage", DType::c64},
                                    {"ComplexDoubleStorage", DType::c128},
                                    {"BoolStorage", DType::b8}}) {
    const std::string bytes(3 * static_cast<std::size_t>(size_of(dtype)), '\1');
    const Tensor t = read(pickled::tensor("7", 3, {2}, {2}, 0, type), {{"7", bytes}}).tensor;
    EXPECT_EQ(t.dtype(), dtype);
    EXPECT_EQ(elements(t), bytes.substr(0, 2 * static_cast<std::size_t>(size_of(dtype))));
  }
  // Version 3: an untyped storage, whose count is in bytes, and a dtype.
  const auto v3 = [](const std::string& dtype, const std::vector<std::string>& more = {}) {
    std::vector<std::string> args = {
        storage("UntypedStorage", "0", 4), integer(1), integers({1}), integers({1}), kTrue, ordered_dict(), dtype};
    args.insert(args.end(), more.begin(), more.end());
    return call("torch._utils", "_rebuild_tensor_v3", args);
  };
  const PythonValue t = read(v3(global("torch", "uint16"), {"N"}), {{"0", raw<uint16_t>({1, 2})}});
  EXPECT_EQ(t.tensor.to_vector<int64_t>(), std::vector<int64_t>{2});
  EXPECT_TRUE(t.requires_grad && !t.is_parameter);
  expect_says(error(v3(string("uint16")), {{"0", raw<uint16_t>({1, 2})}}), "a tensor has no dtype");
  expect_says(error(v3(global("torch", "uint16"), {pickled::dict({{"conj", kTrue}})}), {{"0", "1234"}}),
              "a tensor has attributes");
  const PythonValue p = read(pickled::parameter(pickled::tensor("0", 1, {1}, {1}), false), {{"0", raw<float>({1})}});
  EXPECT_TRUE(p.is_parameter && !p.requires_grad);
  // Storages are shared by their keys.
  const PythonValue pair =
      read(tuple({pickled::tensor("0", 2, {2}, {1}), pickled::tensor("0", 2, {1}, {1}, 1)}), {{"0", raw<float>({1, 2})}});
  EXPECT_EQ(pair.items[0].tensor->storage, pair.items[1].tensor->storage);
  // A bool is 0 or 1 in memory, whatever byte is in the file.
  EXPECT_EQ(elements(read(pickled::tensor("0", 2, {2}, {1}, 0, "BoolStorage"), {{"0", "\0\5"s}}).tensor), "\0\1"s);
}

TEST_F(Pickle, P037_TensorsThatLie) {
  const std::map<std::string, std::string> two = {{"0", raw<float>({1, 2})}};
  expect_says(error(pickled::tensor("0", 2, {3}, {1}), two), "the storage '0' has 8 bytes, 12 needed");
  expect_says(error(pickled::tensor("0", 1, {2}, {1}), two), "the storage '0' has 4 bytes, 8 needed");
  expect_says(error(pickled::tensor("0", 100, {100}, {1}), two), "has 8 bytes, 400 needed");
  expect_says(error(pickled::tensor("0", 2, {2}, {1}, 1), two), "has 8 bytes, 12 needed");
  expect_says(error(pickled::tensor("1", 2, {2}, {1}), two), "the storage 'archive/data/1' is not in the file");
  expect_says(error(pickled::tensor("../data.pkl", 2, {2}, {1}), two), "is not in the file");
  expect_says(error(pickled::tensor("0", 2, {-2}, {1}), two), "negative or too large");
  expect_says(error(pickled::tensor("0", 2, {2}, {-1}), two), "negative or too large");
  expect_says(error(pickled::tensor("0", 2, {2}, {1}, -1), two), "negative or too large");
  expect_says(error(pickled::tensor("0", 2, {int64_t{1} << 40, int64_t{1} << 40}, {0, 0}), two), "negative or too large");
  expect_says(error(pickled::tensor("0", 2, {2, 2}, {1}), two), "2 sizes and 1 strides");
  expect_says(error(pickled::tensor("0", -2, {2}, {1}), two), "a storage cannot have -2 elements");
  expect_says(error(pickled::tensor("0", std::numeric_limits<int64_t>::max(), {2}, {1}), two), "a storage cannot have");
  expect_says(error(pickled::tensor("0", 2, std::vector<int64_t>(65, 1), std::vector<int64_t>(65, 1)), two), "65 dims");
}

TEST_F(Pickle, P038_DepthIsLimited) {
  const auto nested = [](std::size_t n) { return std::string(n, ']') + std::string(n - 1, 'a'); };
  EXPECT_EQ(read(nested(1000)).items.size(), 1u);
  expect_says(error(nested(1002)), "nest deeper than 1000");
  expect_says(error(nested(100'000)), "nest deeper than 1000");
  expect_says(error("(]q\0h\0a"s + std::string(2000, 'N') + "t"), "nest deeper than 1000");  // a list that has itself
  expect_says(error("]q\0h\0a"s), "more values than its length allows");
}

TEST_F(Pickle, P038_SizesAreLimitedByTheLength) {
  // Each list has the one before it twice: a few bytes a doubling.
  std::string laughs = "(]q\0"s;
  for (int i = 1; i < 60; i++) laughs += "](h" + le<uint8_t>(i - 1) + "h" + le<uint8_t>(i - 1) + "eq" + le<uint8_t>(i);
  expect_says(error(laughs + "t"), "more values than its length allows");
  // A long list of pairs made a dict again and again, and a long string used again and again.
  std::string pairs = "](";
  for (int i = 0; i < 2000; i++) pairs += "NN\x86";
  pairs += "eq\0"s + global("collections", "OrderedDict") + "q\1";
  for (int i = 0; i < 2000; i++) pairs += "h\1h\0\x85R"s;
  expect_says(error(pairs), "more items than its length allows");
  std::string strings = "](" + string(std::string(10'000, 'x')) + "q\0"s;
  for (int i = 0; i < 100'000; i++) strings += "h\0"s;
  expect_says(error(strings + "e"), "longer than its length allows");
}

TEST_F(Pickle, TheContainerIsChecked) {
  expect_says(user_error([&] { (void)read_torch_save(archive(zip({{"archive/version", "3"}}))); }),
              "it has no entry 'archive/data.pkl'");
  expect_says(user_error([&] { (void)read_torch_save(archive(zip({{"a/data.pkl", program("N")}, {"a/byteorder", "big"}}))); }),
              "expected little, found 'big'");
  expect_says(user_error([&] { (void)read_torch_save(archive(zip({}))); }), "it has no entries");
}

TEST_F(Pickle, NamesForeignClasses) {
  EXPECT_EQ(foreign_class(archive(torch_save(global("torch._tensor", "_rebuild_from_type_v2") + global("a.b", "C")))), "a.b.C");
  EXPECT_EQ(foreign_class(archive(torch_save(global("torch._tensor", "_rebuild_from_type_v2")))),
            "torch._tensor._rebuild_from_type_v2");
  EXPECT_EQ(foreign_class(archive(torch_save(global("torch._utils", "_rebuild_tensor_v2") + "\xff"))), "");
}

}  // namespace
}  // namespace ingot
