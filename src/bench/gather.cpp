#include "bench/gather.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/record_json.h"

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
    for (std::string& note : part.notes) {
      if (std::find(whole_.notes.begin(), whole_.notes.end(), note) == whole_.notes.end())
        whole_.notes.push_back(std::move(note));
    }
    if (part.outcome.index() > whole_.outcome.index()) whole_.outcome = std::move(part.outcome);
    whole_.started = std::min(whole_.started, part.started);
    whole_.ended = std::max(whole_.ended, part.ended);
  }

  Record finish() {
    if (!whole_.measured()) {
      whole_.metrics.clear();  // a record that failed anywhere has no number
      whole_.telemetry = {};
    }
    return std::move(whole_);
  }

 private:
  size_t place(const Entity& e) {
    const auto [found, is_new] = index_.emplace(e, whole_.entities.size());
    if (is_new) whole_.entities.push_back(e);
    return found->second;
  }

  // Where hosts differ in how they measured, all the ways stand there.
  void add_facts(const std::map<std::string, std::string>& facts) {
    for (const auto& [key, value] : facts) {
      std::string& have = whole_.facts[key];
      if (have.empty())
        have = value;
      else if (("; " + have + "; ").find("; " + value + "; ") == std::string::npos)
        have += "; " + value;
    }
  }

  Record whole_;
  std::map<Entity, size_t> index_;
};

}  // namespace

std::vector<Record> join_records(const std::vector<std::vector<Record>>& ranks) {
  std::vector<Record> out;
  for (size_t i = 0; i < ranks.at(0).size(); ++i) {
    Joiner joiner(ranks[0][i]);
    for (size_t r = 1; r < ranks.size(); ++r) {
      if (ranks[r].size() != ranks[0].size() || !(ranks[r][i].params == ranks[0][i].params)) {
        throw Error(fmt::format("rank {} measured other points than rank 0", r));
      }
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
