// ingot verify, as who is about to load a file that somebody sent meets it.
#include <sodium.h>

#include <array>
#include <random>
#include <vector>

#include "cli_fixture.hpp"
#include "io/json.hpp"
#include "support/sanitized.hpp"

namespace ingot {
namespace {

class VerifyCli : public Cli {
 protected:
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void compile(const std::string& output, const std::string& options = "") const {
    const Ran r = ingot("compile " + golden("models/mlp/model.pt2") + " -o " + file(output) + " " + options);
    ASSERT_EQ(r.status, 0) << r.err;
  }
  static void write(const std::string& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  static std::string data(const std::string& name) { return INGOT_TEST_DATA "/minisign/" + name; }
  Ran verify_signed(const std::string& signed_file, const std::string& signature, const std::string& key = "key.pub") const {
    return ingot("verify " + signed_file + " --key " + data(key) + " --signature " + signature);
  }
  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }
};

// Signs files as `minisign -l` does, with a key that it makes.
class Signer {
 public:
  explicit Signer(const std::string& public_key_file) {
    EXPECT_GE(sodium_init(), 0);
    crypto_sign_keypair(public_.data(), secret_.data());
    std::ofstream(public_key_file) << "untrusted comment: a key of this test\n" << base64(kKind + text_of(public_)) << '\n';
  }
  void sign(const std::string& path) const {
    const std::string signature = signature_of(contents(path)), comment = "a test of Ingot";
    std::ofstream(path + ".minisig") << "untrusted comment: of this test\n"
                                     << base64(kKind + signature) << "\ntrusted comment: " << comment << '\n'
                                     << base64(signature_of(signature + comment)) << '\n';
  }

 private:
  static inline const std::string kKind = "Ed8 bytes.";  // the algorithm and the number of the key

