// Files of tensors: what is written reads back, whatever the dtype and the strides, and nothing
// half-written stays.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "ingot/npy.hpp"
#include "io/file.hpp"
#include "io/safetensors.hpp"
#include "unit/io_fixture.hpp"

namespace ingot {
namespace {

constexpr DType kEveryDType[] = {DType::u8,       DType::i8,     DType::i16, DType::i32,  DType::i64, DType::f16,
                                 DType::f32,      DType::f64,    DType::c64, DType::c128, DType::b8,  DType::bf16,
                                 DType::f8e4m3fn, DType::f8e5m2, DType::u16, DType::u32,  DType::u64};
static_assert(std::size(kEveryDType) == kDTypes);

bool in_safetensors(DType t) { return t != DType::c128; }
bool in_numpy(DType t) { return t != DType::bf16 && t != DType::f8e4m3fn && t != DType::f8e5m2; }

// Dense, 0-dim, empty, transposed, sliced with an offset, expanded, with ones in between.
std::vector<std::pair<std::string, Tensor>> shapes_of(DType dtype) {
  const Tensor base = counting_tensor({3, 4, 5}, dtype);
  return {{"dense", base},
          {"scalar", counting_tensor({}, dtype)},
          {"empty", counting_tensor({2, 0, 3}, dtype)},
          {"one", counting_tensor({1}, dtype)},
          {"six_dims", counting_tensor({1, 2, 1, 3, 1, 2}, dtype)},
          {"transposed", strided(base, {5, 4, 3}, {1, 5, 20})},
          {"sliced", strided(base, {2, 2, 3}, {20, 10, 2}, 20)},
          {"expanded", strided(base, {4, 5}, {0, 1}, 5)},
          {"element", strided(base, {}, {}, 59)}};
}

class IoDTypes : public IoTest, public ::testing::WithParamInterface<DType> {};
INSTANTIATE_TEST_SUITE_P(Every, IoDTypes, ::testing::ValuesIn(kEveryDType),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(IoDTypes, SafetensorsRoundTrip) {
  const auto tensors = shapes_of(GetParam());
  const std::string file = path("t.safetensors");
  if (!in_safetensors(GetParam())) {
    EXPECT_NE(user_error([&] { save_safetensors(file, tensors); }).find("use npy"), std::string::npos);
    EXPECT_EQ(files(), 0u);
    return;
  }
  save_safetensors(file, tensors);
  const SafeTensors opened = SafeTensors::open(file);
  EXPECT_EQ(opened.names().size(), tensors.size());
  for (const auto& [name, tensor] : tensors) {
    SCOPED_TRACE(name);
    const Tensor got = opened.get(name);
    EXPECT_TRUE(got.is_contiguous());
    expect_same(got, tensor);
  }
}

TEST_P(IoDTypes, NpyRoundTrip) {
  for (const auto& [name, tensor] : shapes_of(GetParam())) {
    SCOPED_TRACE(name);
    const std::string file = path(name + ".npy");
    if (!in_numpy(GetParam())) {
      EXPECT_NE(user_error([&] { save_npy(file, tensor); }).find("save it as safetensors"), std::string::npos);
      EXPECT_EQ(files(), 0u);
      continue;
    }
    save_npy(file, tensor);
    expect_same(load_npy(file), tensor);
  }
}

TEST_P(IoDTypes, NpzRoundTrip) {
  const auto tensors = shapes_of(GetParam());
  for (const bool compress : {false, true}) {
    const std::string file = path(compress ? "c.npz" : "s.npz");
    if (!in_numpy(GetParam())) {
      const std::string message = user_error([&] { save_npz(file, tensors, compress); });
      EXPECT_NE(message.find("save it as safetensors"), message.npos) << message;
      EXPECT_EQ(files(), 0u);
      continue;
    }
    save_npz(file, tensors, compress);
    const auto got = load_npz(file);
    ASSERT_EQ(got.size(), tensors.size());
    for (const auto& [name, tensor] : got) {
      SCOPED_TRACE(name);
      const auto want = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.first == name; });
      ASSERT_NE(want, tensors.end());
      expect_same(tensor, want->second);
    }
  }
}

using Safetensors = IoTest;

TEST_F(Safetensors, BytesAreThoseOfTheFormatInAnyOrderOfTensors) {
  const Tensor a = counting_tensor({2}, DType::f32), b = counting_tensor({3}, DType::u8);
  const Tensor c = counting_tensor({1}, DType::i64);
  save_safetensors(path("1"), {{"b", b}, {"a", a}, {"c", c}}, {{"k", "v"}, {"format", "pt"}});
  save_safetensors(path("2"), {{"c", c}, {"b", b}, {"a", a}}, {{"format", "pt"}, {"k", "v"}});
  const std::string header =
      R"({"__metadata__":{"format":"pt","k":"v"},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]},"c":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(bytes_of(path("1")), le<uint64_t>(padded.size()) + padded + elements(c) + elements(a) + elements(b));
  EXPECT_EQ(bytes_of(path("1")), bytes_of(path("2")));
}

TEST_F(Safetensors, NamesAndMetadataKeepAnyText) {
  const std::string odd = "a\"\\\n\x01ü 漢/.";
  const Tensor x = counting_tensor({2}, DType::f16);
  save_safetensors(path("t"), {{odd, x}, {"", x}}, {{odd, odd}});
  const SafeTensors f = SafeTensors::open(path("t"));
  EXPECT_EQ(f.names(), (std::vector<std::string>{"", odd}));
  EXPECT_TRUE(f.contains(odd));
  EXPECT_FALSE(f.contains("a"));
  EXPECT_EQ(f.metadata().at(odd), odd);
}

TEST_F(Safetensors, AnEmptyFileOfTensorsIsOne) {
  save_safetensors(path("t"), {});
  EXPECT_TRUE(SafeTensors::open(path("t")).names().empty());
  save_safetensors(path("t"), {}, {{"only", "metadata"}});
  EXPECT_EQ(SafeTensors::open(path("t")).metadata().size(), 1u);
}

TEST_F(Safetensors, TensorsOutliveTheFileObjectAndWritesStayPrivate) {
  const Tensor x = counting_tensor({4}, DType::i32);
  save_safetensors(path("t"), {{"x", x}});
  const std::string before = bytes_of(path("t"));
  Tensor first, second;
  {
    const SafeTensors f = SafeTensors::open(path("t"));
    first = f.get("x");
    second = f.get("x");
  }
  first.data<int32_t>()[0] = -1;
  EXPECT_EQ(second.data<int32_t>()[0], -1);  // one name, one storage
  EXPECT_EQ(first->storage.get(), second->storage.get());
  EXPECT_EQ(bytes_of(path("t")), before);
  expect_same(SafeTensors::open(path("t")).get("x"), x);
}

TEST_F(Safetensors, AFileMayBeReplacedWhileItsTensorsLive) {
  const Tensor x = counting_tensor({1000}, DType::f64);
  save_safetensors(path("t"), {{"x", x}});
  const Tensor mapped = SafeTensors::open(path("t")).get("x");
  save_safetensors(path("t"), {{"x", mapped}, {"y", counting_tensor({1}, DType::u8)}});
  expect_same(mapped, x);
  expect_same(SafeTensors::open(path("t")).get("x"), x);
}

TEST_F(Safetensors, MisalignedBytesAreCopied) {
  const std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}} )";
  for (std::size_t pad = 0; pad < 8; pad++) {
    const std::string padded = header + std::string(pad, ' ');
    const std::string file = put("t", le<uint64_t>(padded.size()) + padded + le(1.5f) + le(-2.0f));
    const Tensor x = SafeTensors::open(file).get("x");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data_ptr()) % 4, 0u);
    EXPECT_EQ(x.data<float>()[0], 1.5f);
    EXPECT_EQ(x.data<float>()[1], -2.0f);
  }
}

