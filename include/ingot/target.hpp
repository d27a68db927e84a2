// The machine that code is made for.
#pragma once
#include <string>
#include <string_view>

namespace ingot {

struct Target {
  std::string triple;    // as LLVM writes it: "x86_64-unknown-linux-gnu"
  std::string cpu;       // LLVM's name of the processor: "x86-64-v3", "neoverse-v1"
  std::string features;  // what differs from the processor's own set: "+avx2,-sve"

  bool operator==(const Target&) const = default;
};

// This machine. Only what the operating system offers is in the features: a processor may have more
// than it may use.
Target native_target();

// `name` is "native", "x86_64-linux-gnu" or "aarch64-linux-gnu" (a vendor, or the bare
// architecture, is taken too). Without `cpu` a target that is not native is the oldest processor of
// its architecture, so the code runs on all of them. User error for anything else.
Target parse_target(std::string_view name, std::string_view cpu = {});

}  // namespace ingot
