// Any bytes as a campaign's journal: it is read, never refused, and what cannot be read is counted
// as a warning. A writer that goes on after it adds exactly one event.
#include <cstddef>
#include <cstdint>

#include "campaign/journal.h"
#include "tests/fuzz/memory_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::filesystem::path path = fuzz::write("journal.jsonl", text);
  const cb::ChainRoot root{};
  const cb::Journal before = cb::read_journal(path, root);
  cb::JournalWriter(path, root.campaign_sha256).finished("2026-11-01T00:00:00Z", "");
  const cb::Journal after = cb::read_journal(path, root);
  if (after.finished != "2026-11-01T00:00:00Z") fuzz::finding("an appended event is lost", text);
  if (after.jobs.size() != before.jobs.size() || after.sessions.size() != before.sessions.size())
    fuzz::finding("an appended event changed earlier ones", text);
  return 0;
}
