#include "bench/harness/gather.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json/record_json.h"

namespace cb {
namespace {

using nlohmann::json;

std::string pack(const std::vector<Record>& records) {
  json list = json::array();
  for (const Record& r : records) list.push_back(record_to_json(r));
  std::string out;
  json::to_cbor(list, out);
  return out;
}

std::vector<Record> unpack(const std::string& blob) {
  std::vector<Record> out;
  for (const json& r : json::from_cbor(blob)) out.push_back(record_from_json(r));
  return out;
}

// Appends one rank's record to the whole. The map finds entities without scanning them: with 1,000
// ranks a scan would be quadratic.
class Joiner {
 public:
  explicit Joiner(Record first) : whole_(std::move(first)) {
    for (size_t i = 0; i < whole_.entities.size(); ++i) index_.emplace(whole_.entities[i], i);
    notes_.insert(whole_.notes.begin(), whole_.notes.end());
    for (const auto& [key, value] : whole_.facts) facts_[key].insert(value);
    note_failure(whole_.outcome);
  }

  void add(Record part) {
    std::vector<size_t> moved;
    for (const Entity& e : part.entities) moved.push_back(place(e));
    const auto append = [&](auto& to, auto& from) {
      for (auto& item : from) {
        item.entity = moved.at(item.entity);
        to.push_back(std::move(item));
      }
    };
    append(whole_.metrics, part.metrics);
    append(whole_.checks, part.checks);
    append(whole_.telemetry.series, part.telemetry.series);
    append(whole_.telemetry.deltas, part.telemetry.deltas);
    add_facts(part.facts);
    for (Said& note : part.notes) {
      if (notes_.insert(note).second) whole_.notes.push_back(std::move(note));
    }
    add_outcome(std::move(part.outcome));
    whole_.started = std::min(whole_.started, part.started);
    whole_.ended = std::max(whole_.ended, part.ended);
  }

  Record finish() {
    // Neither a record that failed anywhere nor wrong data has a number.
    const bool wrong = std::any_of(whole_.checks.begin(), whole_.checks.end(),
                                   [](const Check& c) { return !c.passed && !c.finding; });
    if (!whole_.measured() || wrong) whole_.metrics.clear();
    if (!whole_.measured()) whole_.telemetry = {};
    return std::move(whole_);
  }

 private:
  size_t place(const Entity& e) {
    const auto [found, is_new] = index_.emplace(e, whole_.entities.size());
    if (is_new) whole_.entities.push_back(e);
    return found->second;
  }

  // Where hosts differ in how they measured, all the ways stand there.
  void add_facts(const std::map<std::string, Said>& facts) {
    for (const auto& [key, value] : facts) {
      if (!facts_[key].insert(value).second) continue;
      Said& have = whole_.facts[key];
      have = have.empty() ? value : said_list({have, value});
    }
  }

  // Errored outweighs skipped outweighs measured. Every rank that failed is named, up to a few.
  void add_outcome(Outcome outcome) {
    const bool heavier = outcome.index() > whole_.outcome.index();
    note_failure(outcome);
    if (heavier) {
      whole_.outcome = std::move(outcome);
    } else if (auto* have = std::get_if<Errored>(&whole_.outcome);
               have != nullptr && std::holds_alternative<Errored>(outcome) &&
               failures_ <= kNamedFailures) {
      const auto& more = std::get<Errored>(outcome);
      have->what = said_list({have->what, said("said.of", more.where, more.what)});
    }
  }

  void note_failure(const Outcome& outcome) {
    if (std::holds_alternative<Errored>(outcome)) ++failures_;
  }

  static constexpr int kNamedFailures = 8;
  Record whole_;
  std::map<Entity, size_t> index_;
  std::set<Said> notes_;
  std::map<std::string, std::set<Said>> facts_;
  int failures_ = 0;
};

}  // namespace

std::string pack_record(const Record& record) { return pack({record}); }
Record unpack_record(const std::string& bytes) { return unpack(bytes).at(0); }

std::vector<Record> join_records(const std::vector<std::vector<Record>>& ranks) {
  std::vector<Record> out;
  for (size_t r = 1; r < ranks.size(); ++r) {
    if (ranks[r].size() != ranks.at(0).size())
      throw Error(fmt::format("rank {} has {} records, rank 0 has {}", r, ranks[r].size(),
                              ranks[0].size()));
  }
  for (size_t i = 0; i < ranks.at(0).size(); ++i) {
    Joiner joiner(ranks[0][i]);
    for (size_t r = 1; r < ranks.size(); ++r) {
      if (!(ranks[r][i].params == ranks[0][i].params))
        throw Error(fmt::format("rank {} measured other points than rank 0", r));
      joiner.add(ranks[r][i]);
    }
    out.push_back(joiner.finish());
  }
  return out;
}

std::vector<Record> gather_records(Comm& comm, const std::vector<Record>& mine) {
  const std::vector<std::string> blobs = comm.gather(pack(mine));
  if (!comm.is_root()) return {};
  std::vector<std::vector<Record>> ranks;
  for (const std::string& blob : blobs) ranks.push_back(unpack(blob));
  return join_records(ranks);
}

}  // namespace cb
