// Any bytes as campaign.json: either refused as bad input, or read, written and read again to the
// same text. The same bytes as a manifest: refused or read, never anything else.
#include <cstddef>
#include <cstdint>
#include <optional>

#include "campaign/directory.h"
#include "core/error.h"
#include "tests/fuzz/memory_directory.h"

namespace {

std::optional<cb::CampaignFile> read(std::string_view text) {
  try {
    return cb::parse_campaign_file(text, "fuzz");
  } catch (const cb::UsageError&) {
    return std::nullopt;
  }
}

void as_manifest(std::string_view text) {
  const cb::CampaignPaths paths{fuzz::write("MANIFEST.sha256", text).parent_path()};
  try {
    cb::read_manifest(paths);
  } catch (const cb::UsageError&) {  // refused in words
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  as_manifest(input);
  const auto file = read(input);
  if (!file) return 0;
  const std::string text = cb::campaign_file_text(*file);
  const auto again = read(text);
  if (!again) fuzz::finding("what was written is refused", text);
  if (cb::campaign_file_text(*again) != text) fuzz::finding("written twice, it differs", text);
  return 0;
}