TEST_F(Safetensors, ManyThreadsMayRead) {
  save_safetensors(path("t"), {{"x", counting_tensor({64}, DType::f32)}, {"y", counting_tensor({3}, DType::b8)}});
  const SafeTensors f = SafeTensors::open(path("t"));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; i++)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; k++) EXPECT_EQ(f.get(k % 2 ? "x" : "y").dim(), 1);
    });
  for (auto& t : threads) t.join();
}

TEST_F(Safetensors, WhatCannotBeWrittenSaysWhy) {
  const Tensor x = counting_tensor({2}, DType::f32);
  const auto says = [&](const std::vector<std::pair<std::string, Tensor>>& tensors, std::string_view part) {
    const std::string message = user_error([&] { save_safetensors(path("t"), tensors); });
    EXPECT_NE(message.find(part), message.npos) << message;
    EXPECT_NE(message.find(path("t")), message.npos) << message;
    EXPECT_EQ(files(), 0u);
  };
  says({{"x", x}, {"x", x}}, "two tensors are named 'x'");
  says({{"x", Tensor()}}, "undefined");
  says({{"x", make_tensor(Geometry::contiguous({2}, DType::f32), {}, true)}}, "fake");
  says({{"__metadata__", x}}, "kept for metadata");
  says({{"\xff", x}}, "not UTF-8");
  EXPECT_NE(user_error([&] { save_safetensors(path("no/such/folder"), {{"x", x}}); }).find("No such file"), std::string::npos);
  EXPECT_NE(user_error([&] { (void)SafeTensors::open(path("t")); }).find("No such file"), std::string::npos);
}

