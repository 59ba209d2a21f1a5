#include "campaign/attempts.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "campaign/pool.h"

namespace cb {
namespace {

Said of_attempt(int number, const Said& what) {
  return what.empty() ? said("again.in_attempt", number)
                      : said("again.in_attempt_text", number, what);
}

bool has_failed_check(const Record& record) {
  return std::ranges::any_of(record.checks, [](const Check& c) { return !c.passed; });
}

void carry_unmeasured(Document& to, Record record, int number) {
  if (auto* skipped = std::get_if<Skipped>(&record.outcome))
    skipped->reason = of_attempt(number, skipped->reason);
  if (auto* errored = std::get_if<Errored>(&record.outcome))
    errored->what = of_attempt(number, errored->what);
  to.records.push_back(std::move(record));
}

// The later attempt's record of the same point, or a new one without figures.
Record& same_point(Document& to, const Record& earlier) {
  const auto found = std::ranges::find_if(to.records, [&](const Record& r) {
    return r.measured() && r.case_name == earlier.case_name && r.params == earlier.params;
  });
  if (found != to.records.end()) return *found;
  return to.records.emplace_back(Record{.case_name = earlier.case_name,
                                        .params = earlier.params,
                                        .started = earlier.started,
                                        .ended = earlier.ended});
}

void carry_failed_checks(Document& to, const Record& earlier, int number) {
  Record& record = same_point(to, earlier);
  for (Check check : earlier.checks) {
    if (check.passed) continue;
    check.entity = record.entity(earlier.entities.at(check.entity));
    check.detail = of_attempt(number, check.detail);
    record.checks.push_back(std::move(check));
  }
}

void carry(Document& to, const AttemptDocument& earlier) {
  for (const Record& record : earlier.document.records) {
    if (!record.measured()) carry_unmeasured(to, record, earlier.number);
    if (record.measured() && has_failed_check(record))
      carry_failed_checks(to, record, earlier.number);
  }
}

// Of the attempts of a job that has one host only one is read with its inventory: the last, unless
// its file is of no use.
void carry_inventories(Document& to, const std::vector<AttemptDocument>& attempts) {
  for (size_t i = 0; to.hosts.empty() && i + 1 < attempts.size(); ++i)
    to.hosts = attempts[i].document.hosts;
}

// In a set of two the other host may have been the cause, so a host's figures are of both.
constexpr size_t kLeastSet = 3;

// True if the attempt measured the same on another set of hosts, some of which still take part.
bool is_of_other_set(const Document& earlier, const Document& last) {
  const std::vector<std::string>&before = earlier.run.hosts, &now = last.run.hosts;
  return earlier.tool.version == last.tool.version && earlier.tool.commit == last.tool.commit &&
         before.size() >= kLeastSet &&
         std::set(before.begin(), before.end()) != std::set(now.begin(), now.end());
}

// "node3:gpu2" is of node3.
std::string host_of_peer(const std::string& peer) {
  return peer.substr(0, peer.find_first_of(": "));
}

// Leaves only figures that are of these hosts alone. Those of the whole set are of no other set.
void keep_figures_of(const std::vector<std::string>& hosts, Document& document) {
  const auto stays = [&](const std::string& host) {
    return std::ranges::find(hosts, host) != hosts.end();
  };
  for (Record& record : document.records) {
    std::erase_if(record.metrics, [&](const Metric& metric) {
      const Entity& entity = record.entities.at(metric.entity);
      const bool of_set = entity.kind == "cluster" || entity.kind == "group";
      return of_set || !stays(entity.host) || (entity.peer && !stays(host_of_peer(*entity.peer)));
    });
  }
}

// A host is not rid of its figures because another one went: those of earlier sets count as well.
// `attempts` are joined already, so that the last one of each set has the figures of all.
void count_other_sets(Document& to, std::vector<AttemptDocument>& attempts) {
  for (size_t i = attempts.size() - 1; i-- > 0;) {
    Document& earlier = attempts[i].document;
    if (attempts[i + 1].adds || !is_of_other_set(earlier, to)) continue;
    keep_figures_of(to.run.hosts, earlier);
    pool_samples(to, earlier);
  }
}

}  // namespace

BadNews bad_news(const Document& document) {
  BadNews out;
  for (const Record& record : document.records) {
    out.skipped += std::holds_alternative<Skipped>(record.outcome) ? 1 : 0;
    out.errored += std::holds_alternative<Errored>(record.outcome) ? 1 : 0;
    for (const Check& check : record.checks) out.failed_checks += check.passed ? 0 : 1;
  }
  return out;
}

Document join_attempts(std::vector<AttemptDocument> attempts) {
  for (size_t i = 1; i < attempts.size(); ++i) {
    if (attempts[i].adds) pool_samples(attempts[i].document, attempts[i - 1].document);
  }
  Document out = std::move(attempts.back().document);
  for (size_t i = 0; i + 1 < attempts.size(); ++i) carry(out, attempts[i]);
  carry_inventories(out, attempts);
  count_other_sets(out, attempts);
  return out;
}

size_t first_that_counts(const std::vector<JobEvent>& documents) {
  size_t first = documents.empty() ? 0 : documents.size() - 1;
  while (first > 0 && documents[first].adds) --first;
  return first;
}

}  // namespace cb
