#include "campaign/history.h"

#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/signature_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json/json_text.h"
#include "core/sha256.h"

namespace cb {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct Last {
  std::string line_sha256;  // empty if there is no history
  std::string file_sha256;
};

std::string text_of(const json& event) {
  return event.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Adds the line's own digest. Each line also holds the digest of the line before it, but nothing
// follows the last line.
json sealed(json event) {
  event["line"] = sha256_hex(text_of(event));
  return event;
}

bool is_sealed(const json& event, const std::string& line) {
  json bare = event;
  bare.erase("line");
  return text_of(sealed(std::move(bare))) == line;
}

// The new content lies in this file until its line is in the history.
fs::path fresh_of(const fs::path& root, const std::string& file) { return root / (file + ".new"); }

bool is_fresh_state(const fs::path& fresh, const std::string& sha256) {
  return fs::is_regular_file(fs::symlink_status(fresh)) && sha256_hex_of_file(fresh) == sha256;
}

// Calls `each` with every line and its offset, in order. Returns the last line's digests.
Last read_lines(const fs::path& history,
                const std::function<void(const json& event, uint64_t begin)>& each) {
  Last out;
  if (!fs::exists(history)) return out;
  const std::string content = read_file(history);
  size_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const std::string where = fmt::format("line {}", ++number);
    const size_t end = content.find('\n', begin);
    if (end == std::string::npos)
      throw UsageError(history.string(), where,
                       "is torn: take out what stands behind the last whole line");
    const std::string line = content.substr(begin, end - begin);
    const json event = parse_json(line, history.string() + " " + where);
    if (!event.is_object() || !is_sealed(event, line) ||
        event.value("prev", json()) != out.line_sha256 ||
        !event.value("sha256", json()).is_string())
      throw UsageError(history.string(), where,
                       "does not follow from the line before it: the history was changed; restore "
                       "it from the archive");
    out = {sha256_hex(line), event["sha256"].get<std::string>()};
    each(event, begin);
    begin = end + 1;
  }
  return out;
}

Last last_line(const fs::path& history) {
  return read_lines(history, [](const json&, uint64_t) {});
}

// The text that a key signs for a line.
std::string message_of(json event, const std::string& campaign, const std::string& file) {
  event.erase("line");
  event.erase("signature");
  return fmt::format("clusterbench.history/1 {} {}\n{}", campaign, file, text_of(event));
}

}  // namespace

std::string history_of(const std::string& file) {
  return file.substr(0, file.rfind('.')) + ".history.jsonl";
}

std::string last_state(const fs::path& history) { return last_line(history).file_sha256; }

void require_history(const fs::path& root, const std::string& file) {
  const std::string stated = last_state(root / history_of(file));
  const std::string is = fs::exists(root / file) ? sha256_hex_of_file(root / file) : "";
  if (stated == is) return;
  if (is_fresh_state(fresh_of(root, file), stated))
    throw UsageError((root / file).string(), "",
                     "was being changed when the program was ended: give the next change, or the "
                     "same one again, and it is completed");
  throw UsageError(
      (root / file).string(), "",
      fmt::format("is not what {} ends with: it was changed by hand; restore it from the archive",
                  history_of(file)));
}

void settle_interrupted(const fs::path& root, const std::string& file) {
  const fs::path fresh = fresh_of(root, file);
  std::error_code failed;
  if (is_fresh_state(fresh, last_state(root / history_of(file))))
    fs::rename(fresh, root / file, failed);
  else
    fs::remove(fresh, failed);
  if (failed) throw Error(fmt::format("cannot replace {}: {}", fresh.string(), failed.message()));
}

namespace {

// Everything that needs room on the disk is done before the old content goes.
void replace_with_line(const fs::path& root, const std::string& file, const std::string& content,
                       const std::string& line) {
  const fs::path fresh = fresh_of(root, file);
  write_file_atomically(fresh, content);
  try {
    append_line_durably(root / history_of(file), line);
  } catch (...) {
    std::error_code ignored;
    fs::remove(fresh, ignored);
    throw;
  }
  settle_interrupted(root, file);
}

}  // namespace

void write_with_history(const fs::path& root, const std::string& file, const std::string& content,
                        const json& change, const std::string& at, const HistorySigner* signer) {
  require_history(root, file);
  json event = {{"at", at},
                {"change", change},
                {"sha256", sha256_hex(content)},
                {"prev", last_line(root / history_of(file)).line_sha256}};
  if (signer != nullptr)
    event["signature"] =
        signature_json(signer->key.sign(message_of(event, signer->campaign, file)));
  const std::string line = text_of(sealed(std::move(event)));
  replace_with_line(root, file, content, line);
}

std::vector<HistoryLine> history_lines(const fs::path& root, const std::string& file,
                                       const std::string& campaign) {
  std::vector<HistoryLine> out;
  read_lines(root / history_of(file), [&](const json& event, uint64_t begin) {
    HistoryLine line{.number = out.size() + 1, .begin = begin};
    if (event.contains("signature")) {
      const auto signature = signature_in(event);
      line.valid = signature && ed25519_verify(*signature, message_of(event, campaign, file));
      if (signature) line.public_key = signature->public_key;
    }
    out.push_back(line);
  });
  return out;
}

}  // namespace cb
