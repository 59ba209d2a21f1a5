#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"

// Makes a change of the journal visible. Every line carries the digest of the line before it, the
// first line that of campaign.json. With a key, every line is signed as it is written.
namespace cb {

// The root of a campaign's journal.
struct ChainRoot {
  std::string campaign_sha256;  // digest of campaign.json
  std::string public_key = {};  // as in campaign.json; empty: nothing is signed
  bool chained = false;  // as in campaign.json: an older clusterbench wrote journals without links
};

// The line for this event after a line with the digest `previous`; signed if a private key is
// named.
std::string linked_line(nlohmann::json event, const std::string& previous,
                        const std::filesystem::path& key);

// The digest of a journal's last line; without any line, the digest of campaign.json.
std::string last_link(const std::string& journal, const std::string& campaign_sha256);

// What is known of a line without the lines before it.
struct LineFacts {
  std::string sha256;
  bool is_signed = false;  // with the root's key; false where that has none
};

// `event` is null where the line is no JSON.
LineFacts facts_of_line(const ChainRoot& root, std::string_view line, const nlohmann::json* event);

// Follows a journal line by line. Faults go to `warnings`. A line that a kill tore goes to `notes`
// if the run was continued after it.
class ChainReader {
 public:
  explicit ChainReader(ChainRoot root);
  void readable(size_t number, const LineFacts& facts, const nlohmann::json& event);
  void unreadable(size_t number, const LineFacts& facts);
  void end(std::vector<Said>& warnings, std::vector<Said>& notes);

 private:
  void settle_torn(bool continued);

  ChainRoot root_;
  std::string previous_;
  bool linked_ = false;  // true once a line with a link was seen
  size_t lines_ = 0;
  std::vector<size_t> torn_, broken_, unsigned_;
  std::vector<size_t> foreign_, mended_;
};

}  // namespace cb
