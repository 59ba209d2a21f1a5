// Any bytes as a result document: either refused as bad input, or read, written and read again to
// the same text. Anything else (another exception, a crash, a second text) is a finding.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/result.h"

namespace {

std::optional<cb::Document> read(std::string_view text) {
  try {
    return cb::parse_document(text, "fuzz");
  } catch (const cb::UsageError&) {
    return std::nullopt;
  }
}

[[noreturn]] void finding(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s:\n%s\n", what, text.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto document = read({reinterpret_cast<const char*>(data), size});
  if (!document) return 0;
  const std::string text = cb::to_json_text(*document);
  const auto again = read(text);
  if (!again) finding("what was written is refused", text);
  const std::string second = cb::to_json_text(*again);
  if (second != text) finding("written twice, it differs", text + "\n---\n" + second);
  return 0;
}
