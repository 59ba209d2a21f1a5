#pragma once

#include <array>
#include <cstddef>

// POSIX ustar (IEEE Std 1003.1-2017, pax, "ustar Interchange Format"), as far as a bundle uses it.
namespace cb {

inline constexpr size_t kTarBlock = 512;
using TarHeader = std::array<char, kTarBlock>;

// Offset and length of a field.
struct TarField {
  size_t at, size;
};
inline constexpr TarField kTarName{0, 100};
inline constexpr TarField kTarSize{124, 12};
inline constexpr TarField kTarSum{148, 8};
inline constexpr size_t kTarType = 156;
inline constexpr TarField kTarMagic{257, 6};
inline constexpr TarField kTarPrefix{345, 155};

// The sum of all bytes of the header; the bytes of the sum field count as blanks.
unsigned tar_sum(const TarHeader& header);

}  // namespace cb
