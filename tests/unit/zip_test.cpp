// The zip container: read in place, and refused where it lies (P001 to P012 of the pt2 format's
// description).
#include <filesystem>

#include "io/crc32.hpp"
#include "io/zip.hpp"
#include "io/zip_writer.hpp"
#include "unit/io_fixture.hpp"
#include "unit/zip_fixture.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

// Bit by bit, as the checksum is defined.
uint32_t slow_crc32(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

class Zip : public IoTest {
 protected:
  ZipReader open(const std::string& bytes) { return ZipReader::open(put("z", bytes), "bad file z"); }
  std::string error(const std::string& bytes) {
    return user_error([&] { (void)open(bytes); });
  }
  std::string read_error(const std::string& bytes, std::string_view name = "a") {
    const ZipReader z = open(bytes);
    return user_error([&] { (void)z.read(name); });
  }
  static void expect_says(const std::string& message, std::string_view part) {
    EXPECT_NE(message.find(part), message.npos) << message;
    EXPECT_TRUE(message.starts_with("bad file z")) << message;
  }
  template <class Change>
  static ZipEntry entry(Change change, std::string content = "hello") {
    ZipEntry e("a", std::move(content));
    change(e);
    return e;
  }
};

TEST_F(Zip, P001_IsReadFromItsEndWithAComment) {
  for (const std::size_t n : {0u, 1u, 65535u}) {
    const ZipReader z = open(zip({{"a", "hello"}}, {.comment = std::string(n, 'c')}));
    EXPECT_EQ(z.names(), std::vector<std::string>{"a"});
    EXPECT_EQ(z.read_text("a"), "hello");
  }
  // A comment that itself looks like an end does not reach the end of the file, so the true one is
  // found.
  EXPECT_EQ(open(zip({{"a", "hello"}}, {.comment = "PK\5\6" + std::string(40, '\0') + "x"})).read_text("a"), "hello");
  // Local headers that the directory does not name are not entries.
  const std::string hidden = "PK\3\4" + ZipEntry("b", "other").fields("", false) + "bother";
  ZipEntry a = entry([&](ZipEntry& e) { e.local_extra = hidden; });
  EXPECT_EQ(open(zip({a})).names(), std::vector<std::string>{"a"});
  expect_says(error("hello"), "no zip archive");
  expect_says(error(""), "it is empty");
  expect_says(error(zip({{"a", "hello"}}) + "x"), "no zip archive");
}

TEST_F(Zip, P002_Zip64Records) {
  EXPECT_EQ(open(zip({{"a", "hello"}}, {.zip64 = true})).read_text("a"), "hello");
  EXPECT_EQ(open(zip({{"a", "hello"}}, {.comment = "c", .zip64 = true, .full = true})).read_text("a"), "hello");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .count64 = 1})),
              "disagree about the number of entries on this disk: 1 and, in ZIP64, 2");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .size64 = 1})), "disagree about the size of the directory");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .offset64 = -1})), "disagree about the place of the directory");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .record64 = 1})), "ZIP64 end record should be at byte");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .record64 = int64_t{1} << 62})), "ZIP64 end record should be at byte");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .full = true, .offset64 = int64_t{1} << 62})), "reaches behind byte");
  expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .full = true, .count64 = int64_t{1} << 62})), "are allowed");
  // The numbers of an entry: those whose short fields are full, in their order.
  const auto extra = [](const std::string& numbers) { return le<uint16_t>(1) + le<uint16_t>(numbers.size()) + numbers; };
  const auto wide = entry([&](ZipEntry& e) {
    e.central_extra = le<uint16_t>(0x7777) + le<uint16_t>(2) + "xx" + extra(le<uint64_t>(5) + le<uint64_t>(5) + le<uint64_t>(0));
    e.size = e.packed = e.offset = 0xFFFFFFFF;
  });
  EXPECT_EQ(open(zip({wide})).read_text("a"), "hello");
  const auto one = entry([&](ZipEntry& e) {
    e.central_extra = extra(le<uint64_t>(5));
    e.size = 0xFFFFFFFF;
  });
  EXPECT_EQ(open(zip({one})).read_text("a"), "hello");
  const auto all = entry([&](ZipEntry& e) { e.central_extra = extra(le<uint64_t>(5) + le<uint64_t>(5) + le<uint64_t>(0)); });
  EXPECT_EQ(open(zip({all})).read_text("a"), "hello");
  const auto liar = entry([&](ZipEntry& e) { e.central_extra = extra(le<uint64_t>(5) + le<uint64_t>(6) + le<uint64_t>(0)); });
  expect_says(error(zip({liar})), "entry 'a': two numbers disagree about its packed size: 5 and, in ZIP64, 6");
  const auto cut = entry([&](ZipEntry& e) {
    e.central_extra = extra("1234");
    e.size = 0xFFFFFFFF;
  });
  expect_says(error(zip({cut})), "ZIP64 field is too short");
  const auto twice = entry([&](ZipEntry& e) {
    e.central_extra = extra(le<uint64_t>(5)) + extra(le<uint64_t>(5));
    e.size = 0xFFFFFFFF;
  });
  expect_says(error(zip({twice})), "two ZIP64 fields");
  const auto torn = entry([&](ZipEntry& e) { e.central_extra = le<uint16_t>(1) + le<uint16_t>(80) + "x"; });
  expect_says(error(zip({torn})), "extra field 1 reaches behind");
}

