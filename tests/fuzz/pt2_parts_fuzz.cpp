// The contents of an exported program inside a zip that is always right: the program, both configs,
// a payload and pickles. The input has them one after the other, with the line "====" between.
#include <zlib.h>

#include "fuzz/load_program.hpp"
#include "fuzz/memory_file.hpp"

namespace {

class Zip {
 public:
  void add(const std::string& name, std::string_view content) {
    const uint64_t crc = ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size()));
    const auto header = static_cast<uint64_t>(bytes_.size());
    const auto fields = [&](std::string& to) {
      put(to, 20, 2), put(to, 0, 2), put(to, 0, 2), put(to, 0, 4), put(to, crc, 4), put(to, content.size(), 4),
          put(to, content.size(), 4);
      put(to, name.size(), 2), put(to, 0, 2);
    };
    bytes_ += "PK\3\4";
    fields(bytes_);
    bytes_.append(name).append(content);
    directory_ += "PK\1\2";
    put(directory_, 20, 2), fields(directory_), put(directory_, 0, 2), put(directory_, 0, 8), put(directory_, header, 4);
    directory_ += name;
    count_++;
  }
  std::string finish() {
    const uint64_t begin = bytes_.size();
    bytes_ += directory_ + "PK\5\6";
    put(bytes_, 0, 4), put(bytes_, count_, 2), put(bytes_, count_, 2), put(bytes_, directory_.size(), 4), put(bytes_, begin, 4),
        put(bytes_, 0, 2);
    return std::move(bytes_);
  }

 private:
  static void put(std::string& to, uint64_t v, int n) {
    for (int i = 0; i < n; i++) to += static_cast<char>(v >> (8 * i));
  }
  std::string bytes_, directory_;
  uint64_t count_ = 0;
};

// A file of torch.save with this pickle.
std::string torch_save(std::string_view pickle, std::string_view storage) {
  Zip z;
  z.add("a/data.pkl", pickle);
  z.add("a/data/0", storage);
  return z.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  constexpr std::string_view kSeparator = "\n====\n", kEmpty = R"({"config": {}})";
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::string_view parts[6];  // program, weights config, constants config, payload, pickled inputs, pickled weights
  for (std::string_view& part : parts) {
    const std::size_t end = rest.find(kSeparator);
    part = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + kSeparator.size());
  }
  Zip zip;
  zip.add("a/archive_format", "pt2");
  zip.add("a/models/model.json", parts[0]);
  zip.add("a/data/weights/model_weights_config.json", parts[1].empty() ? kEmpty : parts[1]);
  zip.add("a/data/constants/model_constants_config.json", parts[2].empty() ? kEmpty : parts[2]);
  zip.add("a/data/weights/weight_0", parts[3]);
  zip.add("a/data/constants/tensor_0", parts[3]);
  zip.add("a/data/sample_inputs/model.pt", parts[4].empty() ? std::string() : torch_save(parts[4], parts[3]));
  if (!parts[5].empty()) zip.add("a/data/weights/model.pt", torch_save(parts[5], parts[3]));

  static const ingot::MemoryFile file;
  file.set(zip.finish());
  ingot::load_program(file.path());
  return 0;
}
