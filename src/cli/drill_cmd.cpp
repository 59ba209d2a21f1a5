// `clusterbench drill`: makes faults on purpose and shows how they are seen. docs/methods/drill.md.
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "campaign/drills.h"
#include "cli/commands.h"
#include "cli/drill/agent.h"
#include "cli/drill/open_changes.h"
#include "cli/drill/runner.h"
#include "cli/offers.h"
#include "cli/run_cmd_setup.h"
#include "cli/stop_signals.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

struct DrillOptions {
  RunOptions launching;
  std::vector<std::string> ids, allowed;
  std::string directory, on, part, json;
  std::string into;  // the directory of a campaign to which the drills belong
  std::string rate = "20mbit";
  double hold_seconds = 20, deadline_seconds = 120;
};

struct AgentOptions {
  std::string list, id, token, part, rate = "20mbit";
  double hold_seconds = 20;
  bool undo = false;
};

ExitCode list_drills() {
  for (const Drill& d : all_drills())
    std::cout << fmt::format("{}{}\n             expected: {}\n", pad_right(d.id, 13), d.what,
                             d.expected)
              << (d.needs_part ? fmt::format("             --part: {}\n", d.part_help) : "");
  return ExitCode::ok;
}

// Asks at the terminal. There is none where stdin is something else.
bool ask_person(const std::string& prompt, double seconds) {
  if (::isatty(STDIN_FILENO) != 1) return false;
  std::cerr << terminal_safe(prompt) << std::endl;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const double until = monotonic_seconds() + seconds;
  while (monotonic_seconds() < until && stop_signals() == 0) {
    if (::poll(&input, 1, 100) <= 0) continue;
    std::string line;
    return static_cast<bool>(std::getline(std::cin, line));
  }
  return false;
}

// The others have no part in it.
bool of_one_host(const Drill& d) {
  return d.action == DrillAction::fill || d.action == DrillAction::xid;
}

void refuse_bad(const DrillOptions& o, const std::vector<HostSlots>& hosts) {
  Problems problems;
  const auto known = [&](const std::string& name) {
    return std::ranges::find(hosts, name, &HostSlots::name) != hosts.end();
  };
  for (const std::string& id : o.ids) {
    const Drill* d = find_drill(id);
    if (d == nullptr) continue;
    const bool allowed = std::ranges::find(o.allowed, id) != o.allowed.end();
    if (d->action != DrillAction::manual && !allowed)
      problems.add("--allow", fmt::format("{} changes the system ({}): name it with --allow {}", id,
                                          d->what, id));
    if (d->needs_part && o.part.empty())
      problems.add("--part", fmt::format("is missing: for {} it is {}", id, d->part_help));
    if (of_one_host(*d)) continue;
    if (hosts.size() < (d->action == DrillAction::slow ? 3 : 2))
      problems.add("--hosts", fmt::format("{} needs {} hosts", id,
                                          d->action == DrillAction::slow ? "three" : "two"));
    // The first host's rank writes the document: with it the drill's own witness would be lost.
    if (d->action != DrillAction::slow && hosts.size() > 1 && o.on == hosts.front().name)
      problems.add("--on",
                   "is the first host, whose rank writes the results: name another one, or "
                   "put it last in --hosts");
  }
  if (!o.on.empty() && !known(o.on)) problems.add("--on", "is none of the hosts");
  if (o.directory.empty() && o.into.empty())
    problems.add("--out", "is empty: name a fresh directory, or a campaign with --into");
  // Not a number is in no range, and CLI11 takes it.
  if (!std::isfinite(o.hold_seconds)) problems.add("--hold", "is no number of seconds");
  if (!std::isfinite(o.deadline_seconds)) problems.add("--deadline", "is no number of seconds");
  if (!problems.empty()) throw UsageError("clusterbench drill", problems);
}

