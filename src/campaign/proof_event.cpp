#include "campaign/proof_event.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/directory.h"
#include "core/error.h"
#include "core/json/json_read.h"
#include "core/json/said_json.h"

namespace cb {
namespace {

using nlohmann::json;

void add_text(json& to, const char* name, const std::string& text) {
  if (!text.empty()) to[name] = text;
}

void read_end(const json& j, ProofEvent& e) {
  Proof& p = e.proof;
  p.step = text_at(j, "step");
  p.host = j.value("host", "");
  if (j.at("found").get<bool>()) p.state = ProofState::shown;
  if (j.value("impossible", false)) p.state = ProofState::impossible;
  p.planted = with_say(j.value("planted", ""), j, "planted_say");
  p.check = j.value("check", "");
  p.blind = j.value("blind", false);
  p.reason = with_say(j.value("reason", ""), j);
  p.file = j.value("file", "");
  e.sha256 = j.value("sha256", "");
  if (!p.file.empty() && p.file != CampaignPaths::proof(e.job, e.attempt))
    throw Error(fmt::format("{} is no proof of the job", p.file));
}

}  // namespace

json proof_event_json(const ProofEvent& e) {
  json out = {{"event", e.ended ? "proved" : "prove"},
              {"job", e.job},
              {"attempt", e.attempt},
              {"at", e.at}};
  add_text(out, "fingerprint", e.fingerprint);
  if (!e.ended) {
    out["command"] = e.command;
    return out;
  }
  out["step"] = e.proof.step;
  out["found"] = e.proof.state == ProofState::shown;
  if (e.proof.state == ProofState::impossible) out["impossible"] = true;
  if (e.proof.blind) out["blind"] = true;
  add_text(out, "host", e.proof.host);
  add_text(out, "planted", e.proof.planted.text());
  add_say(out, e.proof.planted, "planted_say");
  add_text(out, "check", e.proof.check);
  add_text(out, "reason", e.proof.reason.text());
  add_say(out, e.proof.reason);
  add_text(out, "file", e.proof.file);
  add_text(out, "sha256", e.sha256);
  return out;
}

ProofEvent proof_event_from(const json& j) {
  ProofEvent e{.job = text_at(j, "job"),
               .ended = j.at("event") == "proved",
               .attempt = int_at(j, "attempt"),
               .at = text_at(j, "at")};
  e.fingerprint = j.value("fingerprint", "");
  if (e.ended)
    read_end(j, e);
  else
    e.command = text_list_at(j, "command");
  return e;
}

const ProofEvent* ProofHistory::start_of(int attempt) const {
  const auto found = std::ranges::find_if(
      events, [&](const ProofEvent& e) { return !e.ended && e.attempt == attempt; });
  return found == events.end() ? nullptr : &*found;
}

const ProofEvent* ProofHistory::deciding() const {
  const ProofEvent* last = nullptr;
  for (const ProofEvent& e : events) {
    if (!e.ended) continue;
    last = &e;
    if (e.proof.blind) return last;
  }
  return last;
}

int ProofHistory::attempts() const {
  int out = 0;
  for (const ProofEvent& e : events) out = std::max(out, e.attempt);
  return out;
}

}  // namespace cb
