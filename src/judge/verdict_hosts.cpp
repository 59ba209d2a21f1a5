#include "judge/verdict_hosts.h"

#include <algorithm>

namespace cb {
namespace {

// "node1.cluster" gives node1; an address has no short form.
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
  // A host's own name for itself has precedence over the names that others use.
  for (const auto& [host, name] : actual_) {
    if (!twins_.contains(host)) asked_.emplace(name, host);
  }
  for (const std::string& host : expected_) {
    asked_.emplace(host, host);
    if (!actual_.contains(host)) short_.emplace(short_name(host), host);
  }
}

std::optional<std::string> HostNames::asked(const std::string& actual) const {
  if (const auto found = asked_.find(actual); found != asked_.end()) return found->second;
  if (const auto found = short_.find(short_name(actual)); found != short_.end())
    return found->second;
  return std::nullopt;
}

std::optional<std::string> HostNames::twin(const std::string& asked_host) const {
  const auto found = twins_.find(asked_host);
  if (found == twins_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cb