DrillSetup drill_setup(DrillOptions& o, const Launching& launching) {
  if (o.on.empty()) o.on = launching.hosts.back().name;
  DrillSetup setup{
      .launch = launching.setup,
      .hosts = launching.hosts,
      .binary = fs::read_symlink("/proc/self/exe").string(),
      .directory = o.directory.empty() ? fs::path() : fs::absolute(o.directory).lexically_normal(),
      .on = o.on};
  for (HostSlots& h : setup.hosts) h.slots = std::max(h.slots, 1);
  setup.part = o.part;
  while (setup.part.size() > 1 && setup.part.ends_with('/')) setup.part.pop_back();
  setup.rate = o.rate;
  setup.hold_seconds = o.hold_seconds;
  setup.deadline_seconds = o.deadline_seconds;
  setup.stop_signals = stop_signals;
  setup.say = [](const std::string& text) {
    std::cerr << "   " << terminal_safe(text) << std::endl;
  };
  setup.ask = ask_person;
  return setup;
}

std::string line_of(const Record& r) {
  std::string out = fmt::format("   {}", pad_right(r.params.text("id"), 13));
  for (const Check& c : r.checks) out += fmt::format(" {} {}", c.passed ? "✓" : "✗", c.name);
  for (const char* name : {"time_to_detection_seconds", "time_to_recovery_seconds"}) {
    if (const Metric* m = r.find(name))
      out += fmt::format(
          "  {} {}", name == std::string("time_to_detection_seconds") ? "seen after" : "well after",
          format_seconds(m->samples.summary().median));
  }
  for (const Check& c : r.checks) {
    if (!c.passed) out += "\n      " + terminal_safe(c.detail.text());
  }
  return out + "\n";
}

Document document_of(const DrillSetup& setup, std::vector<Record> records) {
  Document out;
  out.tool = own_tool();
  out.run.started = records.empty() ? utc_now() : records.front().started;
  out.run.ended = utc_now();
  out.run.id = fs::path(setup.directory).filename().string();
  out.run.launcher = launcher_name(setup.launch.launcher);
  out.run.ranks = static_cast<int>(setup.hosts.size());
  for (const HostSlots& h : setup.hosts) out.run.hosts.push_back(h.name);
  out.records = std::move(records);
  return out;
}

// The unit and the direction of what a drill measures.
void declare(Record& record) {
  for (Metric& m : record.metrics) {
    const bool time = m.name.ends_with("_seconds");
    m.unit = time ? "seconds" : "bytes_per_second";
    m.better = time ? Better::lower : Better::higher;
  }
}

void require_known(const DrillOptions& o) {
  for (const std::string& id : o.ids) {
    if (find_drill(id) == nullptr)
      throw UsageError("clusterbench drill", "ID",
                       fmt::format("{} is no drill: see clusterbench drill list", id));
  }
}

// One drill: its line is printed.
Record made_drill(const std::string& id, const DrillSetup& setup) {
  Record record = run_drill(*find_drill(id), setup);
  declare(record);
  std::cout << line_of(record) << std::flush;
  return record;
}

bool is_good(const Record& record) { return std::ranges::all_of(record.checks, &Check::passed); }

// The campaign of --into, whose hosts and launcher are taken.
RunSetup drilled_campaign(const DrillOptions& o) {
  Problems problems;
  for (const auto& [name, value] :
       {std::pair("--hosts", &o.launching.hosts), std::pair("--hostfile", &o.launching.hostfile),
        std::pair("--out", &o.directory), std::pair("--json", &o.json)}) {
    if (!value->empty()) problems.add(name, "is fixed in the campaign: leave it out with --into");
  }
  if (o.launching.launcher != "auto")
    problems.add("--launcher", "is fixed in the campaign: leave it out with --into");
  if (!problems.empty()) throw UsageError("clusterbench drill", problems);
  RunOptions options{.profile = o.into};
  options.key = o.launching.key;
  options.trust = o.launching.trust;
  options.resume = true;
  try {
    return run_setup(options);
  } catch (const UsageError& e) {
    throw UsageError("clusterbench drill", e.problems());
  }
}

