#include "bench/network/pairs/survey.h"

#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cb {
namespace {

using nlohmann::json;

Said failure_at(const Unit& unit, const PairFigure& figure) {
  return figure.failure.empty() ? Said() : said("said.of", unit.name(), figure.failure);
}

}  // namespace

std::vector<Unit> host_units(const RankMap& place) {
  std::vector<Unit> out;
  for (size_t rank = 0; rank < place.host_of_rank.size(); ++rank) {
    const auto host = static_cast<size_t>(place.host_of_rank[rank]);
    // Hosts are numbered by their first rank.
    if (host == out.size()) out.push_back({static_cast<int>(rank), place.hosts[host]});
  }
  return out;
}

std::vector<Unit> rank_units(const RankMap& place) {
  std::vector<Unit> out;
  for (size_t rank = 0; rank < place.host_of_rank.size(); ++rank) {
    const auto host = static_cast<size_t>(place.host_of_rank[rank]);
    out.push_back({static_cast<int>(rank), place.hosts[host], fmt::format("rank {}", rank)});
  }
  return out;
}

std::vector<Round> both_directions(const std::vector<Round>& rounds) {
  std::vector<Round> out;
  for (const Round& round : rounds) {
    out.push_back(round);
    Round turned = round;
    for (HostPair& p : turned) std::swap(p.from, p.to);
    out.push_back(std::move(turned));
  }
  return out;
}

// Returns ", with n2": it completes the note about a rank that is stuck in the round.
std::string PairSurvey::partners(const Round& round) const {
  std::string out;
  for (const HostPair& pair : round) {
    const Unit& from = units_.at(static_cast<size_t>(pair.from));
    const Unit& to = units_.at(static_cast<size_t>(pair.to));
    if (from.rank == context_.comm.rank()) out += ", with " + to.name();
    if (to.rank == context_.comm.rank()) out += ", with " + from.name();
  }
  return out;
}

void PairSurvey::run_round(const Round& round, std::vector<Part>& parts) {
  std::vector<PairTask> tasks;
  std::vector<Part> mine;
  for (const HostPair& pair : round) {
    const Unit& from = units_.at(static_cast<size_t>(pair.from));
    const Unit& to = units_.at(static_cast<size_t>(pair.to));
    for (const bool sends : {true, false}) {
      if ((sends ? from : to).rank != context_.comm.rank()) continue;
      for (int rail = 0; rail < plan_.rails; ++rail) {
        tasks.push_back({.peer = (sends ? to : from).rank,
                         .sends = sends,
                         .two_way = plan_.two_way,
                         .rail = rail,
                         .measure = plan_.measure,
                         .bytes = plan_.bytes,
                         .seconds = plan_.seconds});
        mine.push_back({pair.from, pair.to, rail, rounds_done_, sends, {}});
      }
    }
  }
  transport_.connect(tasks, plan_.deadline_seconds);
  context_.comm.barrier();
  std::vector<PairFigure> figures = transport_.run(tasks, plan_.deadline_seconds);
  for (size_t i = 0; i < mine.size(); ++i) {
    mine[i].figure = std::move(figures.at(i));
    parts.push_back(std::move(mine[i]));
  }
}

std::vector<PairReading> PairSurvey::run(std::span<const Round> rounds, bool alone) {
  std::vector<Part> parts;
  if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
  for (size_t i = 0; i < rounds.size(); ++i) {
    context_.watchdog.note(fmt::format("round {} of {}{}{}", i + 1, rounds.size(),
                                       alone ? ", suspects alone" : "", partners(rounds[i])));
    context_.progress.update(static_cast<double>(i) / static_cast<double>(rounds.size()),
                             fmt::format("round {} of {}", i + 1, rounds.size()));
    // Also bounds the ranks without a part in the round: they wait for the others.
    const Watchdog::Bounded round(context_.watchdog, plan_.deadline_seconds);
    run_round(rounds[i], parts);
    ++rounds_done_;
    if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
    context_.watchdog.progress();
  }
  return join(parts, alone);
}

// If one end failed, there is no number, whatever the other end saw.
void PairSurvey::add_reading(const Part& sender, const Part& receiver, bool alone,
                             std::vector<PairReading>& out) const {
  const Unit& from = units_.at(static_cast<size_t>(sender.from));
  const Unit& to = units_.at(static_cast<size_t>(sender.to));
  Said failure = failure_at(from, sender.figure);
  const Said other = failure_at(to, receiver.figure);
  if (!other.empty()) failure = failure.empty() ? other : said_list({failure, other});
  const auto add = [&](int a, int b, const std::optional<double>& value) {
    const bool good = failure.empty() && value;
    out.push_back({.from = a,
                   .to = b,
                   .rail = sender.rail,
                   .round = sender.round,
                   .alone = alone,
                   .value = good ? value : std::nullopt,
                   .failure = good || !failure.empty() ? failure : said("locate.no_figure")});
  };
  const bool by_sender = plan_.measure == PairMeasure::latency;
  add(sender.from, sender.to, by_sender ? sender.figure.value : receiver.figure.value);
  if (plan_.two_way && !by_sender) add(sender.to, sender.from, sender.figure.value);
}

std::vector<PairReading> PairSurvey::join(const std::vector<Part>& mine, bool alone) {
  json list = json::array();
  for (const Part& p : mine) {
    json value;  // null if there is no value
    if (p.figure.value) value = *p.figure.value;
    list.push_back({p.round, p.from, p.to, p.rail, p.sends, value, pack_said(p.figure.failure)});
  }
  const std::vector<std::string> blobs =
      context_.comm.gather(list.dump(-1, ' ', false, json::error_handler_t::replace));
  std::map<std::tuple<int, int, int, int>, std::pair<Part, Part>> ends;
  for (const std::string& blob : blobs) {
    for (const json& j : json::parse(blob)) {
      Part p{j[1], j[2], j[3], j[0], j[4], {std::nullopt, unpack_said(j[6].get<std::string>())}};
      if (!j[5].is_null()) p.figure.value = j[5].get<double>();
      auto& both = ends[{p.round, p.from, p.to, p.rail}];
      (p.sends ? both.first : both.second) = std::move(p);
    }
  }
  std::vector<PairReading> out;
  for (const auto& [key, both] : ends) add_reading(both.first, both.second, alone, out);
  return out;
}

}  // namespace cb
