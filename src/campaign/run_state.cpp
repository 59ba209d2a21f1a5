#include "campaign/run_state.h"

#include "campaign/lost.h"
#include "campaign/rails.h"
#include "core/file.h"

namespace cb {

RunState::RunState(const RunSetup& s, const RunObserver& o)
    : setup(s),
      observer(o),
      profile(s.campaign.profile),
      roster(s.campaign.hosts, s.campaign.spares),
      root(chain_root(s.campaign, read_file(s.paths.campaign()))),
      journal(read_journal(s.paths.journal(), root)),
      writer(s.paths.journal(), root.campaign_sha256, s.key) {}

Step RunState::step_for(const JobKey& key) const {
  const Step& step = step_of(key);
  if (!key.rail) return step;
  const RailHosts hosts = rail_hosts(hosts_of(key), inventories);
  return step_on_rail(step, find_rail(step, *key.rail, hosts));
}

int RunState::attempts(const std::string& job) const {
  const JobEvent* start = journal.last_start(job);
  return start == nullptr ? 0 : start->attempt;
}

std::optional<Document> RunState::figures_of(const std::string& job,
                                             const std::string& fingerprint) const {
  return standing_figures(journal.documents(job, fingerprint), setup.paths.root);
}

std::vector<HostInventory> RunState::all_inventories() const {
  std::vector<HostInventory> out;
  for (const auto& [host, inventory] : inventories) out.push_back(inventory);
  return out;
}

void RunState::note(JobEvent event) {
  writer.job(event);
  observer.job_changes(event);
  event.session = journal.sessions.empty() ? 0 : journal.sessions.size() - 1;
  journal.jobs[event.job].push_back(std::move(event));
}

}  // namespace cb