// What an earlier drill of the campaign has changed and nobody has undone would spoil this one.
void refuse_open_changes(const fs::path& root) {
  const std::vector<std::string> open = open_drill_changes(root);
  if (open.empty()) return;
  throw UsageError(
      "clusterbench drill", "--into",
      "has changes of an earlier drill that are not undone: " + terminal_safe(open.front()));
}

// Makes the drills as jobs of a campaign: each is journaled before anything is changed.
ExitCode run_into(DrillOptions o) {
  const RunSetup campaign = drilled_campaign(o);
  DrillJournal journal(campaign);
  DrillSetup setup = drill_setup(o, {campaign.campaign.launch, journal.roster().active()});
  setup.redact = campaign.campaign.redact;
  refuse_bad(o, setup.hosts);
  refuse_open_changes(campaign.paths.root);
  catch_stop_signals();
  bool good = true;
  for (const std::string& id : o.ids) {
    const JobEvent attempt = journal.begin(id, setup.on);
    setup.directory = journal.directory(attempt);
    fs::create_directories(setup.directory);
    try {
      const Record record = made_drill(id, setup);
      good = good && is_good(record);
      journal.end(attempt, document_of(setup, {record}));
    } catch (const Error& e) {
      journal.end(attempt, e.said(), e.code());
      journal.close();
      throw;
    } catch (const std::exception& e) {
      journal.end(attempt, e.what());
      journal.close();
      throw;
    }
  }
  journal.close();
  return good ? ExitCode::ok : ExitCode::not_accepted;
}

ExitCode run(DrillOptions o) {
  require_known(o);
  if (!o.into.empty()) return run_into(std::move(o));
  const DrillSetup setup = drill_setup(o, choose_launching(o.launching));
  refuse_bad(o, setup.hosts);
  catch_stop_signals();
  std::error_code failed;
  fs::create_directories(setup.directory, failed);
  if (failed)
    throw Error(fmt::format("cannot create {}: {}", setup.directory.string(), failed.message()));
  if (!UndoList(undo_file(setup.directory)).open().empty())
    throw UsageError(
        "clusterbench drill", "--out",
        fmt::format("has changes of an earlier drill that are not undone: clusterbench "
                    "drill restore {} first",
                    o.directory));
  if (!fs::is_empty(setup.directory, failed))
    throw UsageError("clusterbench drill", "--out",
                     fmt::format("{} is not empty: name a fresh directory, so that no result is "
                                 "replaced",
                                 o.directory));
  std::vector<Record> records;
  bool good = true;
  for (const std::string& id : o.ids) {
    Record record = made_drill(id, setup);
    good = good && is_good(record);
    records.push_back(std::move(record));
    const fs::path file = o.json.empty() ? setup.directory / "drill.json" : fs::path(o.json);
    write_file_atomically(file, to_json_text(document_of(setup, records)));
  }
  return good ? ExitCode::ok : ExitCode::not_accepted;
}

ExitCode restore(DrillOptions o) {
  const DrillSetup setup = drill_setup(o, choose_launching(o.launching));
  if (!fs::is_directory(setup.directory))
    throw UsageError("clusterbench drill restore", "DIR", "is no directory of a drill");
  restore_drills(setup);
  std::cout << "nothing is left to undo\n";
  return ExitCode::ok;
}

ExitCode agent(const AgentOptions& o) {
  const UndoList list(o.list);
  if (o.undo) {
    undo_here(list);
    return ExitCode::ok;
  }
  const Drill* drill = find_drill(o.id);
  if (drill == nullptr) throw UsageError("clusterbench drill agent", "--do", "is no drill");
  inject({drill->action, o.token, o.part, o.rate, o.hold_seconds, list});
  return ExitCode::ok;
}

