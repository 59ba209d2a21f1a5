#include "analysis/verdict_hosts.h"

#include <algorithm>

namespace cb {
namespace {

// "node1.cluster" is node1; an address has no short form.
std::string short_name(const std::string& name) {
  if (name.find_first_not_of("0123456789.:") == std::string::npos) return name;
  return name.substr(0, name.find('.'));
}

}  // namespace

HostNames::HostNames(const Campaign& campaign) : expected_(campaign.hosts) {
  for (const Job& job : campaign.jobs) {
    if (job.host.empty() || !job.document || job.document->run.hosts.size() != 1) continue;
    actual_.emplace(job.host, job.document->run.hosts[0]);
  }
  std::map<std::string, std::string> first;
  for (const std::string& host : expected_) {
    const auto found = actual_.find(host);
    if (found == actual_.end()) continue;
    const auto [position, inserted] = first.emplace(found->second, host);
    if (!inserted) twins_[host] = position->second;
  }
}

std::optional<std::string> HostNames::asked(const std::string& actual) const {
  for (const auto& [host, name] : actual_) {
    if (name == actual && !twins_.contains(host)) return host;
  }
  for (const std::string& host : expected_) {
    if (host == actual) return host;
  }
  for (const std::string& host : expected_) {
    if (!actual_.contains(host) && short_name(host) == short_name(actual)) return host;
  }
  return std::nullopt;
}

std::optional<std::string> HostNames::twin(const std::string& asked_host) const {
  const auto found = twins_.find(asked_host);
  if (found == twins_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cb
