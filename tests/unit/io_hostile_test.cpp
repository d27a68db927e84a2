// Files that lie: each one ends in a user error that names the file, never in a crash or a wrong
// tensor.
#include "ingot/npy.hpp"
#include "io/safetensors.hpp"
#include "unit/io_fixture.hpp"
#include "unit/zip_fixture.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

struct Hostile {
  const char* name;
  std::string bytes;
  std::string says;  // part of the message
};
void PrintTo(const Hostile& h, std::ostream* out) { *out << h.name; }

class HostileFile : public IoTest, public ::testing::WithParamInterface<Hostile> {
 protected:
  template <class Read>
  void expect_refused(Read read) {
    const std::string file = put("hostile", GetParam().bytes);
    const std::string message = user_error([&] { read(file); });
    EXPECT_NE(message.find(file), message.npos) << message;
    EXPECT_NE(message.find(GetParam().says), message.npos) << message;
  }
};
const auto kName = [](const auto& info) { return std::string(info.param.name); };

const std::string k64Ones = [] {
  std::string s;
  for (int i = 0; i < 64; i++) s += ",1";
  return s;
}();

// ---- safetensors

std::string safetensors(const std::string& header, const std::string& data = "") {
  return le<uint64_t>(header.size()) + header + data;
}
std::string tensor_entry(const std::string& fields, std::size_t bytes = 8) {
  return safetensors("{\"x\":{" + fields + "}}", std::string(bytes, '\0'));
}
std::string f32_entry(const std::string& shape, const std::string& offsets, std::size_t bytes = 8) {
  return tensor_entry("\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":" + offsets, bytes);
}
std::string two_entries(const std::string& a, const std::string& b, std::size_t bytes) {
  const auto entry = [](const std::string& offsets) {
    return "{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" + offsets + "]}";
  };
  return safetensors("{\"a\":" + entry(a) + ",\"b\":" + entry(b) + "}", std::string(bytes, '\0'));
}
const std::string kGood = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";

std::vector<Hostile> hostile_safetensors() {
  return {
      {"empty", "", "expected at least 8 bytes, found 0"},
      {"short_length", "\1\0\0"s, "found 3"},
      {"length_only", le<uint64_t>(10), "should have 10 bytes, and only 0 follow"},
      {"length_beyond", le<uint64_t>(1000) + "{}", "should have 1000 bytes"},
      {"length_huge", le<uint64_t>(~uint64_t{0}) + "{}", "18446744073709551615"},
      {"length_wraps", le<uint64_t>(~uint64_t{0} - 7) + "{}", "bytes, and only 2 follow"},
      {"length_zero", le<uint64_t>(0), "start with '{'"},
      {"not_json", safetensors("{nonsense}"), "not a JSON object"},
      {"unclosed", safetensors("{\"x\":{"), "not a JSON object"},
      {"a_list", safetensors("[1, 2]"), "start with '{'"},
      {"leading_space", safetensors(" {}"), "start with '{'"},
      {"trailing_text", safetensors("{} x"), "not a JSON object"},
      {"trailing_zeros", safetensors("{}\0\0"s), "not a JSON object"},
      {"not_utf8", safetensors("{\"\xff\xfe\":1}"), "not a JSON object"},
      {"deep", safetensors("{\"x\":" + std::string(3000, '[') + std::string(3000, ']') + "}"), "not a JSON object"},
      {"entry_number", safetensors("{\"x\":1}"), "tensor 'x': its entry should be an object, found a number"},
      {"entry_null", safetensors("{\"x\":null}"), "found null"},
      {"no_dtype", tensor_entry(R"("shape":[2],"data_offsets":[0,8])"), "tensor 'x': its entry has no field 'dtype'"},
      {"no_shape", tensor_entry(R"("dtype":"F32","data_offsets":[0,8])"), "no field 'shape'"},
      {"no_offsets", tensor_entry(R"("dtype":"F32","shape":[2])"), "no field 'data_offsets'"},
      {"two_dtypes", tensor_entry(kGood + R"(,"dtype":"F32")"), "two fields 'dtype'"},
      {"unknown_field", tensor_entry(kGood + R"(,"scale":2)"), "unknown field 'scale'"},
      {"unknown_dtype", tensor_entry(R"("dtype":"F128","shape":[2],"data_offsets":[0,8])"), "dtype 'F128' is unknown"},
      {"lower_dtype", tensor_entry(R"("dtype":"f32","shape":[2],"data_offsets":[0,8])"), "dtype 'f32' is unknown"},
      {"dtype_number", tensor_entry(R"("dtype":4,"shape":[2],"data_offsets":[0,8])"), "dtype should be a string"},
      {"shape_number", f32_entry("2", "[0,8]"), "shape should be a list"},
      {"shape_negative", f32_entry("[-2]", "[0,8]"), "found a negative number"},
      {"shape_real", f32_entry("[2.0]", "[0,8]"), "found a real number"},
      {"shape_string", f32_entry(R"(["2"])", "[0,8]"), "found a string"},
      {"shape_wraps", f32_entry("[4611686018427387904,4]", "[0,8]"), "too large"},
      {"shape_product", f32_entry("[2147483649,2147483649,4]", "[0,8]"), "more bytes than a file can have"},
      {"shape_empty_huge", f32_entry("[0,4294967296,4294967296]", "[0,0]", 0), "more bytes than a file can have"},
      {"shape_beyond_u64", f32_entry("[99999999999999999999999]", "[0,8]"), "JSON"},
      {"shape_small", f32_entry("[1]", "[0,8]"), "needs 4 bytes, and the offsets 0 to 8 give it 8"},
      {"shape_large", f32_entry("[3]", "[0,8]"), "needs 12 bytes"},
      {"many_dims", f32_entry("[1" + k64Ones + "]", "[0,4]", 4), "more than 64 dimensions"},
      {"offsets_one", f32_entry("[2]", "[8]"), "should be two numbers, found 1"},
      {"offsets_three", f32_entry("[2]", "[0,8,8]"), "two numbers, found more"},
      {"offsets_negative", f32_entry("[2]", "[-8,0]"), "found a negative number"},
      {"offsets_swapped", f32_entry("[2]", "[8,0]"), "before they begin at 8"},
      {"offsets_outside", f32_entry("[2]", "[8,16]"), "lie outside the 8 bytes"},
      {"offsets_huge", f32_entry("[2]", "[18446744073709551608,18446744073709551615]"), "lie outside"},
      {"overlap", two_entries("0,8", "4,12", 12), "tensor 'b': it starts at byte 4, inside the tensor that ends at 8"},
      {"same_bytes", two_entries("0,8", "0,8", 8), "inside the tensor"},
      {"hole", two_entries("0,8", "12,20", 20), "starts at byte 12 when it should at 8"},
      {"unused_tail", tensor_entry(kGood, 9), "the tensors have 8 bytes, and the file has 9"},
      {"unused_head", f32_entry("[2]", "[8,16]", 16), "belong to no tensor"},
      {"data_cut", tensor_entry(kGood, 7), "lie outside the 7 bytes"},
      {"two_names", tensor_entry(kGood + R"(},"x":{"dtype":"F32","shape":[0],"data_offsets":[8,8])"),
       "two tensors are named 'x'"},
      {"two_names_escaped", tensor_entry(kGood + R"(},"\u0078":{"dtype":"F32","shape":[0],"data_offsets":[8,8])"),
       "two tensors are named 'x'"},
      {"metadata_list", safetensors(R"({"__metadata__":[]})"), "metadata should be an object"},
      {"metadata_number", safetensors(R"({"__metadata__":{"k":1}})"), "metadata 'k' should be a string"},
      {"metadata_twice", safetensors(R"({"__metadata__":{"k":"a","k":"b"}})"), "metadata has two entries 'k'"},
      {"two_metadata", safetensors(R"({"__metadata__":{},"__metadata__":{}})"), "two entries '__metadata__'"},
      {"bool_two", safetensors(R"({"x":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})", "\1\0\2"s),
       "element 2 of a bool tensor is the byte 2"},
  };
}

class HostileSafetensors : public HostileFile {};
INSTANTIATE_TEST_SUITE_P(Table, HostileSafetensors, ::testing::ValuesIn(hostile_safetensors()), kName);
TEST_P(HostileSafetensors, IsRefused) {
  expect_refused([](const std::string& file) { (void)SafeTensors::open(file).get("x"); });
}

// ---- npy

std::string npy_of(const std::string& descr, const std::string& shape, std::size_t bytes) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", std::string(bytes, '\0'));
}

