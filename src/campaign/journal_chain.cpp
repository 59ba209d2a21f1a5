#include "campaign/journal_chain.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/ed25519.h"
#include "core/sha256.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kPrevious = "previous";
constexpr const char* kSignature = "signature";

std::string one_line(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

// The prefix keeps a journal's signature from being used for anything else.
std::string signed_text(const json& unsigned_event) {
  return "clusterbench.journal/1 " + one_line(unsigned_event);
}

bool is_signed(const std::string& public_key, const json& event) {
  const auto signature = event.find(kSignature);
  if (signature == event.end() || !signature->is_string()) return false;
  json rest = event;
  rest.erase(kSignature);
  return ed25519_verify({public_key, signature->get<std::string>()}, signed_text(rest));
}

void add_lines(std::vector<Said>& to, const std::vector<size_t>& lines, const char* id) {
  if (lines.empty()) return;
  const Said first = said(id, lines.front());
  to.push_back(lines.size() > 1 ? said("said.likewise", first, lines.size() - 1) : first);
}

}  // namespace

std::string linked_line(json event, const std::string& previous, const std::filesystem::path& key) {
  event[kPrevious] = previous;
  if (!key.empty()) event[kSignature] = ed25519_sign(key, signed_text(event)).value;
  return one_line(event);
}

std::string last_link(const std::string& journal, const std::string& campaign_sha256) {
  size_t end = journal.find_last_not_of('\n');
  if (end == std::string::npos) return campaign_sha256;
  const size_t before = journal.rfind('\n', end);
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return sha256_hex(std::string_view(journal).substr(begin, end + 1 - begin));
}

LineFacts facts_of_line(const ChainRoot& root, std::string_view line, const json* event) {
  const bool can_be_signed = event != nullptr && !root.public_key.empty();
  return {.sha256 = sha256_hex(line),
          .is_signed = can_be_signed && is_signed(root.public_key, *event)};
}

ChainReader::ChainReader(ChainRoot root)
    : root_(std::move(root)), previous_(root_.campaign_sha256) {}

void ChainReader::readable(size_t number, const LineFacts& facts, const json& event) {
  ++lines_;
  settle_torn(event.value("event", "") == "session");
  const bool has_link = event.contains(kPrevious);
  const bool follows = has_link && event.at(kPrevious) == previous_;
  if (has_link ? !follows : linked_) broken_.push_back(number);
  linked_ |= has_link;
  if (!root_.public_key.empty() && !facts.is_signed) unsigned_.push_back(number);
  previous_ = facts.sha256;
}

void ChainReader::unreadable(size_t number, const LineFacts& facts) {
  torn_.push_back(number);
  previous_ = facts.sha256;
}

// A kill tears at most the line that is being written, and a resumed run begins a session. So a
// single torn line before a session is harmless.
void ChainReader::settle_torn(bool continued) {
  auto& to = continued && torn_.size() == 1 ? mended_ : foreign_;
  to.insert(to.end(), torn_.begin(), torn_.end());
  torn_.clear();
}

void ChainReader::end(std::vector<Said>& warnings, std::vector<Said>& notes) {
  settle_torn(false);
  add_lines(warnings, foreign_, "journal.torn");
  add_lines(notes, mended_, "journal.mended");
  if (!broken_.empty() && broken_.front() == 1)
    warnings.emplace_back(said("journal.other_campaign"));
  if (!broken_.empty() && broken_.front() != 1) add_lines(warnings, broken_, "journal.broken");
  add_lines(warnings, unsigned_, "journal.unsigned");
  if (linked_ || lines_ == 0) return;
  if (root_.chained)
    warnings.emplace_back(said("journal.unlinked"));
  else
    notes.emplace_back(said("journal.old"));
}

}  // namespace cb
