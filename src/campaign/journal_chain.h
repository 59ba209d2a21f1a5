#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/messages/said.h"

// What makes a change of the journal visible: every line carries the digest of the line before it,
// the first one that of campaign.json, and with a key every line is signed as it is written.
namespace cb {

// What the journal of a campaign begins with.
struct ChainRoot {
  std::string campaign_sha256;  // of campaign.json
  std::string public_key = {};  // by campaign.json; empty where nothing is signed
  bool chained = false;         // by campaign.json: an older clusterbench wrote journals without
};

// The line of this event after a line of that digest, signed if a private key is named.
std::string linked_line(nlohmann::json event, const std::string& previous,
                        const std::filesystem::path& key);

// The digest of the last line of a journal; of a journal without a line what it begins with.
std::string last_link(const std::string& journal, const std::string& campaign_sha256);

// Follows a journal line by line. What is wrong goes to `warnings`; a line that was torn by a kill
// and after which the run was continued goes to `notes`.
class ChainReader {
 public:
  explicit ChainReader(ChainRoot root);
  void readable(size_t number, const std::string& line, const nlohmann::json& event);
  void unreadable(size_t number, const std::string& line);
  void end(std::vector<Said>& warnings, std::vector<Said>& notes);

 private:
  bool is_signed(const nlohmann::json& event) const;
  void settle_torn(bool continued);

  ChainRoot root_;
  std::string previous_;
  bool linked_ = false;  // a line with a link was seen
  size_t lines_ = 0;
  std::vector<size_t> torn_, broken_, unsigned_;
  std::vector<size_t> foreign_, mended_;
};

}  // namespace cb