  template <class Bytes>
  static std::string text_of(const Bytes& bytes) {
    return {bytes.begin(), bytes.end()};
  }
  std::string signature_of(const std::string& message) const {
    std::array<unsigned char, crypto_sign_BYTES> signature{};
    crypto_sign_detached(signature.data(), nullptr, reinterpret_cast<const unsigned char*>(message.data()), message.size(),
                         secret_.data());
    return text_of(signature);
  }
  static std::string base64(const std::string& bytes) {
    std::string line(sodium_base64_encoded_len(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
    sodium_bin2base64(line.data(), line.size(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                      sodium_base64_VARIANT_ORIGINAL);
    line.pop_back();  // the zero that ends it
    return line;
  }

  std::array<unsigned char, crypto_sign_PUBLICKEYBYTES> public_{};
  std::array<unsigned char, crypto_sign_SECRETKEYBYTES> secret_{};
};

TEST_F(VerifyCli, SaysWhatMadeAFile) {
  compile("m.so", "--target aarch64-linux-gnu");
  const Ran text = ingot("verify " + file("m.so"));
  EXPECT_EQ(text.status, 0) << text.err;
  expect_in("m.so: as it was made\n", text.out);
  expect_in("\nmade with  --target aarch64-unknown-linux-gnu --cpu generic --weights embed\n", text.out);
  ASSERT_EQ(ingot("package m=" + file("m.so") + " -o " + file("p.pt2")).status, 0);
  const Ran json = ingot("verify --json " + file("p.pt2"));
  EXPECT_EQ(json.status, 0) << json.err;
  const JsonDocument document(json.out, "stdout");
  EXPECT_EQ(document.root().field("kind").string(), "package");
  EXPECT_EQ(document.root().field("checksum").string().size(), 32u);
  const Json library = document.root().field("libraries").list().at(0);
  EXPECT_EQ(library.field("name").string(), "m");
  expect_in(std::string(library.field("checksum").string()), text.out);
  EXPECT_TRUE(library.field("made_by").string().starts_with("ingot "));
}

TEST_F(VerifyCli, RefusesFlippedBits) {
  compile("native.so");
  compile("aarch64.so", "--target aarch64-linux-gnu");
  compile("appended.so", "--weights append");
  ASSERT_EQ(ingot("package " + file("native.so") + " -o " + file("p.pt2")).status, 0);
  std::mt19937_64 random(21);
  for (const std::string name : {"native.so", "aarch64.so", "appended.so", "p.pt2"}) {
    const std::string whole = contents(file(name));
    EXPECT_EQ(ingot("verify " + file(name)).status, 0) << name;
    for (int k = 0; k < (kSanitized ? 5 : 50); k++) {
      std::string damaged = whole;
      const std::size_t bit = random() % (whole.size() * 8);
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
      write(file("damaged" + fs::path(name).extension().string()), damaged);
      const Ran r = ingot("verify " + file("damaged" + fs::path(name).extension().string()));
      EXPECT_EQ(r.status, 1) << name << ", bit " << bit << ": " << r.out << r.err;
    }
  }
}

TEST_F(VerifyCli, RefusesWhatItDoesNotKnow) {
  compile("m.so", "--weights external");
  EXPECT_EQ(ingot("verify " + file("m.so")).status, 0);
  std::string weights = contents(file("m.so.safetensors"));
  weights.back() ^= 1;
  write(file("m.so.safetensors"), weights);
  const Ran changed = ingot("verify " + file("m.so"));
  EXPECT_EQ(changed.status, 1);
  expect_in("m.so.safetensors is not the file of weights", changed.err);
  fs::remove(file("m.so.safetensors"));
  EXPECT_EQ(ingot("verify " + file("m.so")).status, 1);

  const Ran other = ingot("verify " + golden("models/mlp/model.pt2"));
  EXPECT_EQ(other.status, 1);
  expect_in("with Ingot's checksum, found none", other.err);
  const Ran json = ingot("verify --json " + file("nothing.so"));
  EXPECT_EQ(json.status, 1);
  EXPECT_EQ(JsonDocument(json.err, "stderr").root().field("error").field("kind").string(), "user");
  EXPECT_EQ(ingot("verify " + file("m.so") + " --signature x").status, 2) << "a signature without a key says nothing";
}

TEST_F(VerifyCli, ChecksSignatures) {
  for (const std::string signature : {"message.txt.minisig", "legacy.minisig"}) {
    const Ran r = verify_signed(data("message.txt"), data(signature));
    EXPECT_EQ(r.status, 0) << r.err;
    expect_in("signed by  key A7F40EE2A7B8F04A, a test of Ingot", r.out);
  }
  const Ran json = ingot("verify --json " + data("message.txt") + " --key " + data("key.pub"));  // FILE.minisig
  const JsonDocument document(json.out, "stdout");
  EXPECT_TRUE(document.root().field("signature").field("hashed").boolean());
  EXPECT_EQ(document.root().field("signature").field("trusted_comment").string(), "a test of Ingot");

  const Ran other_key = verify_signed(data("message.txt"), data("legacy.minisig"), "other.pub");
  EXPECT_EQ(other_key.status, 1);
  expect_in("is by key A7F40EE2A7B8F04A, expected 1A995E6979566E4F", other_key.err);
}

// The library has no more than a checksum of them, which can be made for other weights.
TEST_F(VerifyCli, WeightsBesideALibraryAreSignedToo) {
  compile("m.so", "--weights external");
  const std::string weights = file("m.so.safetensors"), verify = "verify " + file("m.so") + " --key " + file("key.pub");
  const Signer signer(file("key.pub")), other(file("other.pub"));
  signer.sign(file("m.so"));
  const Ran without = ingot(verify);
  EXPECT_EQ(without.status, 1) << without.out;
  expect_in(weights + " has no signature: expected " + weights + ".minisig", without.err);
  other.sign(weights);
  const Ran by_other = ingot(verify);
  EXPECT_EQ(by_other.status, 1) << by_other.out;
  expect_in("the file is not the one that " + weights + ".minisig signs", by_other.err);
  signer.sign(weights);
  const Ran by_both = ingot(verify);
  EXPECT_EQ(by_both.status, 0) << by_both.err;
  expect_in("signed by  key ", by_both.out);
  std::string changed = contents(weights);
  changed.back() ^= 1;
  write(weights, changed);
  const Ran after = ingot(verify);
  EXPECT_EQ(after.status, 1) << after.out;
  expect_in("the file is not the one that " + weights + ".minisig signs", after.err);
}

TEST_F(VerifyCli, RefusesChangedSignatures) {
  std::string message = contents(data("message.txt"));
  message[3] ^= 4;
  write(file("changed.txt"), message);
  for (const std::string name : {"message.txt.minisig", "legacy.minisig"}) {
    const Ran r = verify_signed(file("changed.txt"), data(name));
    EXPECT_EQ(r.status, 1);
    expect_in("the file is not the one that", r.err);
    // Each line that is checked, with one character changed.
    const std::string signature = contents(data(name));
    const std::size_t second = signature.find('\n') + 1, third = signature.find('\n', second) + 1;
    const std::size_t fourth = signature.find('\n', third) + 1;
    for (const std::size_t at : {second, second + 1, second + 5, second + 40, third, third + 20, fourth, fourth + 30}) {
      std::string changed = signature;
      changed[at] = changed[at] == 'A' ? 'B' : 'A';
      write(file("changed.minisig"), changed);
      EXPECT_EQ(verify_signed(data("message.txt"), file("changed.minisig")).status, 1) << name << " at " << at;
    }
    write(file("short.minisig"), signature.substr(0, fourth));
    EXPECT_EQ(verify_signed(data("message.txt"), file("short.minisig")).status, 1);
  }
  // A key that is none, and a file that is damaged beside its signature.
  EXPECT_EQ(verify_signed(data("message.txt"), data("legacy.minisig"), "message.txt").status, 1);
  compile("m.so");
  const Ran unsigned_file = ingot("verify " + file("m.so") + " --key " + data("key.pub"));
  EXPECT_EQ(unsigned_file.status, 1);
  expect_in("m.so.minisig", unsigned_file.err);
}

}  // namespace
}  // namespace ingot
