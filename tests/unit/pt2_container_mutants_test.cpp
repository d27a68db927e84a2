// Archives that were damaged in known places: what must become of each is known, within two seconds
// and a gigabyte (P200, P202 of the pt2 format's description).
#include <filesystem>
#include <limits>

#include "unit/pt2_container_hostile.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

struct Mutant {
  std::string name, bytes;
  Fate fate = Fate::refused;
  std::string says = {};  // part of the message
};

void add_truncations(std::vector<Mutant>& out) {
  const std::string whole = base().bytes();
  for (int i = 0; i < 40; i++) {
    const std::size_t n = whole.size() * static_cast<std::size_t>(i) / 40;
    out.push_back({text("cut_", n), whole.substr(0, n)});
  }
  for (const std::size_t n : {1, 2, 21, 22, 23}) out.push_back({text("cut_last_", n), whole.substr(0, whole.size() - n)});
  for (const std::size_t n : {1, 22, 70'000})
    out.push_back({text("tail_", n), whole + std::string(n, '\0'), Fate::refused, "no zip archive"});
  out.push_back({"cut_first", whole.substr(1)});
}

// Bits of what is read: the checksum tells.
void add_flips(std::vector<Mutant>& out) {
  const char* const read[] = {"archive_format",
                              "models/model.json",
                              "data/weights/model_weights_config.json",
                              "data/constants/model_constants_config.json",
                              "data/weights/weight_0",
                              "data/weights/weight_1",
                              "data/constants/tensor_0"};
  for (uint64_t i = 0; i < 42; i++) {
    Pt2Entries e = base();
    ZipEntry& x = find(e, read[i % 7]);
    const std::size_t bit = scramble(i) % (x.content.size() * 8);
    x.content[bit / 8] ^= static_cast<char>(1 << bit % 8);
    out.push_back({text("flip_", i), e.bytes(), Fate::refused, "its CRC is"});
  }
  // Dates, attributes and the copies in local headers mean nothing.
  for (uint16_t date : {0, 1, 0xFFFF}) {
    Pt2Entries e = base();
    for (ZipEntry& x : e.all) x.date = date;
    out.push_back({text("date_", date), e.bytes(), Fate::harmless});
  }
  Pt2Entries hidden = base();
  for (ZipEntry& x : hidden.all) x.hides_sizes = true;
  out.push_back({"descriptors", hidden.bytes(), Fate::harmless});
  out.push_back({"comment", base().bytes({.comment = "made by hand"}), Fate::harmless});
  out.push_back({"zip64", base().bytes({.zip64 = true}), Fate::harmless});
  out.push_back({"zip64_full", base().bytes({.zip64 = true, .full = true}), Fate::harmless});
}

void add_counts(std::vector<Mutant>& out) {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const std::pair<const char*, ZipEnd> ends[] = {{"count_more", {.count = 1}},
                                                 {"count_less", {.count = -1}},
                                                 {"count_many", {.count = 60'000}},
                                                 {"size_more", {.size = 1}},
                                                 {"size_less", {.size = -1}},
                                                 {"size_huge", {.size = 0x7FFFFFFF}},
                                                 {"place_more", {.offset = 1}},
                                                 {"place_less", {.offset = -1}},
                                                 {"place_huge", {.offset = 0x7FFFFFFF}},
                                                 {"full_alone", {.full = true}},
                                                 {"count64", {.zip64 = true, .full = true, .count64 = 1}},
                                                 {"count64_million", {.zip64 = true, .full = true, .count64 = 1'000'000}},
                                                 {"count64_huge", {.zip64 = true, .full = true, .count64 = kHuge}},
                                                 {"count64_negative", {.zip64 = true, .full = true, .count64 = -100}},
                                                 {"size64_huge", {.zip64 = true, .full = true, .size64 = kHuge}},
                                                 {"size64_negative", {.zip64 = true, .full = true, .size64 = -kHuge}},
                                                 {"place64_huge", {.zip64 = true, .full = true, .offset64 = kHuge}},
                                                 {"place64_negative", {.zip64 = true, .full = true, .offset64 = -kHuge}},
                                                 {"record64_huge", {.zip64 = true, .record64 = kHuge}},
                                                 {"record64_negative", {.zip64 = true, .record64 = -kHuge}},
                                                 {"record64_off", {.zip64 = true, .record64 = 3}},
                                                 {"disagree_count", {.zip64 = true, .count64 = 1}},
                                                 {"disagree_size", {.zip64 = true, .size64 = 1}},
                                                 {"disagree_place", {.zip64 = true, .offset64 = 1}}};
  for (const auto& [name, end] : ends) out.push_back({name, base().bytes(end)});
}

void add_names(std::vector<Mutant>& out) {
  int i = 0;
  for (const std::string& name :
       {"../../etc/passwd"s, "archive/../x"s, "/etc/passwd"s, "archive//x"s, "archive/./x"s, "archive\\x"s, "C:/x"s,
        "archive/x\0y"s, ""s, "/"s, "archive/.."s, "archive/../"s, "elsewhere/x"s, "x"s, std::string(5000, 'n'),
        "archive/"s + std::string(60'000, 'n'), "archive/"s}) {
    Pt2Entries e = base();
    e.all.emplace_back(name, name == "archive/" ? "x" : "");
    out.push_back({text("name_", i++), e.bytes()});
  }
  for (const ZipEntry& x : base().all) {
    Pt2Entries e = base();
    e.all.push_back(x);
    out.push_back({text("twice_", i++), e.bytes(), Fate::refused, "is there twice"});
  }
  // Paths in the configs are names in the archive, and never open a file.
  for (const std::string path : {"../weight_0", "/etc/hostname", "../../../../etc/hostname", "a/b", ""}) {
    std::vector<Payload> weights = kWeights;
    weights[0].file = path;
    out.push_back({text("path_", i++), base().set("data/weights/model_weights_config.json", config(weights)).bytes(),
                   Fate::refused, "without '/'"});
  }
}

void add_entries_that_lie(std::vector<Mutant>& out) {
  const std::vector<std::pair<const char*, void (*)(ZipEntry&)>> lies = {
      {"crc", [](ZipEntry& x) { x.crc++; }},
      {"size", [](ZipEntry& x) { x.size++; }},
      {"size_less", [](ZipEntry& x) { x.size--; }},
      {"size_huge", [](ZipEntry& x) { x.size = 0xFFFFFFF0; }},
      {"packed_huge", [](ZipEntry& x) { x.packed = x.size = 0x7FFFFFFF; }},
      {"full", [](ZipEntry& x) { x.packed = x.size = 0xFFFFFFFF; }},
      {"offset", [](ZipEntry& x) { x.offset = 1; }},
      {"offset_huge", [](ZipEntry& x) { x.offset = 0x7FFFFFFF; }},
      {"method", [](ZipEntry& x) { x.method = 99; }},
      {"deflated", [](ZipEntry& x) { x.method = 8; }},
      {"deflated_bomb",
       [](ZipEntry& x) {
         x.method = 8;
         x.size = 0xFFFFFFF0;
       }},
      {"encrypted", [](ZipEntry& x) { x.flags = 1; }},
      {"disk", [](ZipEntry& x) { x.disk = 1; }},
      {"extra_cut", [](ZipEntry& x) { x.central_extra = le<uint16_t>(1) + le<uint16_t>(100); }},
      {"extra64_huge",
       [](ZipEntry& x) {
         x.central_extra = le<uint16_t>(1) + le<uint16_t>(16) + le(~uint64_t{0}) + le(~uint64_t{0});
         x.packed = x.size = 0xFFFFFFFF;
       }},
      {"swallows_next", [](ZipEntry& x) { x.packed = x.size += 10; }},
  };
  for (const char* const name : {"models/model.json", "data/weights/weight_0"})
    for (const auto& [what, lie] : lies) {
      Pt2Entries e = base();
      lie(find(e, name));
      out.push_back({text(what, "_", name), e.bytes()});
    }
}

void add_bombs(std::vector<Mutant>& out) {
  const auto with = [](const ZipEntry& x) {
    Pt2Entries e = base();
    std::erase_if(e.all, [&](const ZipEntry& y) { return y.name == x.name; });
    e.all.push_back(x);
    return e.bytes();
  };
  for (const char* const name : {"archive/models/model.json", "archive/data/weights/model_weights_config.json",
                                 "archive/archive_format", "archive/byteorder"})
    out.push_back({text("bomb_", name), with(deflated_entry(name, std::string(64 << 20, ' '))), Fate::refused, "bytes"});
  ZipEntry small = deflated_entry("archive/models/model.json", std::string(64 << 20, ' '));
  small.size = 1000;
  out.push_back({"bomb_says_little", with(small), Fate::refused, "more than the 1000 bytes"});
  out.push_back({"bomb_sample_inputs", with(deflated_entry("archive/data/sample_inputs/model.pt", std::string(64 << 20, ' '))),
                 Fate::harmless});
  out.push_back({"deflated_program", with(deflated_entry("archive/models/model.json", program_text(kSpecs))), Fate::harmless});
}

void add_shapes(std::vector<Mutant>& out) {
  constexpr int64_t kHuge = int64_t{1} << 62, kLast = std::numeric_limits<int64_t>::max(),
                    kLeast = std::numeric_limits<int64_t>::min();
  const std::vector<Meta> lies = {{.sizes = {5, 1}, .strides = {1, 1}},
                                  {.sizes = {2, 2}, .strides = {3, 1}},
                                  {.sizes = {2, 2}, .strides = {2, 2}},
                                  {.sizes = {4, 1}, .strides = {1, 1}, .offset = 1},
                                  {.offset = 100},
                                  {.offset = kLast},
                                  {.offset = -1},
                                  {.offset = kLeast},
                                  {.sizes = {kHuge}},
                                  {.sizes = {kLast}},
                                  {.sizes = {-1}},
                                  {.sizes = {kLeast}},
                                  {.sizes = {kLast, kLast}, .strides = {1, 1}},
                                  {.sizes = {kLast, 0, kLast}, .strides = {1, 1, 1}},
                                  {.sizes = {1 << 20, 1 << 20}, .strides = {0, 0}},
                                  {.strides = {kLast}},
                                  {.strides = {-1}},
                                  {.strides = {kLeast}},
                                  {.sizes = {2, 2}},
                                  {.sizes = {}, .strides = {1}},
                                  {.sizes = std::vector<int64_t>(70, 1), .strides = std::vector<int64_t>(70, 1)},
                                  {.dtype = 0},
                                  {.dtype = 9},
                                  {.dtype = 14},
                                  {.dtype = 31},
                                  {.dtype = -1},
                                  {.dtype = 1 << 30},
                                  {.dtype = 8, .offset = 1},
                                  {.dtype = 11, .offset = 1},
                                  {.layout = 0},
                                  {.layout = 1},
                                  {.layout = 8},
                                  {.layout = -7}};
  for (std::size_t i = 0; i < lies.size(); i++) {
    std::vector<Payload> weights = kWeights;
    weights[0].meta = lies[i];
    // An expanded tensor of any size needs one element: the one shape here that may be true.
    const bool true_one = lies[i].strides == std::vector<int64_t>{0, 0};
    out.push_back({text("shape_", i), base().set("data/weights/model_weights_config.json", config(weights)).bytes(),
                   true_one ? Fate::harmless : Fate::refused});
  }
}

// Every field of the config with every other kind of value.
void add_config_values(std::vector<Mutant>& out) {
  const std::pair<std::string, std::string> fields[] = {{"path_name", R"("weight_0")"},
                                                        {"is_param", "true"},
                                                        {"use_pickle", "false"},
                                                        {"dtype", "7"},
                                                        {"sizes", int_list({2, 2})},
                                                        {"requires_grad", "true"},
                                                        {"device", R"({"type": "cpu", "index": null})"},
                                                        {"strides", int_list({2, 1})},
                                                        {"storage_offset", R"({"as_int": 0})"},
                                                        {"layout", "7"}};
  const char* const values[] = {
      "null", "true", R"("x")", "-1", "1e300", "[]", "{}", "18446744073709551615", "[[[]]]", R"({"as_int": {}})"};
  const std::string whole = config(kWeights);
  for (const auto& [field, value] : fields) {
    const std::string key = text("\"", field, "\": ");
    for (std::size_t i = 0; i < std::size(values); i++) {
      if (value == values[i]) continue;
      std::string changed = whole;
      changed.replace(changed.find(key) + key.size(), value.size(), values[i]);
      // Devices are not looked at; a name that is not in the archive is a weight that was left out;
      // null is no pickle.
      const bool other_name = field == "path_name" && values[i] == R"("x")"s,
                 no_pickle = field == "use_pickle" && values[i] == "null"s;
      const bool harmless = field == "device" || other_name || no_pickle;
      out.push_back({text("value_", field, "_", i), base().set("data/weights/model_weights_config.json", changed).bytes(),
                     harmless ? Fate::harmless : Fate::refused});
    }
    if (field == "device" || field == "use_pickle") continue;
    std::string gone = whole;
    gone.replace(gone.find(key), key.size(), "\"other\": ");
    out.push_back({"without_" + field, base().set("data/weights/model_weights_config.json", gone).bytes(), Fate::refused,
                   text("field ", field, " is missing")});
  }
}

// An archive whose program has a list of so many zeros in the place of another list.
std::string with_many(std::string_view field, int n) {
  std::string program = program_text(kSpecs), zeros = "[0";
  for (int i = 1; i < n; i++) zeros += ",0";
  const std::string key = text("\"", field, "\": [");
  program.replace(program.find(key), key.size(), text("\"", field, "\": ", zeros, "], \"old_", field, "\": ["));
  return base().set("models/model.json", program).bytes();
}

void add_json(std::vector<Mutant>& out) {
  const auto nested = [](std::size_t n, const std::string& open, const std::string& close) {
    std::string s;
    for (std::size_t i = 0; i < n; i++) s += open;
    s += "0";
    for (std::size_t i = 0; i < n; i++) s += close;
    return s;
  };
  const std::pair<const char*, std::string> texts[] = {
      {"empty", ""},
      {"null", "null"},
      {"list", "[]"},
      {"number", "1"},
      {"open", "{"},
      {"word", "nonsense"},
      {"zeros", std::string(1000, '\0')},
      {"not_utf8", "{\"\xff\xfe\": 1}"},
      {"two_keys", R"({"config": {}, "config": {}, "schema_version": 1, "schema_version": 1})"},
      {"empty_object", "{}"},
      {"deep_lists", nested(2000, "[", "]")},
      {"deep_objects", nested(2000, R"({"config": )", "}")},
      {"deeper", nested(300'000, "[", "]")},
      {"unclosed", std::string(1'000'000, '[')},
      {"trailing", "{} {}"},
      {"huge_number", R"({"config": 1e999999})"},
      {"long_string", "\"" + std::string(3'000'000, 'x') + "\""}};
  int i = 0;
  for (const char* const entry :
       {"models/model.json", "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"})
    for (const auto& [name, content] : texts)
      out.push_back({text("json_", name, "_", i++), base().set(entry, content).bytes(), Fate::refused, entry});
  for (const char* const field : {"nodes", "inputs", "outputs", "input_specs", "verifiers", "module_call_graph"})
    out.push_back({text("json_many_", field), with_many(field, 10'000), Fate::refused, field});
  // Unknown operators are known when the program runs, all of them.
  for (const std::string target : {"torch.ops.mine.magic.default", "torch.ops.aten.add.Nothing", "os.system", "", "torch.ops.",
                                   "torch.ops.aten", "torch.ops.higher_order.flex"})
    out.push_back({text("op_", i++), base().set("models/model.json", program_text(kSpecs, target)).bytes(), Fate::fails});
}

void add_pickles(std::vector<Mutant>& out) {
  using namespace pickled;
  const std::string t = pickled::tensor("0", 2, {2}, {1});
  std::string laughs = "(]q\0"s;
  for (int i = 1; i < 200; i++) laughs += "](h" + le<uint8_t>(i - 1) + "h" + le<uint8_t>(i - 1) + "eq" + le<uint8_t>(i);
  const std::pair<const char*, std::string> values[] = {
      {"system", call("os", "system", {string("touch /tmp/harm")})},
      {"eval", call("builtins", "eval", {string("1")})},
      {"inst", "(ios\nsystem\n"},
      {"obj", "(o"},
      {"newobj", ")\x81"},
      {"ext", "\x82\x01"},
      {"frame", "\x95"s + le<uint64_t>(8)},
      {"persid", "P1\n"},
      {"global_long", global(std::string(100'000, 'm'), "n")},
      {"laughs", laughs + "t"},
      {"deep", std::string(100'000, ']') + std::string(99'999, 'a')},
      {"cycle", "]q\0h\0a"s},
      {"marks", std::string(1'000'000, '(')},
      {"nones", "(" + std::string(3'000'000, 'N') + "t"},
      {"lists", std::string(3'000'000, ']')},
      {"string_beyond", "X\xff\xff\xff\xff"},
      {"no_stop", ""},
      {"integer", integer(1)},
      {"not_tensor", dict({{"w", integer(1)}})},
      {"no_storage", dict({{"w", pickled::tensor("9", 2, {2}, {1})}})},
      {"far", dict({{"w", pickled::tensor("../../data.pkl", 2, {2}, {1})}})},
      {"short_storage", dict({{"w", pickled::tensor("0", 100, {100}, {1})}})},
      {"huge", dict({{"w", pickled::tensor("0", int64_t{1} << 62, {int64_t{1} << 60}, {1})}})},
      {"negative", dict({{"w", pickled::tensor("0", 2, {-2}, {1})}})},
      {"twice", dict({{"w", t}, {"w", t}})},
      {"key", "}(K\1" + t + "u"}};
  for (const auto& [name, value] : values) {
    Pt2Entries e = base();
    e.set("data/weights/model.pt", torch_save(value, {{"0", raw<float>({1, 2})}}));
    out.push_back({text("pickle_", name), e.bytes(), Fate::refused, "data/weights/model.pt"});
  }
  out.push_back({"pickle_no_zip", base().set("data/weights/model.pt", "junk").bytes(), Fate::refused, "data/weights/model.pt"});
  out.push_back({"pickle_samples", base().set("data/sample_inputs/model.pt", "junk").bytes(), Fate::harmless});
}

using Family = void (*)(std::vector<Mutant>&);
constexpr Family kFamilies[] = {add_truncations, add_flips,  add_counts,        add_names, add_entries_that_lie,
                                add_bombs,       add_shapes, add_config_values, add_json,  add_pickles};

class Pt2Mutants : public IoTest {
 protected:
  void expect_fates(Family family) {
    std::vector<Mutant> all;
    family(all);
    for (const Mutant& m : all) {
      SCOPED_TRACE(m.name);
      const std::string file = put("m.pt2", m.bytes);
      const Verdict v = judge(file);
      EXPECT_EQ(v.died, "");
      EXPECT_TRUE(v.fate == m.fate) << v.message;
      EXPECT_TRUE(kSanitized || v.megabytes <= 1024) << v.megabytes;
      if (m.fate == Fate::refused) {
        EXPECT_NE(v.message.find(file), std::string::npos) << v.message;
      }
      EXPECT_NE(v.message.find(m.says), std::string::npos) << v.message;
      EXPECT_LT(v.message.size(), 2000u) << "a message is for people";
    }
  }
};
TEST_F(Pt2Mutants, P202_Truncations) { expect_fates(add_truncations); }
TEST_F(Pt2Mutants, P202_BitFlips) { expect_fates(add_flips); }
TEST_F(Pt2Mutants, P202_HugeCounts) { expect_fates(add_counts); }
TEST_F(Pt2Mutants, P202_NamesAndPaths) { expect_fates(add_names); }
TEST_F(Pt2Mutants, P202_EntriesThatLie) { expect_fates(add_entries_that_lie); }
TEST_F(Pt2Mutants, P202_Bombs) { expect_fates(add_bombs); }
TEST_F(Pt2Mutants, P202_ShapesAndEnums) { expect_fates(add_shapes); }
TEST_F(Pt2Mutants, P202_WrongTypes) { expect_fates(add_config_values); }
TEST_F(Pt2Mutants, P202_JsonAndOperators) { expect_fates(add_json); }
TEST_F(Pt2Mutants, P202_Pickles) { expect_fates(add_pickles); }
// The text of a program is there once while it is read, and values are looked at one by one.
TEST_F(Pt2Mutants, P200_MemoryIsASmallMultipleOfTheFile) {
  const std::string small = put("small.pt2", base().bytes());
  for (const char* const field : {"nodes", "inputs", "verifiers", "input_specs"}) {
    const std::string file = put("many.pt2", with_many(field, 4'000'000));
    const auto megabytes = static_cast<long>(std::filesystem::file_size(file) >> 20);
    const long without = judge(small).megabytes;
    const Verdict v = judge(file);
    EXPECT_TRUE(v.fate == Fate::refused) << v.died;
    EXPECT_TRUE(kSanitized || v.megabytes - without <= 25 * megabytes) << v.megabytes - without << " MB for " << field;
  }
}

TEST_F(Pt2Mutants, P202_ThereAreThreeHundred) {
  std::size_t hostile = 0;
  for (const Family family : kFamilies) {
    std::vector<Mutant> all;
    family(all);
    for (const Mutant& m : all) hostile += m.fate != Fate::harmless;
  }
  EXPECT_GE(hostile, 300u);
}

}  // namespace
}  // namespace ingot