TEST_F(Zip, P003_StoredAndDeflatedAndNothingElse) {
  const std::string content = std::string(5000, 'x') + "end";
  EXPECT_EQ(open(zip({deflated_entry("a", content)})).read_text("a"), content);
  EXPECT_EQ(open(zip({deflated_entry("a", "")})).read_text("a"), "");
  for (const uint16_t method : {1, 9, 12, 14, 93, 99})
    expect_says(error(zip({entry([&](ZipEntry& e) { e.method = method; })})),
                text("entry 'a': its compression method ", method, " is neither"));
  expect_says(error(zip({entry([](ZipEntry& e) { e.flags = 1; })})), "entry 'a': it is encrypted (method 0)");
  expect_says(error(zip({entry([](ZipEntry& e) {
                e.flags = 1;
                e.method = 99;
              })})),
              "entry 'a': it is encrypted (method 99)");
}

TEST_F(Zip, P004_LocalSizesAreIgnored) {
  const auto hidden = entry([](ZipEntry& e) {
    e.flags = 0x0808;
    e.hides_sizes = true;
  });
  EXPECT_EQ(open(zip({hidden, {"b", "world"}})).read_text("a"), "hello");
  // Even wrong ones: the directory is the truth.
  std::string bytes = zip({{"a", "hello"}});
  bytes.replace(14, 12, le<uint32_t>(1) + le<uint32_t>(77777) + le<uint32_t>(88888));
  EXPECT_EQ(open(bytes).read_text("a"), "hello");
}

TEST_F(Zip, P005_DataFollowsTheLocalExtraField) {
  const auto padded = entry([](ZipEntry& e) {
    e.local_extra = "FB" + le<uint16_t>(29) + std::string(29, 'Z');
    e.central_extra = le<uint16_t>(0x5455) + le<uint16_t>(1) + "x";
  });
  const std::string bytes = zip({padded});
  EXPECT_EQ(bytes.find("hello"), 64u);
  const ZipReader z = open(bytes);
  EXPECT_EQ(z.read_text("a"), "hello");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(z.read("a").data) % 64, 0u);
}

TEST_F(Zip, P005_StoredBytesAreTheFilesOwnAndMisalignedOnesAreCopied) {
  const std::string content(4096, 'x');
  const auto padded = entry([](ZipEntry& e) { e.local_extra = "FB" + le<uint16_t>(29) + std::string(29, 'Z'); }, content);
  const auto odd = [&] {
    ZipEntry e("b", content);
    return e;
  }();
  const ZipReader z = open(zip({padded, odd}));
  const int64_t before = Storage::live_bytes();
  const Ref<Storage> in_place = z.read_storage("a");
  EXPECT_EQ(in_place->data(), z.read("a").data);
  EXPECT_EQ(Storage::live_bytes(), before);
  const Ref<Storage> copied = z.read_storage("b");
  EXPECT_NE(copied->data(), z.read("b").data);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(copied->data()) % 8, 0u);
  EXPECT_EQ(Storage::live_bytes(), before + 4096);
  // Writing is private to the process.
  std::memset(in_place->data(), 'y', 4096);
  EXPECT_EQ(bytes_of(path("z")).find('y'), std::string::npos);
}

