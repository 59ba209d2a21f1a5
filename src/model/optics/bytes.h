#pragma once

#include <string>
#include <string_view>

#include "model/optics/module.h"

namespace cb {

// Bytes of a page by the numbers that the specifications use: upper pages begin at 128.
class ModuleBytes {
 public:
  ModuleBytes(std::string_view bytes, size_t first) : bytes_(bytes), first_(first) {}

  // A page that was read in part is not there: its missing bytes are no zeros.
  bool there() const { return bytes_.size() >= 128; }
  unsigned at(size_t number) const {
    const size_t i = number - first_;
    return i < bytes_.size() ? static_cast<unsigned char>(bytes_[i]) : 0;
  }
  unsigned word(size_t number) const { return at(number) << 8 | at(number + 1); }
  int signed_word(size_t number) const { return static_cast<int16_t>(word(number)); }
  bool bit(size_t number, unsigned bit) const { return (at(number) >> bit & 1U) != 0; }
  // A text without blanks at its end; signs that no label has become '?'.
  std::string text(size_t number, size_t length) const;
  // Four words from there on: high alarm, low alarm, high warning, low warning.
  ModuleLimits limits(size_t number, double unit) const {
    return {word(number) * unit, word(number + 2) * unit, word(number + 4) * unit,
            word(number + 6) * unit};
  }
  ModuleLimits signed_limits(size_t number, double unit) const {
    return {signed_word(number) * unit, signed_word(number + 2) * unit,
            signed_word(number + 4) * unit, signed_word(number + 6) * unit};
  }

 private:
  std::string_view bytes_;
  size_t first_;
};

// Of sff8636.cpp and cmis.cpp.
OpticalModule decode_sff8636(const ModuleMemory& memory);
OpticalModule decode_cmis(const ModuleMemory& memory);

constexpr double kCelsius = 1.0 / 256, kVolt = 1e-4, kWatt = 1e-7, kAmpere = 2e-6;

}  // namespace cb
