// Any bytes as a signature's file: refused as bad input or read, and whatever differs from what was
// written in a single bit is a problem of the file.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "campaign/signoff_file.h"
#include "core/error.h"
#include "tests/fuzz/memory_directory.h"

namespace {

// Whether the file holds under the name that it gives itself.
bool holds(const std::string& text) {
  try {
    const cb::Signoff s = cb::parse_signoff(text, "fuzz");
    return !cb::signoff_problem(text, cb::signoff_name(s.number, s.role));
  } catch (const cb::UsageError&) {  // refused in words
    return false;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  if (text.empty() || !holds(text)) return 0;
  const size_t at = data[size / 2] % text.size();
  text[at] = static_cast<char>(text[at] ^ 1);
  if (holds(text)) fuzz::finding("a changed bit is not seen", text);
  return 0;
}