TEST_F(Zip, P006_ChecksumsMustMatch) {
  expect_says(read_error(zip({entry([](ZipEntry& e) { e.crc ^= 1; })})), "entry 'a': its CRC is");
  expect_says(read_error(zip({entry([](ZipEntry& e) { e.content[2] ^= 1; })})), "entry 'a': its CRC is");
  ZipEntry d = deflated_entry("a", "hello");
  d.crc ^= 0x80000000;
  expect_says(read_error(zip({d})), "entry 'a': its CRC is");
}

TEST_F(Zip, P006_ChecksumIsThatOfZip) {
  std::string bytes(3000, '\0');
  for (std::size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<char>(i * 2654435761u >> 13);
  for (std::size_t begin = 0; begin < 20; begin++)
    for (std::size_t n = 0; n < 300; n++)
      ASSERT_EQ(crc32_of(std::string_view(bytes).substr(begin, n)), slow_crc32(std::string_view(bytes).substr(begin, n)))
          << begin << " " << n;
  EXPECT_EQ(crc32_of(std::string_view(bytes).substr(1234), crc32_of(std::string_view(bytes).substr(0, 1234))), slow_crc32(bytes));
  EXPECT_EQ(crc32_of("123456789"), 0xCBF43926u);
}

TEST_F(Zip, P007_DatesMeanNothing) {
  for (const uint16_t date : {0, 0xFFFF})
    EXPECT_EQ(open(zip({entry([&](ZipEntry& e) { e.date = date; })})).read_text("a"), "hello");
  std::string bytes = zip({{"a", "hello"}});
  const std::size_t central = bytes.find("PK\1\2");
  bytes.replace(central + 4, 2, "\xff\xff");                   // version made by
  bytes.replace(central + 36, 6, "\xff\xff\xff\xff\xff\xff");  // attributes
  EXPECT_EQ(open(bytes).read_text("a"), "hello");
}

TEST_F(Zip, P009_FoldersAreLeftOut) {
  EXPECT_EQ(open(zip({{"t/", ""}, {"t/b", "2"}, {"t/a", "1"}, {"t/c/", ""}})).names(), (std::vector<std::string>{"t/b", "t/a"}));
  expect_says(error(zip({{"t/", "x"}})), "entry 't/': it is a folder with 1 bytes");
}

TEST_F(Zip, P010_UnsafeNames) {
  const std::pair<std::string, std::string> cases[] = {{"", "1 to 4096 bytes, and has 0"},
                                                       {"/a", "the component ''"},
                                                       {"/", "1 to 4096"},
                                                       {"a//b", "the component ''"},
                                                       {"./a", "the component '.'"},
                                                       {"a/..", "the component '..'"},
                                                       {"../a", "the component '..'"},
                                                       {"a/../b/", "the component '..'"},
                                                       {"a\\b", "a backslash"},
                                                       {"a\0b"s, "a zero byte"},
                                                       {"C:/a", "a drive letter"},
                                                       {"a//", "the component ''"},
                                                       {std::string(4097, 'a'), "1 to 4096 bytes, and has 4097"}};
  for (const auto& [name, says] : cases) expect_says(error(zip({{"ok", ""}, {name, ""}})), says);
  EXPECT_EQ(open(zip({{std::string(4096, 'a'), "x"}})).names().size(), 1u);
}

TEST_F(Zip, P010_TwoEntriesOfOneName) {
  expect_says(error(zip({{"a", "1"}, {"b", ""}, {"a", "2"}})), "entry 'a' is there twice");
}

TEST_F(Zip, P010_NothingReachesOutside) {
  expect_says(error(zip({entry([](ZipEntry& e) { e.packed = e.size = 1000; })})),
              "entry 'a': its 1000 bytes at byte 31 reach into the directory");
  expect_says(error(zip({entry([](ZipEntry& e) { e.packed = e.size = 6; })})), "reach into the directory");
  expect_says(error(zip({entry([](ZipEntry& e) { e.offset = 100'000; })})), "entry 'a': its header should be at byte 100000");
  expect_says(error(zip({entry([](ZipEntry& e) { e.offset = 1; })})), "its header should be at byte 1");
  std::string bytes = zip({{"a", "hello"}});
  std::string long_name = bytes, long_extra = bytes;
  long_name.replace(26, 2, "\xff\xff");
  long_extra.replace(28, 2, "\xff\xff");
  expect_says(error(long_name), "reach into the directory");
  expect_says(error(long_extra), "reach into the directory");
  expect_says(error(zip({{"a", "hello"}}, {.offset = 1'000'000})), "its directory of 47 bytes at byte 1000036 reaches behind");
  expect_says(error(zip({{"a", "hello"}}, {.size = 1})), "reaches behind byte");
  // Two entries that share bytes.
  const auto overlapping = [](ZipEntry& e) {
    e.packed = e.size = 40;
    e.crc = 0;
  };
  expect_says(error(zip({entry(overlapping), {"b", std::string(60, 'x')}})), "entry 'b': it starts at byte 36, inside entry 'a'");
}

TEST_F(Zip, P010_CountsMatchSizes) {
  expect_says(error(zip({{"a", "hello"}, {"b", ""}}, {.count = 1})), "too many for its 94 bytes");
  expect_says(error(zip({{"a", "hello"}, {"b", ""}}, {.count = -1})), "should have 1 entries in 94 bytes, and 47 are left");
  expect_says(error(zip({{"a", "hello"}}, {.size = -1})), "reaches behind the directory's end");
  expect_says(error(zip({{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", ""}}, {.count = 1})), "and entry 1 is not there");
  const std::string end64 = zip({}, {.zip64 = true, .full = true, .count64 = 1'000'001});
  expect_says(error(end64), "it has 1000001 entries, and at most 1000000 are allowed");
}

TEST_F(Zip, P011_AbsurdSizesAreRefusedBeforeMemoryIsReserved) {
  expect_says(error(zip({entry([](ZipEntry& e) { e.size = 0xfffffff0; })})), "5 stored bytes cannot hold the 4294967280");
  expect_says(error(zip({entry([](ZipEntry& e) { e.size = 4; })})), "5 stored bytes cannot hold the 4");
  const auto claims = [](uint32_t size) {
    ZipEntry e = deflated_entry("a", "hello");
    e.size = size;
    return zip({e});
  };
  const uint32_t packed = deflated_entry("a", "hello").packed, most = packed * 1032 + 65536;
  expect_says(error(claims(most + 1)), text(packed, " deflated bytes cannot hold the ", most + 1));
  EXPECT_EQ(open(claims(most)).size("a"), most);
  const ZipReader z = open(zip({{"a", "hello"}}));
  expect_says(user_error([&] { (void)z.read_text("a", 4); }), "entry 'a': it has 5 bytes, and at most 4 are allowed");
}

TEST_F(Zip, P011_InflatingStopsAtTheDeclaredSize) {
  ZipEntry bomb = deflated_entry("a", std::string(10'000'000, '\0'));
  bomb.size = 1000;
  const int64_t before = Storage::live_bytes();
  expect_says(read_error(zip({bomb})), "it inflates to more than the 1000 bytes");
  EXPECT_EQ(Storage::live_bytes(), before);
  ZipEntry less = deflated_entry("a", "hello");
  less.size = 6;
  expect_says(read_error(zip({less})), "it inflates to 5 bytes, and should have 6");
  ZipEntry cut = deflated_entry("a", "hello, hello, world");
  cut.content.resize(cut.content.size() - 3);
  cut.packed -= 3;
  expect_says(read_error(zip({cut})), "deflated data is cut short");
  ZipEntry more = deflated_entry("a", "hello");
  more.content += "tail";
  more.packed += 4;
  expect_says(read_error(zip({more})), "deflated data ends 4 bytes early");
  ZipEntry noise("a", "\xff\xff\xff\xff\xff");
  noise.method = 8;
  expect_says(read_error(zip({noise})), "does not inflate");
}

TEST_F(Zip, P012_HugeNumbersDoNotWrap) {
  const auto extra = [](uint64_t size, uint64_t packed, uint64_t offset) {
    return le<uint16_t>(1) + le<uint16_t>(24) + le(size) + le(packed) + le(offset);
  };
  constexpr uint64_t kLast = ~uint64_t{0};
  for (const auto& [size, packed, offset, method] :
       std::initializer_list<std::tuple<uint64_t, uint64_t, uint64_t, uint16_t>>{{kLast, kLast, 0, 0},
                                                                                 {kLast - 30, kLast - 30, 0, 0},
                                                                                 {5, 5, kLast, 0},
                                                                                 {5, 5, kLast - 29, 0},
                                                                                 {kLast, kLast / 1032 + 1, 0, 8},
                                                                                 {5, kLast, 0, 8}}) {
    const auto e = entry([&](ZipEntry& x) {
      x.central_extra = extra(size, packed, offset);
      x.size = x.packed = x.offset = 0xFFFFFFFF;
      x.method = method;
    });
    expect_says(error(zip({e})), "entry 'a'");
  }
  for (const int64_t far : {int64_t{-48}, std::numeric_limits<int64_t>::max() - 47})
    expect_says(error(zip({{"a", "hello"}}, {.zip64 = true, .full = true, .size64 = far})), "bad file z: ");
}

TEST_F(Zip, ManyFilesArchivesAreRefused) {
  expect_says(error(zip({entry([](ZipEntry& e) { e.disk = 1; })})), "part 1 of an archive of several files");
}

// ---- the writer

using ZipWriting = Zip;

TEST_F(ZipWriting, WhatIsWrittenReadsBack) {
  const std::string large(300'000, 'x');
  for (const std::size_t alignment : {std::size_t{1}, std::size_t{64}})
    for (const bool compress : {false, true}) {
      ZipWriter w(path("w"), alignment);
      const std::string_view parts[] = {"hello, ", "", "world"};
      w.add("t/a", parts, compress);
      w.add("t/empty", {}, compress);
      w.add("t/large", {{large}}, compress);
      EXPECT_FALSE(std::filesystem::exists(path("w")));
      w.finish();
      const ZipReader z = ZipReader::open(path("w"), "w");
      EXPECT_EQ(z.names(), (std::vector<std::string>{"t/a", "t/empty", "t/large"}));
      EXPECT_EQ(z.read_text("t/a"), "hello, world");
      EXPECT_EQ(z.read_text("t/empty"), "");
      EXPECT_EQ(z.read_text("t/large"), large);
      EXPECT_EQ(std::filesystem::file_size(path("w")) < large.size(), compress);
      for (const std::string& name : z.names()) {
        if (compress) continue;
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(z.read(name).data) % alignment, 0u) << name;
      }
      std::filesystem::remove(path("w"));
    }
}

TEST_F(ZipWriting, RefusesNamesThatItsReaderRefuses) {
  ZipWriter w(path("w"));
  for (const std::string& name : {"../a"s, "/a"s, ""s, "a\0b"s, "a\\b"s}) user_error([&] { w.add(name, "x"); });
}

// More entries than sixteen bits count: the ZIP64 records are written, and found.
TEST_F(ZipWriting, ManyEntries) {
  ZipWriter w(path("w"));
  for (int i = 0; i < 70'000; i++) w.add(std::to_string(i), "");
  w.finish();
  const ZipReader z = ZipReader::open(path("w"), "w");
  EXPECT_EQ(z.names().size(), 70'000u);
  EXPECT_TRUE(z.contains("69999"));
}

}  // namespace
}  // namespace ingot
