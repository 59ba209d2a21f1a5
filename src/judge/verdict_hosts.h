#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// The hosts asked for (names or addresses of the hostfile) and the names that they answered with.
class HostNames {
 public:
  explicit HostNames(const Campaign& campaign);

  // Returns the requested host that calls itself `actual`; nothing if it was not requested.
  std::optional<std::string> asked(const std::string& actual) const;
  // Returns an earlier requested host that is the same machine; nothing if there is none.
  std::optional<std::string> twin(const std::string& asked_host) const;
  const std::vector<std::string>& expected() const { return expected_; }

 private:
  std::vector<std::string> expected_;
  std::map<std::string, std::string> actual_;  // asked → actual, learnt from the host's own jobs
  std::map<std::string, std::string> asked_;   // actual → asked, learnt in any way
  std::map<std::string, std::string> short_;  // short name → asked, for hosts that never answered
  std::map<std::string, std::string> twins_;
};

}  // namespace cb
