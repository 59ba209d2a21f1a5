#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/ed25519.h"

// The history of a file that people change (issues, checklist): an append-only file of JSON lines
// beside it. Each line holds the sha256 of the line before it ("prev") and of the file after the
// change ("sha256"), so that nobody can change the past or the present unseen.
namespace cb {

// "issues.json" gives "issues.history.jsonl".
std::string history_of(const std::string& file);

// The sha256 that the history's last line states for its file; empty without a history. Throws
// UsageError naming the first line that is torn, or that does not follow from the line before it.
std::string last_state(const std::filesystem::path& history);

// Throws UsageError if root/file is not what its history ends with.
void require_history(const std::filesystem::path& root, const std::string& file);

// Settles a change of root/file that a kill cut off: completes it if its line is already in the
// history, and drops it otherwise.
void settle_interrupted(const std::filesystem::path& root, const std::string& file);

// The key that signs a change. It also signs the campaign's id and the file's name, so that the
// line counts nowhere else.
struct HistorySigner {
  Ed25519Key key;
  std::string campaign;
};

// Replaces root/file by `content` as a whole and appends the change to its history, signed if there
// is a signer. Throws like require_history().
void write_with_history(const std::filesystem::path& root, const std::string& file,
                        const std::string& content, const nlohmann::json& change,
                        const std::string& at, const HistorySigner* signer = nullptr);

// One line of a history.
struct HistoryLine {
  size_t number = 0;
  uint64_t begin = 0;                     // offset of its first byte
  std::optional<std::string> public_key;  // the key that signed the line, hex
  bool valid = true;                      // the line has no signature, or one that holds
};

// The lines of the history of `file` in campaign `campaign`. Throws like last_state().
std::vector<HistoryLine> history_lines(const std::filesystem::path& root, const std::string& file,
                                       const std::string& campaign);

}  // namespace cb
