// Any bytes as the issue table, the checklist, site.json and a waiver file: refused as bad input or
// read. Issues that were read are written and read again to the same.
#include <cstddef>
#include <cstdint>

#include "campaign/paperwork.h"
#include "core/error.h"
#include "judge/waivers.h"
#include "tests/fuzz/memory_directory.h"

namespace {

constexpr const char* kWhen = "2026-11-01T00:00:00Z";

void as_file(const char* name, const std::string& text) {
  std::filesystem::remove_all(fuzz::memory_directory() / "paper");
  const auto directory = fuzz::write(std::string("paper/") + name, text).parent_path();
  try {
    const cb::Paperwork paper = cb::read_paperwork(directory);
    if (paper.issues.empty()) return;
    cb::write_issues(directory, paper.issues, kWhen);
    if (cb::read_paperwork(directory).issues.size() != paper.issues.size())
      fuzz::finding("an issue is lost by writing", text);
  } catch (const cb::UsageError&) {  // refused in words
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"issues.json", "checklist.json", "site.json"}) as_file(name, text);
  try {
    cb::parse_waivers(text, "fuzz");
  } catch (const cb::UsageError&) {  // refused in words
  }
  return 0;
}