using Files = IoTest;

TEST_F(Files, AFullDiskLeavesTheOldFileAndNoOther) {
  const Tensor small = counting_tensor({2}, DType::f32), large = counting_tensor({100'000}, DType::f32);
  save_safetensors(path("t"), {{"x", small}});
  save_npy(path("t.npy"), small);
  save_npz(path("t.npz"), {{"x", small}});
  // A limit on file sizes fails as a full disk does, in the middle of a write.
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  struct rlimit low = old;
  low.rlim_cur = 65536;
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  std::string messages[3];
  messages[0] = user_error([&] { save_safetensors(path("t"), {{"x", large}}); });
  messages[1] = user_error([&] { save_npy(path("t.npy"), large); });
  messages[2] = user_error([&] { save_npz(path("t.npz"), {{"x", large}}); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  ::signal(SIGXFSZ, handler);
  for (const std::string& m : messages) EXPECT_NE(m.find("cannot write"), m.npos) << m;
  EXPECT_EQ(files(), 3u);
  expect_same(SafeTensors::open(path("t")).get("x"), small);
  expect_same(load_npy(path("t.npy")), small);
  expect_same(load_npz(path("t.npz")).at(0).second, small);
}

TEST_F(Files, OnlyRegularFilesAreReplaced) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("nowhere", path("dangling").c_str()), 0);
  std::filesystem::create_directory(path("folder"));
  for (const char* name : {"pipe", "dangling", "folder"}) {
    const std::string error = user_error([&] { PendingFile(path(name)).commit(); });
    EXPECT_NE(error.find("cannot write " + path(name)), error.npos) << error;
  }
  EXPECT_TRUE(std::filesystem::is_fifo(path("pipe")));
}

TEST_F(Files, ALinkStaysALinkAndAFileKeepsItsMode) {
  std::filesystem::create_directory(path("far"));
  const std::string file = put("far/file", "old");
  ASSERT_EQ(::chmod(file.c_str(), 0640), 0);
  ASSERT_EQ(::symlink("far/file", path("link").c_str()), 0);
  PendingFile pending(path("link"));
  pending.write("new");
  pending.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(bytes_of(file), "new");
  struct stat info;
  ASSERT_EQ(::stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777u, 0640u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("far")), {}), 1);
}

// Nobody's file is removed, whatever its name: the temporary one is made where no file is.
TEST_F(Files, OnlyItsOwnTemporaryFileIsRemoved) {
  std::string next;
  {
    PendingFile first(path("x"));
    first.write("1");
    for (const auto& e : std::filesystem::directory_iterator(path(""))) next = e.path().filename();
  }
  EXPECT_TRUE(std::filesystem::is_empty(path("")));
  const std::size_t dash = next.rfind('-');
  const int number = std::stoi(next.substr(dash + 1));
  const std::string foreign = put(text(next.substr(0, dash + 1), number + 1, ".tmp"), "not ours");
  {
    PendingFile abandoned(path("x"));
    abandoned.write("2");
  }
  { PendingFile never_written(path("x")); }
  EXPECT_EQ(bytes_of(foreign), "not ours");
  PendingFile last(path("x"));
  last.write("3");
  last.commit();
  EXPECT_EQ(bytes_of(path("x")), "3");
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& p : {path("pipe"), path("."), std::string("/dev/null"), path("missing")}) {
    user_error([&] { (void)SafeTensors::open(p); });
    user_error([&] { (void)load_npy(p); });
    user_error([&] { (void)load_npz(p); });
  }
  EXPECT_NE(user_error([&] { save_npy(path("."), counting_tensor({2}, DType::f32)); }).find("cannot write"), std::string::npos);
}

using Numpy = IoTest;

