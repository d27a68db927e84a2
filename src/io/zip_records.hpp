// The records of the zip format: signatures, sizes and marks that reader and writer share.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ingot::zip_record {

inline constexpr std::string_view kLocal = "PK\3\4", kCentral = "PK\1\2", kEnd = "PK\5\6", kEnd64 = "PK\6\6",
                                  kLocator64 = "PK\6\7";
inline constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocator64Size = 20;

// A 16 or 32 bit field of this value says that the true one stands in a ZIP64 record.
inline constexpr uint64_t kFull16 = 0xFFFF, kFull32 = 0xFFFFFFFF;
inline constexpr uint16_t kExtra64 = 0x0001;  // the extra field with an entry's 64 bit numbers

inline constexpr uint16_t kStored = 0, kDeflated = 8;
inline constexpr uint16_t kEncryptedFlag = 1 << 0, kUtf8Flag = 1 << 11;

}  // namespace ingot::zip_record