void add_launching(CLI::App& sub, RunOptions& o) {
  sub.add_option("--hosts", o.hosts, "hosts: a,b or node[01-16]")->type_name("LIST");
  sub.add_option("--hostfile", o.hostfile, "hosts as in an Open MPI hostfile")->type_name("FILE");
  offer(sub.add_option("--launcher", o.launcher, "auto, mpirun, srun or none [auto]"),
        launcher_names())
      ->type_name("NAME");
}

void add_run(CLI::App& parent, Action& action) {
  CLI::App* sub = parent.add_subcommand("run", "make faults, and see whether they are seen");
  const auto o = std::make_shared<DrillOptions>();
  sub->footer(
      "Example:\n  clusterbench drill run stop-rank --hosts n1,n2,n3 --on n3 --allow stop-rank "
      "--out out/drill");
  sub->add_option("ID", o->ids, "drills, see clusterbench drill list")->required()->delimiter(',');
  add_launching(*sub, o->launching);
  sub->add_option("--on", o->on, "the host that the drill is about [the last one]")
      ->type_name("HOST");
  sub->add_option("--part", o->part, "interface or directory that the drill is about")
      ->type_name("NAME");
  sub->add_option("--allow", o->allowed, "this drill may change the system (repeatable)")
      ->delimiter(',')
      ->type_name("ID");
  sub->add_option("--out", o->directory, "directory of documents, logs and the list of changes")
      ->type_name("DIR");
  sub->add_option("--into", o->into,
                  "directory of a campaign: its criteria on drills judge the result")
      ->type_name("DIR");
  sub->add_option("--key", o->launching.key, "with --into: the private key of the campaign")
      ->type_name("FILE");
  sub->add_flag("--trust", o->launching.trust, "with --into: a campaign that somebody else began");
  sub->add_option("--rate", o->rate, "of slow-link, as tc takes it [20mbit]")->type_name("RATE");
  sub->add_option("--hold", o->hold_seconds, "seconds for which cut-link cuts [20]")
      ->check(CLI::Range(1.0, 3600.0))
      ->type_name("SECONDS");
  sub->add_option("--deadline", o->deadline_seconds, "of each measurement, seconds [120]")
      ->check(CLI::Range(10.0, 3600.0))
      ->type_name("SECONDS");
  sub->add_option("--json", o->json, "write the result document here [DIR/drill.json]")
      ->type_name("FILE");
  sub->callback([&action, o] { action = [o] { return run(*o); }; });
}

void add_restore(CLI::App& parent, Action& action) {
  CLI::App* sub = parent.add_subcommand("restore", "undo what a killed drill has changed");
  const auto o = std::make_shared<DrillOptions>();
  sub->footer("Example:\n  clusterbench drill restore out/drill --hosts n1,n2,n3");
  sub->add_option("directory", o->directory, "the drill's --out")->required()->type_name("DIR");
  add_launching(*sub, o->launching);
  sub->callback([&action, o] { action = [o] { return restore(*o); }; });
}

void add_agent(CLI::App& parent, Action& action) {
  CLI::App* sub = parent.add_subcommand("agent", "started by a drill on its host");
  sub->group("");
  const auto o = std::make_shared<AgentOptions>();
  sub->add_option("--list", o->list)->required();
  sub->add_option("--do", o->id);
  sub->add_option("--token", o->token);
  sub->add_option("--part", o->part);
  sub->add_option("--rate", o->rate);
  sub->add_option("--hold", o->hold_seconds);
  sub->add_flag("--undo", o->undo);
  sub->callback([&action, o] { action = [o] { return agent(*o); }; });
}

}  // namespace

void add_drill_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("drill", "make faults on purpose, and see whether they are seen");
  sub->group("Acceptance");
  sub->require_subcommand(1);
  sub->footer("Example:\n  clusterbench drill list");
  CLI::App* list = sub->add_subcommand("list", "the drills, and how each must be seen");
  list->footer("Example:\n  clusterbench drill list");
  list->callback([&action] { action = list_drills; });
  add_run(*sub, action);
  add_restore(*sub, action);
  add_agent(*sub, action);
}

}  // namespace cb
