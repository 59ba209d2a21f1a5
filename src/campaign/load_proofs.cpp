#include "campaign/load_proofs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>

#include "campaign/bind.h"
#include "campaign/fault_search.h"
#include "campaign/proof_step.h"
#include "campaign/roster.h"
#include "core/error.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

bool has_failed(const Document& document, const std::string& check) {
  return std::ranges::any_of(document.records, [&](const Record& record) {
    return std::ranges::any_of(record.checks,
                               [&](const Check& c) { return c.name == check && !c.passed; });
  });
}

// The step with the fault, as the proof's own command line ran it.
Step faulty_step(const ProofSource& source, const JobKey& key, const ProofEvent& start) {
  const Step& own = source.file.profile.steps[key.step];
  return proved_step(own, start.command, case_of(own, source.catalogue));
}

std::optional<Said> binding_problem(const ProofSource& source, const JobKey& key,
                                    const ProofEvent& start, const Step& step,
                                    const Document& document) {
  if (!step.params.contains("inject-fault")) return said("proof.no_fault");
  const JobEvent begun{.job = start.job,
                       .attempt = start.attempt,
                       .at = start.at,
                       .fingerprint = start.fingerprint,
                       .command = start.command};
  const ToolInfo& tool = start.session < source.journal.sessions.size()
                             ? source.journal.sessions[start.session].tool
                             : source.file.tool;
  const std::vector<std::string> members =
      key.places.empty() ? std::vector<std::string>()
                         : read_roster(source.file, source.journal).occupants(key.places);
  // A proof has no figures: its case's units are not asked.
  return misfit({source.file, source.slots, key, step, nullptr, CampaignPaths::proof(key.name, 1),
                 &begun, tool, members},
                document);
}

// Of a case that this program does not know, the check that was journaled is the one to ask.
FaultPlan plan_of(const ProofSource& source, const JobKey& key, const Proof& journaled) {
  const CaseInfo* info = case_of(source.file.profile.steps[key.step], source.catalogue);
  return info == nullptr ? FaultPlan{.checks = {journaled.check}} : info->fault;
}

void refuse(const Said& why, Proof& proof) {
  proof.state = ProofState::not_shown;
  proof.reason = why;
}

// Takes back what the journal says is shown where the document does not show it. Where the journal
// tells the truth and an earlier program asked less of a document, its check is blind.
void read_back(const ProofSource& source, const JobKey& key, const ProofHistory& history,
               const ProofEvent& end, Proof& proof) {
  const std::string file = terminal_safe(end.proof.file);
  try {
    const std::string text = read_file(source.paths.root / end.proof.file);
    if (sha256_hex(text) != end.sha256) return refuse(said("proof.changed"), proof);
    const Document document = parse_document(text, end.proof.file, false);
    const ProofEvent* start = history.start_of(end.attempt);
    if (start == nullptr)
      return refuse(said("bind.not_of_job", file, said("bind.not_begun")), proof);
    const Step step = faulty_step(source, key, *start);
    if (const auto why = binding_problem(source, key, *start, step, document))
      return refuse(said("bind.not_of_job", file, *why), proof);
    if (!has_failed(document, end.proof.check)) return refuse(said("proof.no_check_failed"), proof);
    search_fault(document, step, plan_of(source, key, end.proof), proof);
  } catch (const Error& e) {
    refuse(said("end.unusable_record", terminal_safe(e.what())), proof);
  }
}

Proof load_proof(const ProofSource& source, const JobKey& key) {
  Proof out{.step = source.file.profile.steps[key.step].id, .host = key.host};
  const auto history = source.journal.proofs.find(key.name);
  const ProofEvent* end =
      history == source.journal.proofs.end() ? nullptr : history->second.deciding();
  if (end == nullptr) {
    out.reason = said("proof.not_made");
    return out;
  }
  const Proof& journaled = end->proof;
  if (journaled.step != out.step || journaled.host != out.host) {
    out.reason = said("proof.other");
    return out;
  }
  out = journaled;
  if (journaled.state == ProofState::shown) read_back(source, key, history->second, *end, out);
  return out;
}

}  // namespace

std::vector<Proof> load_proofs(const ProofSource& source, const std::vector<JobKey>& keys,
                               const std::vector<Job>& jobs) {
  std::vector<size_t> done;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (jobs[i].state == JobState::done && has_proof(keys[i])) done.push_back(i);
  }
  std::vector<Proof> out(done.size());
  on_all_processors(done.size(), [&](size_t i) { out[i] = load_proof(source, keys[done[i]]); });
  return out;
}

std::vector<std::string> foreign_proofs(const CampaignPaths& paths, const Journal& journal) {
  std::set<std::string> known;
  for (const auto& [job, history] : journal.proofs) {
    for (const ProofEvent& e : history.events) known.insert(e.proof.file);
  }
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(paths.proofs(), ignored)) {
    const std::string name = "proofs/" + entry.path().filename().string();
    if (!known.contains(name)) out.push_back(name);
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace cb
