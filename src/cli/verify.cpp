// ingot verify: whether a compiled file is as it was written, and who signed it. Nothing of it is
// loaded.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/checksum.hpp"
#include "base/error.hpp"
#include "cli/describe_foreign.hpp"
#include "cli/minisign.hpp"
#include "cli/verb.hpp"
#include "host/compiled_file.hpp"
#include "host/package.hpp"
#include "io/file.hpp"
#include "io/json_writer.hpp"
#include "io/zip.hpp"

namespace ingot {
namespace {

namespace fs = std::filesystem;

struct VerifyVerb {
  std::string file, key, signature;
  bool json = false;
};

struct Verified {
  bool is_package = false;
  std::string checksum;  // empty: it has none, and its signature is all there is
  std::vector<std::pair<std::string, LibraryNote>> libraries;  // by their names in a package
  std::optional<Signature> signature;
};

constexpr const char* kDamaged =
    " is damaged, or was changed after it was made: its bytes do not have the checksum that it carries, ";

void require_whole(std::string_view library, const std::string& name, const LibraryNote& note) {
  INGOT_REQUIRE(is_whole(library, note), name, kDamaged, note.checksum, "; do not load it");
}

void require_weights(std::string_view weights, const std::string& name, const LibraryNote& note) {
  Checksum sum;
  sum.add(weights);
  INGOT_REQUIRE(sum.text() == note.weights, name,
                " is not the file of weights that the library was compiled with: checksum: expected ", note.weights, ", found ",
                sum.text());
}

// By the key that signed the library, which knows them by a checksum alone: who changes weights on
// purpose can give them the same one.
void require_signed_weights(std::string_view weights, const std::string& name, const VerifyVerb& o) {
  const std::string signature = name + ".minisig";
  INGOT_REQUIRE(fs::exists(signature), name, " has no signature: expected ", signature,
                ", since --key asks who made the weights of a library, too; sign them: minisign -Sm ", name);
  verify_signature(weights, o.key, signature);
}

void require_checksum(bool has_one, const VerifyVerb& o) {
  INGOT_REQUIRE(
      has_one || !o.key.empty(), o.file,
      ": expected a library or package with Ingot's checksum, found none: it is damaged, or something else made it (then "
      "sign it with minisign, and give the public key by --key)");
}

void verify_library(std::string_view bytes, const VerifyVerb& o, Verified& v) {
  const std::optional<LibraryNote> note = library_note(bytes);
  require_checksum(note.has_value(), o);
  if (!note) return;
  require_whole(bytes, o.file, *note);
  if (!note->weights.empty()) {
    const fs::path weights = fs::path(o.file).parent_path() / describe_foreign(o.file).weights_file;
    const Ref<MappedFile> file = MappedFile::open(weights.string(), MappedFile::Access::read_only);
    if (!o.key.empty()) require_signed_weights(file->bytes(), weights.string(), o);
    require_weights(file->bytes(), weights.string(), *note);
  }
  v.checksum = note->checksum;
  v.libraries.emplace_back("", *note);
}

void verify_package(std::string_view bytes, const VerifyVerb& o, Verified& v) {
  const std::optional<std::string> checksum = package_checksum(bytes);
  require_checksum(checksum.has_value(), o);
  INGOT_REQUIRE(!checksum || is_whole_package(bytes), o.file, kDamaged, checksum.value_or(""), "; do not load it");
  v.checksum = checksum.value_or("");
  const ZipReader zip = ZipReader::open(o.file, text("bad package ", o.file));
  for (const std::string& name : zip.names()) {
    if (!name.ends_with(".so")) continue;
    const OwnedBytes library = zip.read(name);
    const std::optional<LibraryNote> note = library_note(library.view());
    if (!note) continue;  // of another compiler
    require_whole(library.view(), text(o.file, ": ", name), *note);
    v.libraries.emplace_back(fs::path(name).parent_path().filename().string(), *note);
  }
}

Verified verify(const VerifyVerb& o) {
  const Ref<MappedFile> file = MappedFile::open(o.file, MappedFile::Access::read_only);
  Verified v;
  // First: who cannot have signed the file is not asked what is in it.
  if (!o.key.empty())
    v.signature = verify_signature(file->bytes(), o.key, o.signature.empty() ? o.file + ".minisig" : o.signature);
  v.is_package = is_package(o.file) || file->bytes().starts_with("PK");
  v.is_package ? verify_package(file->bytes(), o, v) : verify_library(file->bytes(), o, v);
  return v;
}

void print_json(const VerifyVerb& o, const Verified& v) {
  JsonWriter w(true);
  w.begin_object()
      .field("file", o.file)
      .field("kind", v.is_package          ? "package"
                     : v.libraries.empty() ? "file"
                                           : "library")
      .key("checksum");
  v.checksum.empty() ? w.null() : w.value(v.checksum);
  w.key("libraries").begin_list();
  for (const auto& [name, note] : v.libraries)
    w.begin_object()
        .field("name", name)
        .field("checksum", note.checksum)
        .field("made_by", note.made_by)
        .field("options", note.options)
        .end();
  w.end().key("signature");
  if (v.signature)
    w.begin_object()
        .field("key", v.signature->key_id)
        .field("hashed", v.signature->is_hashed)
        .field("trusted_comment", v.signature->trusted_comment)
        .end();
  else w.null();
  std::cout << w.end().take() << '\n';
}

// Without what a terminal would take for orders.
std::string printable(std::string s) {
  std::ranges::replace_if(s, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
  return s;
}

void print_text(const VerifyVerb& o, const Verified& v) {
  std::printf("%s: %s\n", o.file.c_str(), v.checksum.empty() ? "no checksum, signed" : "as it was made");
  if (!v.checksum.empty()) std::printf("checksum   %s\n", v.checksum.c_str());
  for (const auto& [name, note] : v.libraries) {
    if (!name.empty()) std::printf("model      %s\n", printable(name).c_str());
    std::printf("made by    %s\nmade with  %s\n", printable(note.made_by).c_str(), printable(note.options).c_str());
  }
  if (v.signature)
    std::printf("signed by  key %s, %s\n", v.signature->key_id.c_str(), printable(v.signature->trusted_comment).c_str());
}

}  // namespace

void add_verify_verb(CLI::App& app) {
  auto o = std::make_shared<VerifyVerb>();
  CLI::App* verb = app.add_subcommand("verify", "check that a compiled model is as it was made, and who signed it");
  verb->add_option("file", o->file, "a compiled model (.so), for any machine, or a package (.pt2)")->required();
  CLI::Option* key = verb->add_option(
      "--key", o->key, "a public key of minisign; the file, and weights beside it, must be signed with its secret half");
  verb->add_option("--signature", o->signature, "the signature; FILE.minisig otherwise")->needs(key);
  verb->add_flag("--json", o->json, "print a JSON object");
  verb->footer(
      "Nothing of the file is loaded. Its checksum finds damage; who changes a file on purpose can write another one, which "
      "is what the signature is for. Weights in a file beside the library have one of their own, WEIGHTS.minisig.\n\n"
      "examples:\n"
      "  ingot verify model.so\n"
      "  minisign -Sm model.so && ingot verify model.so --key minisign.pub");
  verb->callback([o] {
    const Verified v = verify(*o);
    o->json ? print_json(*o, v) : print_text(*o, v);
  });
}

}  // namespace ingot