TEST_F(Numpy, BytesAreNumpys) {
  save_npy(path("a.npy"), counting_tensor({2, 3}, DType::f32));
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_EQ(bytes_of(path("a.npy")).substr(0, 128),
            std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(117 - header.size(), ' ') + "\n");
  save_npy(path("b.npy"), counting_tensor({3}, DType::b8));
  const auto starts = [&](const char* file, const char* dict) { return bytes_of(path(file)).find(dict) == 10; };
  EXPECT_TRUE(starts("b.npy", "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), } "));
  save_npy(path("c.npy"), counting_tensor({}, DType::c64));
  EXPECT_TRUE(starts("c.npy", "{'descr': '<c8', 'fortran_order': False, 'shape': (), } "));
}

TEST_F(Numpy, OtherSpellingsOfAHeader) {
  const std::string data = le(1.0f) + le(2.0f);
  for (const auto& bytes : {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", data, 2),
                            npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", data, 3),
                            npy("{\"shape\":(2L,),\"descr\":\"=f4\",\"fortran_order\":False}  \n", data),
                            npy("{'descr': 'f4', 'fortran_order': True, 'shape': (2,), }\n", data)}) {
    const Tensor t = load_npy(put("t.npy", bytes));
    EXPECT_TRUE(t.sizes().same({2}));
    EXPECT_EQ(t.data<float>()[1], 2.0f);
  }
  const std::string one_byte = npy("{'descr': '>i1', 'fortran_order': False, 'shape': (1,)}", "x");
  EXPECT_EQ(load_npy(put("t.npy", one_byte)).dtype(), DType::i8);
}

TEST_F(Numpy, FortranOrderIsAStridedView) {
  std::string data;
  for (int i = 0; i < 6; i++) data += le(i);
  const Tensor t = load_npy(put("f.npy", npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", data)));
  EXPECT_TRUE(t.sizes().same({2, 3}));
  EXPECT_TRUE(t.strides().same({1, 2}));
  EXPECT_EQ(elements(t), le(0) + le(2) + le(4) + le(1) + le(3) + le(5));
}

TEST_F(Numpy, WritesStayPrivate) {
  save_npy(path("a.npy"), counting_tensor({2}, DType::i32));
  const std::string before = bytes_of(path("a.npy"));
  load_npy(path("a.npy")).data<int32_t>()[0] = 7;
  EXPECT_EQ(bytes_of(path("a.npy")), before);
}

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return out;
}

// What savez_compressed writes: zip64 fields in the local headers, none in the directory.
constexpr std::string_view kCompressedByPython =
    "504b03042d0000000800000021004efb2075ffffffffffffffff05001400782e6e707901001000900000000000000053000000000000009b"
    "ec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a"
    "463a0a469a3a0ab50a64032e0686067b060606072002e2060700504b03042d00000008000000210016938cbbffffffffffffffff05001400"
    "792e6e707901001000830000000000000047000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e9364a8aea3a09e965f"
    "54529498179f5f94920a12774bcc294e058a17672416a402f91ac63a9a3a0ab50a14002e46064600504b01022d032d000000080000002100"
    "4efb20755300000090000000050000000000000000000000800100000000782e6e7079504b01022d032d00000008000000210016938cbb47"
    "0000008300000005000000000000000000000080018a000000792e6e7079504b0506000000000200020066000000080100000000";

TEST_F(Numpy, ReadsWhatPythonCompressed) {
  const auto arrays = load_npz(put("t.npz", unhex(kCompressedByPython)));
  ASSERT_EQ(arrays.size(), 2u);
  EXPECT_EQ(arrays[0].first, "x");
  EXPECT_TRUE(arrays[0].second.sizes().same({2, 2}));
  EXPECT_EQ(elements(arrays[0].second), le(1.0f) + le(2.0f) + le(3.0f) + le(4.0f));
  EXPECT_EQ(arrays[1].first, "y");
  EXPECT_EQ(elements(arrays[1].second), std::string("\1\0\1", 3));
}

TEST_F(Numpy, NpzIsDeterministicAndMayBeEmpty) {
  const Tensor a = counting_tensor({300}, DType::f32), b = counting_tensor({2}, DType::i64);
  for (const bool compress : {false, true}) {
    save_npz(path("1.npz"), {{"a", a}, {"b", b}}, compress);
    save_npz(path("2.npz"), {{"b", b}, {"a", a}}, compress);
    EXPECT_EQ(bytes_of(path("1.npz")), bytes_of(path("2.npz")));
  }
  save_npz(path("e.npz"), {});
  EXPECT_TRUE(load_npz(path("e.npz")).empty());
  EXPECT_EQ(files(), 3u);
}

}  // namespace
}  // namespace ingot
