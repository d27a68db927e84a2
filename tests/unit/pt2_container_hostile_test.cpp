// Archives damaged in every byte, or made to do harm: each ends in a clear error or, where the
// damage does not matter, in a program (P200, P202 of the pt2 format's description).
#include <sys/stat.h>

#include <filesystem>

#include "unit/pt2_container_hostile.hpp"

namespace ingot {
namespace {

using std::string_literals::operator""s;

using Pt2Hostile = IoTest;

TEST_F(Pt2Hostile, P202_TruncatedAtEveryByte) {
  const std::string whole = base().bytes();
  const std::string file = put("m.pt2", whole);
  ASSERT_EQ(judge(file).fate, Fate::harmless);
  for (std::size_t n = whole.size(); n-- > 0;) {
    std::filesystem::resize_file(file, n);
    EXPECT_NE(user_error([&] { (void)load_pt2(file); }).find(file), std::string::npos) << n;
  }
}

// A bit of every byte of the archive flipped. What a byte means decides what must follow: this
// walks the archive by its layout and knows for each byte whether it can matter.
TEST_F(Pt2Hostile, P202_ABitFlippedInEveryByte) {
  const Pt2Entries entries = base();
  const std::string whole = entries.bytes();
  enum class May { refuse, load, either };
  std::vector<May> oracle(whole.size(), May::either);
  const auto mark = [&](std::size_t at, std::size_t n, May m) {
    std::fill_n(oracle.begin() + static_cast<std::ptrdiff_t>(at), n, m);
  };
  std::size_t at = 0;
  std::vector<bool> is_read;
  for (const ZipEntry& x : entries.all) {
    const May data = x.name.ends_with("model.pt") ? May::load : May::refuse;
    is_read.push_back(data == May::refuse);
    mark(at, 4, May::refuse);       // signature
    mark(at + 4, 22, May::load);    // what the directory says too
    mark(at + 26, 4, May::either);  // lengths: they move the data, of which every byte may be alike
    mark(at + 30, x.name.size(), May::load);
    at += 30 + x.name.size();
    mark(at, x.content.size(), data);
    at += x.content.size();
  }
  for (std::size_t i = 0; i < entries.all.size(); i++) {
    mark(at, 4, May::refuse);
    mark(at + 4, 4, May::load);                              // versions
    mark(at + 12, 4, May::load);                             // time, date
    mark(at + 16, 4, is_read[i] ? May::refuse : May::load);  // checksum
    mark(at + 20, 14, May::refuse);                          // sizes, lengths
    mark(at + 34, 2, May::refuse);                           // disk
    mark(at + 36, 6, May::load);                             // attributes
    mark(at + 42, 4, May::refuse);                           // place
    at += 46 + entries.all[i].name.size();
  }
  mark(at, 22, May::refuse);
  ASSERT_EQ(at + 22, whole.size());

  const std::string file = put("m.pt2", whole);
  std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
  const auto put_byte = [&](std::size_t place, char c) {
    stream.seekp(static_cast<std::streamoff>(place));
    stream.put(c).flush();
  };
  for (std::size_t i = 0; i < whole.size(); i++) {
    put_byte(i, static_cast<char>(whole[i] ^ (1 << scramble(i) % 8)));
    bool loads = true;
    try {
      (void)load_pt2(file);
    } catch (const UserError& e) {
      loads = false;
      EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
    }
    if (oracle[i] != May::either) {
      EXPECT_EQ(loads, oracle[i] == May::load) << "byte " << i;
    }
    put_byte(i, whole[i]);
  }
}

// Bytes of the program's JSON replaced, with checksums that fit: whatever it means, nothing worse
// than an error.
TEST_F(Pt2Hostile, P202_BytesOfTheJsonReplaced) {
  for (const std::string entry : {"models/model.json", "data/weights/model_weights_config.json"}) {
    Pt2Entries e = base();
    const std::string content = find(e, entry).content;
    std::size_t refused = 0;
    constexpr std::string_view kReplacements = "\"{}[],:0-9x\\ \xff";
    for (std::size_t i = 0; i < content.size(); i += 3) {
      std::string changed = content;
      changed[i] = kReplacements[scramble(i) % kReplacements.size()];
      try {
        (void)load_pt2(put("m.pt2", e.set(entry, changed).bytes()));
      } catch (const UserError& error) {
        refused++;
        EXPECT_NE(std::string(error.what()).find(path("m.pt2")), std::string::npos) << error.what();
      }
    }
    EXPECT_GT(refused, content.size() / 12);
  }
}

// P200: names in the file are names in the archive. A pipe in the place of a payload would hang
// whoever opened it.
TEST_F(Pt2Hostile, P200_OpensNoPathNamedInTheFile) {
  ASSERT_EQ(::mkfifo(path("weight_9").c_str(), 0600), 0);
  for (const std::string& named : {path("weight_9"), "weight_9"s, "../weight_9"s}) {
    std::vector<Payload> weights = kWeights;
    weights[0].file = named;
    try {
      EXPECT_FALSE(load_pt2(put("m.pt2", base().set("data/weights/model_weights_config.json", config(weights)).bytes()))
                       .state.at("w")
                       .tensor.defined());
    } catch (const UserError&) {}
  }
}

TEST_F(Pt2Hostile, P200_MemoryIsASmallMultipleOfTheFile) {
  // Sixty names of one payload of 32 MB.
  std::vector<Payload> weights;
  for (int i = 0; i < 60; i++) weights.push_back({.name = text("w", i), .meta = {.sizes = {8 << 20}}});
  Pt2Entries e = Pt2Entries::plain({}, weights);
  e.set("data/weights/weight_0", std::string(32 << 20, '\0'));
  const std::string file = put("m.pt2", e.bytes());
  const int64_t before = Storage::live_bytes();
  const Program p = load_pt2(file);
  EXPECT_EQ(p.state.size(), 60u);
  EXPECT_LE(Storage::live_bytes() - before, 32 << 20);  // once, where the archive has it misaligned
}

}  // namespace
}  // namespace ingot
