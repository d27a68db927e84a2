// The generated host functions (I081), each from its row of host_ops.list.
#include "host/torch/host_op_call.hpp"

#define P void*
#define I int64_t
#define B int32_t
#define D double

// INGOT_NAMED(P, I) is `P a1, I a2`, INGOT_NAMES(P, I) is `a1, a2`.
#define INGOT_NAMED(...) __VA_OPT__(INGOT_NAMED_1(__VA_ARGS__))
#define INGOT_NAMED_1(type, ...) type a1 __VA_OPT__(, INGOT_NAMED_2(__VA_ARGS__))
#define INGOT_NAMED_2(type, ...) type a2 __VA_OPT__(, INGOT_NAMED_3(__VA_ARGS__))
#define INGOT_NAMED_3(type, ...) type a3 __VA_OPT__(, INGOT_NAMED_4(__VA_ARGS__))
#define INGOT_NAMED_4(type, ...) type a4 __VA_OPT__(, INGOT_NAMED_5(__VA_ARGS__))
#define INGOT_NAMED_5(type, ...) type a5 __VA_OPT__(, INGOT_NAMED_6(__VA_ARGS__))
#define INGOT_NAMED_6(type, ...) type a6 __VA_OPT__(, INGOT_NAMED_7(__VA_ARGS__))
#define INGOT_NAMED_7(type, ...) type a7 __VA_OPT__(, INGOT_NAMED_8(__VA_ARGS__))
#define INGOT_NAMED_8(type, ...) type a8 __VA_OPT__(, INGOT_NAMED_9(__VA_ARGS__))
#define INGOT_NAMED_9(type, ...) type a9 __VA_OPT__(, INGOT_NAMED_10(__VA_ARGS__))
#define INGOT_NAMED_10(type, ...) type a10 __VA_OPT__(, INGOT_NAMED_11(__VA_ARGS__))
#define INGOT_NAMED_11(type, ...) type a11 __VA_OPT__(, INGOT_NAMED_12(__VA_ARGS__))
#define INGOT_NAMED_12(type, ...) type a12 __VA_OPT__(, INGOT_NAMED_13(__VA_ARGS__))
#define INGOT_NAMED_13(type, ...) type a13 __VA_OPT__(, INGOT_NAMED_14(__VA_ARGS__))
#define INGOT_NAMED_14(type, ...) type a14 __VA_OPT__(, INGOT_NAMED_15(__VA_ARGS__))
#define INGOT_NAMED_15(type, ...) type a15 __VA_OPT__(, INGOT_NAMED_16(__VA_ARGS__))
#define INGOT_NAMED_16(type, ...) type a16 __VA_OPT__(, INGOT_NAMED_17(__VA_ARGS__))
#define INGOT_NAMED_17(type, ...) type a17 __VA_OPT__(, INGOT_NAMED_18(__VA_ARGS__))
#define INGOT_NAMED_18(type, ...) type a18 __VA_OPT__(, INGOT_NAMED_19(__VA_ARGS__))
#define INGOT_NAMED_19(type, ...) type a19 __VA_OPT__(, INGOT_NAMED_20(__VA_ARGS__))
#define INGOT_NAMED_20(type, ...) type a20 __VA_OPT__(, INGOT_NAMED_21(__VA_ARGS__))
#define INGOT_NAMED_21(type, ...) type a21
#define INGOT_NAMES(...) __VA_OPT__(INGOT_NAMES_1(__VA_ARGS__))
#define INGOT_NAMES_1(type, ...) a1 __VA_OPT__(, INGOT_NAMES_2(__VA_ARGS__))
#define INGOT_NAMES_2(type, ...) a2 __VA_OPT__(, INGOT_NAMES_3(__VA_ARGS__))
#define INGOT_NAMES_3(type, ...) a3 __VA_OPT__(, INGOT_NAMES_4(__VA_ARGS__))
#define INGOT_NAMES_4(type, ...) a4 __VA_OPT__(, INGOT_NAMES_5(__VA_ARGS__))
#define INGOT_NAMES_5(type, ...) a5 __VA_OPT__(, INGOT_NAMES_6(__VA_ARGS__))
#define INGOT_NAMES_6(type, ...) a6 __VA_OPT__(, INGOT_NAMES_7(__VA_ARGS__))
#define INGOT_NAMES_7(type, ...) a7 __VA_OPT__(, INGOT_NAMES_8(__VA_ARGS__))
#define INGOT_NAMES_8(type, ...) a8 __VA_OPT__(, INGOT_NAMES_9(__VA_ARGS__))
#define INGOT_NAMES_9(type, ...) a9 __VA_OPT__(, INGOT_NAMES_10(__VA_ARGS__))
#define INGOT_NAMES_10(type, ...) a10 __VA_OPT__(, INGOT_NAMES_11(__VA_ARGS__))
#define INGOT_NAMES_11(type, ...) a11 __VA_OPT__(, INGOT_NAMES_12(__VA_ARGS__))
#define INGOT_NAMES_12(type, ...) a12 __VA_OPT__(, INGOT_NAMES_13(__VA_ARGS__))
#define INGOT_NAMES_13(type, ...) a13 __VA_OPT__(, INGOT_NAMES_14(__VA_ARGS__))
#define INGOT_NAMES_14(type, ...) a14 __VA_OPT__(, INGOT_NAMES_15(__VA_ARGS__))
#define INGOT_NAMES_15(type, ...) a15 __VA_OPT__(, INGOT_NAMES_16(__VA_ARGS__))
#define INGOT_NAMES_16(type, ...) a16 __VA_OPT__(, INGOT_NAMES_17(__VA_ARGS__))
#define INGOT_NAMES_17(type, ...) a17 __VA_OPT__(, INGOT_NAMES_18(__VA_ARGS__))
#define INGOT_NAMES_18(type, ...) a18 __VA_OPT__(, INGOT_NAMES_19(__VA_ARGS__))
#define INGOT_NAMES_19(type, ...) a19 __VA_OPT__(, INGOT_NAMES_20(__VA_ARGS__))
#define INGOT_NAMES_20(type, ...) a20 __VA_OPT__(, INGOT_NAMES_21(__VA_ARGS__))
#define INGOT_NAMES_21(type, ...) a21

#define X(name, op, ...)                                                               \
  extern "C" INGOT_EXPORT AOTITorchError aoti_torch_##name(INGOT_NAMED(__VA_ARGS__)) { \
    return ::ingot::call_host_op(op, {INGOT_NAMES(__VA_ARGS__)});                      \
  }
#include "host/torch/host_ops.list"
#undef X

namespace ingot {

std::span<const HostOpRow> host_op_rows() {
  static constexpr HostOpRow kRows[] = {
#define X(name, op, ...) {"aoti_torch_" #name, op, #__VA_ARGS__},
#include "host/torch/host_ops.list"
#undef X
  };
  return kRows;
}

}  // namespace ingot