std::vector<Hostile> hostile_npy() {
  return {
      {"empty", "", "does not start as an npy file"},
      {"magic_only", "\x93NUMPY", "does not start as an npy file"},
      {"wrong_magic", "\x93NUMPX" + npy_of("<f4", "(2,)", 8).substr(6), "does not start as an npy file"},
      {"version_0", npy("{}", "", 0), "its version is 0.0"},
      {"version_9", npy("{}", "", 9), "its version is 9.0"},
      {"version_2_cut", npy("", "", 2).substr(0, 11), "ends inside its header"},
      {"header_beyond", npy("{}").substr(0, 8) + le<uint16_t>(60000) + "{}", "should have 60010 bytes"},
      {"header_huge", npy("", "", 2).substr(0, 8) + le<uint32_t>(0xffffffff), "has 4294967295 bytes"},
      {"no_dict", npy("hello"), "expected '{' at byte 0"},
      {"no_text", npy(""), "found its end"},
      {"unclosed", npy("{'descr': '<f4'"), "expected ',' or '}'"},
      {"no_keys", npy("{}"), "no key 'descr'"},
      {"no_order", npy("{'descr': '<f4', 'shape': ()}"), "no key 'fortran_order'"},
      {"unknown_key", npy("{'dtype': '<f4'}"), "unknown key 'dtype'"},
      {"two_keys", npy("{'descr': '<f4', 'descr': '<f4'}"), "two keys 'descr'"},
      {"open_string", npy("{'descr"), "a string that ends"},
      {"trailing", npy("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "1234"), "the end of the header"},
      {"order_number", npy("{'fortran_order': 1}"), "True or False"},
      {"big_endian", npy_of(">f4", "(2,)", 8), "big-endian"},
      {"object", npy_of("|O", "(2,)", 16), "pickled object"},
      {"unicode", npy_of("<U4", "(2,)", 32), "dtype '<U4' is unknown"},
      {"float128", npy_of("<f16", "(2,)", 32), "dtype '<f16' is unknown"},
      {"structured", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}"), "structured"},
      {"shape_list", npy_of("<f4", "[2]", 8), "expected '('"},
      {"shape_open", npy("{'shape': (2, "), "expected a size"},
      {"shape_negative", npy_of("<f4", "(-2,)", 8), "expected a size"},
      {"shape_real", npy_of("<f4", "(2.0,)", 8), "expected ',' or ')'"},
      {"shape_huge", npy_of("<f4", "(999999999999999999999999,)", 8), "too large"},
      {"shape_wraps", npy_of("<f4", "(4294967296, 4294967296)", 0), "more bytes than a file can have"},
      {"many_dims", npy_of("<f4", "(1" + k64Ones + ")", 4), "more than 64 dimensions"},
      {"data_cut", npy_of("<f4", "(2,)", 7), "needs 8 bytes, and 7 follow"},
      {"data_more", npy_of("<f4", "(2,)", 9), "needs 8 bytes, and 9 follow"},
      {"data_none", npy_of("<f4", "(1000000000000,)", 0), "needs 4000000000000 bytes"},
      {"bool_two", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\x7f"), "is the byte 127"},
  };
}

class HostileNpy : public HostileFile {};
INSTANTIATE_TEST_SUITE_P(Table, HostileNpy, ::testing::ValuesIn(hostile_npy()), kName);
TEST_P(HostileNpy, IsRefused) {
  expect_refused([](const std::string& file) { (void)load_npy(file); });
}

// ---- npz

template <class Change>
std::string zip_with(Change change) {
  ZipEntry e("x.npy", npy_of("<f4", "(2,)", 8));
  change(e);
  return zip({e});
}

std::vector<Hostile> hostile_npz() {
  const std::string array = npy_of("<f4", "(2,)", 8);
  return {
      {"empty", "", "it is empty"},
      {"text", "hello, this is no zip", "bad npz file"},
      {"npy", array, "bad npz file"},
      {"end_cut", zip({{"x.npy", array}}).substr(0, 150), "bad npz file"},
      {"not_npy_name", zip({{"x.txt", array}}), "entry 'x.txt' should be an array"},
      {"not_npy_content", zip({{"x.npy", "hello"}}), "does not start as an npy file"},
      {"no_content", zip({{"x.npy", ""}}), "does not start as an npy file"},
      {"twice", zip({{"x.npy", array}, {"x.npy", array}}), "bad npz file"},
      {"bad_crc", zip_with([](ZipEntry& e) { e.crc ^= 1; }), "CRC"},
      {"bad_byte", zip_with([](ZipEntry& e) { e.content.back() ^= 1; }), "CRC"},
      {"encrypted", zip_with([](ZipEntry& e) { e.flags = 1; }), "encrypted"},
      {"bzip2", zip_with([](ZipEntry& e) { e.method = 12; }), "neither stored (0) nor deflated (8)"},
      {"not_deflated", zip_with([](ZipEntry& e) { e.method = 8; }), "bad npz file"},
      {"stored_size", zip_with([](ZipEntry& e) { e.size += 1000; }), "cannot hold the"},
      {"stored_less", zip_with([](ZipEntry& e) { e.size -= 8; }), "cannot hold the"},
      {"size_bomb", zip_with([](ZipEntry& e) {
         e.method = 8;
         e.size = 0xfffffff0;
       }),
       "cannot hold the"},
      {"packed_beyond", zip_with([](ZipEntry& e) { e.packed = e.size = 1'000'000; }), "bad npz file"},
      {"offset_beyond", zip_with([](ZipEntry& e) { e.offset = 100'000; }), "bad npz file"},
      {"header_beyond", zip({{"x.npy", array.substr(0, 60)}}), "header should have"},
      {"data_cut", zip({{"x.npy", array.substr(0, array.size() - 1)}}), "needs 8 bytes, and 7 follow"},
      {"data_more", zip({{"x.npy", array + "x"}}), "needs 8 bytes, and 9 follow"},
      {"huge_array", zip({{"x.npy", npy_of("<f4", "(70000000000000,)", 0)}}), "needs 280000000000000 bytes"},
      {"big_endian", zip({{"x.npy", npy_of(">i4", "(2,)", 8)}}), "entry 'x.npy': the dtype '>i4' is big-endian"},
      {"bool_two", zip({{"x.npy", npy("{'descr': '|b1', 'fortran_order': False, 'shape': (1,)}", "\2")}}), "byte 2"},
  };
}

class HostileNpz : public HostileFile {};
INSTANTIATE_TEST_SUITE_P(Table, HostileNpz, ::testing::ValuesIn(hostile_npz()), kName);
TEST_P(HostileNpz, IsRefused) {
  expect_refused([](const std::string& file) { (void)load_npz(file); });
}

// The zips above are refused for their lies, not for how the test makes zips.
using HonestNpz = IoTest;
TEST_F(HonestNpz, IsRead) {
  const std::string array = npy_of("<f4", "(2,)", 8);
  EXPECT_EQ(load_npz(put("t", zip({{"x.npy", array}, {"y.npy", array}}))).size(), 2u);
}

// ---- damage of every kind at every place

class Damaged : public IoTest {
 protected:
  // Flips each bit of the file, which may read or be refused, and cuts it at every length, which
  // must be refused.
  template <class Read>
  void damage(const std::string& file, Read read) {
    const std::string good = bytes_of(file);
    read(file);
    std::size_t refused = 0;
    // In place: making ten thousand files would take longer than reading them.
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    const auto put_byte = [&](std::size_t at, char c) {
      stream.seekp(static_cast<std::streamoff>(at));
      stream.put(c).flush();
    };
    for (std::size_t bit = 0; bit < good.size() * 8; bit++) {
      const char old = good[bit / 8];
      put_byte(bit / 8, static_cast<char>(old ^ (1 << bit % 8)));
      try {
        read(file);
      } catch (const UserError&) {
        refused++;
      }
      put_byte(bit / 8, old);
    }
    EXPECT_GT(refused, 0u);
    read(file);
    for (std::size_t n = good.size(); n-- > 0;) {
      std::filesystem::resize_file(file, n);
      EXPECT_THROW(read(file), UserError) << "cut to " << n << " bytes";
    }
  }
};

// Touches every byte of a tensor, for the sanitizer to see.
void touch(const Tensor& t) { EXPECT_EQ(elements(t).size(), static_cast<std::size_t>(t.numel().number() * t.itemsize())); }

TEST_F(Damaged, Safetensors) {
  const Tensor a = counting_tensor({2, 3}, DType::f32), b = counting_tensor({5}, DType::b8);
  save_safetensors(path("t"), {{"a", a}, {"b", b}}, {{"k", "v"}});
  damage(path("t"), [](const std::string& file) {
    const SafeTensors f = SafeTensors::open(file);
    for (const std::string& name : f.names()) touch(f.get(name));
  });
}

TEST_F(Damaged, Npy) {
  save_npy(path("t"), counting_tensor({2, 3}, DType::c64));
  damage(path("t"), [](const std::string& file) { touch(load_npy(file)); });
}

TEST_F(Damaged, Npz) {
  for (const bool compress : {false, true}) {
    save_npz(path("t"), {{"a", counting_tensor({2, 3}, DType::f32)}, {"b", counting_tensor({}, DType::b8)}}, compress);
    damage(path("t"), [](const std::string& file) {
      for (const auto& [name, tensor] : load_npz(file)) touch(tensor);
    });
  }
}

}  // namespace
}  // namespace ingot
