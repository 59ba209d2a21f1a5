// Images of the register PDDR, page 3, made by the coordinates of the published table: the offset
// of a word of 32 bits and the lowest bit of a field in it, as "0x4C.16" there.
#pragma once

#include <cstdint>
#include <string>

#include "model/optics/register_page.h"

namespace cb::test {

class PageImage {
 public:
  PageImage& put(size_t offset, unsigned bit, unsigned size, uint32_t value) {
    uint32_t word = 0;
    for (size_t i = 0; i < 4; ++i) word = word << 8U | page_[offset + i];
    const uint32_t mask = (size == 32 ? 0xffffffffU : (1U << size) - 1) << bit;
    word = (word & ~mask) | (value << bit & mask);
    for (size_t i = 0; i < 4; ++i) page_[offset + i] = static_cast<uint8_t>(word >> (24 - 8 * i));
    return *this;
  }
  PageImage& text(size_t offset, size_t length, const std::string& text) {
    for (size_t i = 0; i < length; ++i)
      page_[offset + i] = static_cast<uint8_t>(i < text.size() ? text[i] : ' ');
    return *this;
  }
  // A lane's word: even lanes in the upper half.
  PageImage& lane(size_t offset, unsigned lane, uint32_t value) {
    return put(offset + 4 * (lane / 2), lane % 2 == 0 ? 16 : 0, 16, value);
  }
  // High limit in the upper half, low one in the lower.
  PageImage& limits(size_t offset, int high, int low) {
    return put(offset, 16, 16, static_cast<uint32_t>(high) & 0xffffU)
        .put(offset, 0, 16, static_cast<uint32_t>(low) & 0xffffU);
  }
  const ModulePage& page() const { return page_; }

 private:
  ModulePage page_{};
};

// An OSFP of eight lanes of which every field and lane differs. In microwatts, or in decibels.
inline PageImage osfp_image(const std::string& serial, bool microwatts, unsigned seed = 0) {
  PageImage out;
  out.put(0x00, 24, 8, 0x02).put(0x04, 28, 4, 2).put(0x04, 8, 8, 8);
  out.text(0x14, 16, "Example Optics").text(0x24, 16, "EX-800G-DR8").text(0x3c, 16, serial);
  out.put(0x34, 0, 32, 0x00004131).put(0x38, 0, 32, 0x2e780001);  // "A1"; 46.120.1
  out.put(0x4c, 16, 16, 45 * 256 + 128 + seed).put(0x4c, 0, 16, 32999);
  for (unsigned i = 0; i < 8; ++i) {
    out.lane(0x50, i, microwatts ? 1000 + 10 * i : i);
    out.lane(0x60, i, microwatts ? 1500 + 20 * i : i + 1);
    out.lane(0x70, i, 3000 + 30 * i);
  }
  out.limits(0x80, 75 * 256, -5 * 256).limits(0x84, 36300, 29700);
  out.limits(0x88, microwatts ? 3981 : 6, microwatts ? 91 : -10);
  out.limits(0x8c, microwatts ? 3162 : 5, microwatts ? 141 : -9);
  out.limits(0x90, 7500, 1000);
  out.put(0x94, 29, 3, 3).put(0x98, 10, 2, 1).put(0x9c, 8, 8, 0x1f).put(0xa0, 0, 32, 0x44444444);
  out.text(0xb0, 8, "26110201");
  return out;
}

}  // namespace cb::test
