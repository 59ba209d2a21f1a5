#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

// The history of a file that people change (issues, checklist): an append-only file of JSON lines
// beside it. Each line holds the sha256 of the line before it ("prev") and of the file after the
// change ("sha256"), so that neither the past nor the present can be changed unseen.
namespace cb {

// "issues.json" → "issues.history.jsonl"
std::string history_of(const std::string& file);

// The sha256 that the history's last line states for its file; empty without a history. Throws
// UsageError naming the first line that is torn, or that does not follow from the one before it.
std::string last_state(const std::filesystem::path& history);

// Throws UsageError if root/file is not what its history ends with.
void require_history(const std::filesystem::path& root, const std::string& file);

// Replaces root/file by `content` as a whole and appends the change to its history. Throws as
// require_history().
void write_with_history(const std::filesystem::path& root, const std::string& file,
                        const std::string& content, const nlohmann::json& change,
                        const std::string& at);

}  // namespace cb
