#pragma once

#include <filesystem>
#include <vector>

#include <nlohmann/json_fwd.hpp>

// An append-only file of JSON lines, each with the sha256 of the line before it ("prev"), so that
// what was once written can neither be changed nor taken out unseen.
namespace cb {

// The events in their order; none if there is no file. Throws UsageError naming the first line that
// is torn, or that does not follow from the one before it.
std::vector<nlohmann::json> read_history(const std::filesystem::path& path);

// Appends one event and flushes it to disk. The file is read first: nothing is appended to a broken
// one.
void append_history(const std::filesystem::path& path, nlohmann::json event);

}  // namespace cb
