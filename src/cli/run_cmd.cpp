// `clusterbench run PROFILE`: measures every step of a profile, then judges.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/registry.h"
#include "campaign/again.h"
#include "campaign/headline.h"
#include "campaign/load.h"
#include "campaign/prove.h"
#include "campaign/roster.h"
#include "cli/board_lines.h"
#include "cli/commands.h"
#include "cli/drill/open_changes.h"
#include "cli/gate_cmd_lines.h"
#include "cli/judging.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "cli/run_board.h"
#include "cli/run_cmd_setup.h"
#include "cli/run_copy.h"
#include "cli/run_proofs.h"
#include "cli/stop_signals.h"
#include "core/file.h"
#include "core/profile_soak.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

// If kMaxAttempts measurements leave a verdict open, it stays open.
constexpr size_t kMoreRounds = kMaxAttempts - 1;

std::string step_label(const Step& step) { return pad_right(terminal_safe(step.id), 24); }

// The line of a step that has ended, and one more line for each job that failed.
std::string step_lines(const Profile& profile, const Step& step, const std::vector<JobOutcome>& all,
                       double seconds, size_t cycle, const std::set<std::string>& replaced) {
  // A host that a spare has replaced owes nothing any more.
  std::vector<JobOutcome> outcomes;
  std::ranges::copy_if(all, std::back_inserter(outcomes), [&](const JobOutcome& o) {
    const bool owed = o.state == JobState::done || (o.state != JobState::missing && !o.kept);
    return owed || !replaced.contains(o.key.host);
  });
  std::vector<const Document*> documents;
  const JobOutcome* not_applicable = nullptr;
  std::string failures;
  size_t bad = 0, kept = 0;
  for (const JobOutcome& o : outcomes) {
    if (o.document) documents.push_back(&*o.document);
    kept += o.kept ? 1 : 0;
    if (o.state == JobState::not_applicable) not_applicable = &o;
    if (o.state == JobState::done || o.state == JobState::not_applicable) continue;
    ++bad;
    failures += fmt::format("      {}{}\n",
                            o.key.label().empty() ? "" : terminal_safe(o.key.label()) + ": ",
                            terminal_safe(o.reason.text()));
  }
  const std::string of_cycle = cycle == 0                        ? ""
                               : is_last_reading(profile, cycle) ? "  last reading"
                                                                 : fmt::format("  cycle {}", cycle);
  const std::string time =
      (kept == outcomes.size() ? "done before" : format_seconds(seconds)) + of_cycle;
  if (bad > 0)
    return fmt::format("   {} ✗ {} of {} jobs not done  {}\n{}", step_label(step), bad,
                       outcomes.size(), time, failures);
  if (documents.empty())
    return fmt::format(
        "   {} – not applicable: {}\n", step_label(step),
        not_applicable == nullptr ? "no hosts" : terminal_safe(not_applicable->reason.text()));
  const char* mark = failed_checks(documents) > 0 ? "✗" : "✓";
  for (const Document* document : documents) {
    for (const Record& record : document->records) {
      if (const auto* s = std::get_if<Skipped>(&record.outcome))
        return fmt::format("   {} – skipped: {}  {}\n", step_label(step),
                           terminal_safe(s->reason.text()), time);
    }
  }
  return fmt::format("   {} {} {}  {}\n", step_label(step), mark,
                     pad_right(headline(documents, metric_rules(profile, step.id)), 56), time);
}

std::string launcher_remark(const LaunchSetup& launch) {
  if (launch.launcher != Launcher::mpirun) return "";
  if (launch.hydra) return " (Hydra, of MPICH or Intel MPI)";
  return launch.as_root ? " as root (--allow-run-as-root)" : "";
}

std::string heading(const RunSetup& setup) {
  const CampaignFile& c = setup.campaign;
  int slots = 0;
  for (const HostSlots& h : c.hosts) slots += h.slots;
  const std::string spares = c.spares.empty() ? ""
                                              : fmt::format(" and {} spare{}", c.spares.size(),
                                                            c.spares.size() == 1 ? "" : "s");
  return fmt::format("{} on {} host{}{}, {} slot{}, launcher {}{} → {}\n",
                     terminal_safe(c.profile.name), c.hosts.size(), c.hosts.size() == 1 ? "" : "s",
                     spares, slots, slots == 1 ? "" : "s", launcher_name(c.launch.launcher),
                     launcher_remark(c.launch), terminal_safe(setup.paths.root.string()));
}

// What a step on pairs, groups or rails costs: their number grows with that of the hosts.
std::string cost_line(const RunSetup& setup, const Step& step) {
  if (step.scope == Scope::host || step.scope == Scope::cluster) return "";
  const StepCost cost = step_cost(step, setup.campaign.hosts.size(), setup.executor.fan_out);
  return fmt::format(
      "# {}: {} job{} on {}{}, {} at once in {} turn{}, at most {}\n", terminal_safe(step.id),
      cost.jobs, cost.jobs == 1 ? "" : "s", scope_name(step.scope),
      step.scope == Scope::groups ? fmt::format(" of {}", step.group_size) : "", cost.side_by_side,
      cost.turns, cost.turns == 1 ? "" : "s", format_seconds(cost.longest_seconds));
}

// The steps of a soak that read once more after its last cycle.
std::string readings_line(const Profile& profile) {
  std::string names;
  for (const Step& step : profile.steps) {
    if (is_reading(profile, step)) names += (names.empty() ? "" : ", ") + terminal_safe(step.id);
  }
  return names.empty() ? "" : fmt::format("# after the last cycle once more: {}\n", names);
}

ExitCode dry_run(const RunSetup& setup) {
  const Roster roster = roster_so_far(setup);
  std::optional<StepRound> round;
  for (const JobKey& key : campaign_jobs(setup.campaign, roster)) {
    if (key.cycle > 1) continue;
    if (round != StepRound{key.step, key.cycle}) {
      round = {key.step, key.cycle};
      std::cout << cost_line(setup, setup.campaign.profile.steps[key.step]);
    }
    const auto record = setup.paths.root / CampaignPaths::record(key.name);
    std::cout << terminal_safe(shell_text(job_command(setup, key, roster.hosts_of(key), record)))
              << '\n';
  }
  if (const auto& soak = setup.campaign.profile.soak)
    std::cout << fmt::format("# the steps of the soak are repeated in {} cycles, one every {}\n",
                             soak->cycles(), format_seconds(soak->every_seconds))
              << readings_line(setup.campaign.profile);
  const Profile& profile = setup.campaign.profile;
  std::cerr
      << heading(setup)
      << fmt::format(
             "plan: {} steps, at most {} if every deadline and every retry is used up; what a "
             "changed set of hosts or an open verdict repeats comes on top\n",
             profile.steps.size(),
             format_seconds(
                 longest_seconds(profile, setup.campaign.hosts.size(), setup.executor.fan_out)));
  if (setup.prove) std::cout << proof_commands(setup);
  return ExitCode::ok;
}

ExitCode conclude(const RunSetup& setup, bool no_color) {
  const Campaign campaign = load_campaign(setup.paths.root, catalogue());
  const Judgement judgement = judge_campaign(campaign, campaign.profile, {}, today_utc());
  const bool color = stdout_color(no_color);
  std::cout << gate_lines(judgement, color)
            << fmt::format("{} · {}\n", verdict_line(judgement, color),
                           terminal_safe(setup.paths.root.string()))
            << std::flush;
  return exit_code(judgement);
}

// What goes on with the campaign. The copies of a run are gone after it.
std::string resume_command(const RunSetup& setup, const RunOptions& options) {
  std::string out = "clusterbench run --resume " + setup.paths.root.string();
  if (!options.copy_to.empty()) return out + " --copy-to " + options.copy_to;
  return options.copy ? out + " --copy" : out;
}

ExitCode interrupted(const RunSetup& setup, const RunOptions& options, const RunEnd& end) {
  const std::string where =
      setup.again.empty() ? fmt::format("after {} of {} steps", end.steps_ended,
                                        plan_rounds(setup.campaign.profile).size())
                          : "while figures that leave the verdict open were measured once more";
  std::cerr << fmt::format("interrupted {}\ncontinue with: {}\n", where,
                           terminal_safe(resume_command(setup, options)));
  return ExitCode::interrupted;
}

std::set<std::pair<std::string, std::string>> open_jobs(const RunSetup& setup) {
  const Campaign campaign = load_campaign(setup.paths.root, catalogue());
  return jobs_to_repeat(campaign, judge(campaign, campaign.profile, {}, today_utc()));
}

// Observes only the steps that are measured once more.
RunObserver again_only(const RunObserver& observer, const RunSetup& setup) {
  const auto concerned = [&setup](const Step& step) {
    return std::ranges::any_of(setup.again, [&](const auto& a) { return a.first == step.id; });
  };
  RunObserver out = observer;
  out.step_begins = [=](const Step& step) {
    if (concerned(step)) observer.step_begins(step);
  };
  out.step_ends = [=](const Step& step, const std::vector<JobOutcome>& outcomes, double seconds) {
    if (concerned(step)) observer.step_ends(step, outcomes, seconds);
  };
  return out;
}

// Runs every step, then what is still open once more, and then the proofs.
RunEnd run_all(RunSetup& setup, const RunObserver& observer) {
  RunEnd end = run_campaign(setup, observer);
  for (size_t round = 0; round < kMoreRounds && !end.interrupted; ++round) {
    setup.again = open_jobs(setup);
    if (setup.again.empty()) break;
    std::cerr << fmt::format("   inconclusive or failing: {} job{} measured once more\n",
                             setup.again.size(), setup.again.size() == 1 ? "" : "s");
    setup.lets_back = false;  // whoever is out stays out for this run
    setup.only.clear();       // what --only asked for is measured
    end = run_campaign(setup, again_only(observer, setup));
  }
  if (!end.interrupted && wants_proofs(setup)) end.interrupted = !prove_steps(setup);
  return end;
}

// What happened to a host, and the next step.
std::string excluded_lines(const RunSetup& setup, const ExcludedHost& out) {
  const std::string next =
      !out.by.empty() ? fmt::format("{} takes its place", out.by)
                      : fmt::format("repair it, then: clusterbench run --only {} --into {}",
                                    out.host, setup.paths.root.string());
  return terminal_safe(fmt::format("   ! {}: {}", out.host, out.reason.text())) + "\n" +
         terminal_safe(fmt::format("      {}", next)) + "\n";
}

ExitCode run(const RunOptions& given) {
  RunOptions options = given;
  settle_options(options);
  RunSetup setup = run_setup(options);
  check_copy_options(options, setup.campaign.launch.launcher);
  if (options.dry_run) {
    if (!options.resume) refuse_used_directory(setup.paths);
    return dry_run(setup);
  }
  catch_stop_signals();
  setup.executor.stop_signals = stop_signals;
  if (!std::filesystem::exists(setup.paths.campaign()) || !options.resume)
    create_campaign(setup.paths, setup.campaign);
  const CampaignLock lock(setup.paths);
  std::cerr << heading(setup);
  if (!setup.only.empty() && setup.campaign.profile.soak)
    std::cerr << "   the cycles of the soak are not repeated: what they found stays\n";
  for (const std::string& line : open_drill_changes(setup.paths.root))
    std::cerr << "   ! " << terminal_safe(line) << '\n';
  RunBoard board(setup, can_draw(STDERR_FILENO), options.prometheus);
  // The executor asks for stop signals all the time: that is when the board is drawn again.
  setup.executor.stop_signals = [&board] {
    board.tick();
    return stop_signals();
  };
  size_t cycle = 0;
  std::set<std::string> replaced;
  for (const ExcludedHost& out : roster_so_far(setup).excluded()) {
    if (!out.by.empty()) replaced.insert(out.host);
  }
  const RunObserver observer{
      .step_begins = [](const Step&) {},
      .step_ends =
          [&](const Step& step, const std::vector<JobOutcome>& outcomes, double seconds) {
            board.round_ends();
            std::cerr << step_lines(setup.campaign.profile, step, outcomes, seconds, cycle,
                                    replaced)
                      << std::flush;
          },
      .stopping =
          [&] {
            board.clear();
            std::cerr << "stopping: waiting for the running jobs to end\n" << std::flush;
          },
      .round_begins =
          [&](const StepRound& round) {
            cycle = round.cycle;
            board.round_begins(round);
          },
      .job_changes = [&](const JobEvent& event) { board.job_changes(event); },
      .resting = [&](double seconds) { board.rests(seconds); },
      .excluded =
          [&](const ExcludedHost& out) {
            if (!out.by.empty()) replaced.insert(out.host);
            board.clear();
            std::cerr << excluded_lines(setup, out) << std::flush;
          },
      .returned =
          [&](const std::string& host, bool as_spare) {
            board.clear();
            std::cerr << fmt::format(
                             "   {} answers and {}\n", terminal_safe(host),
                             as_spare ? "waits as the last of the spares" : "takes part again")
                      << std::flush;
          },
      .silent =
          [&](const std::string& host) {
            board.clear();
            std::cerr << fmt::format(
                             "   {} does not answer within {}: nothing of it is measured; repair "
                             "it and do this again\n",
                             terminal_safe(host), format_seconds(setup.roll_call_seconds))
                      << std::flush;
          }};
  RunEnd end;
  ProgramCopies copies(setup, options);
  try {
    end = run_all(setup, observer);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    throw Error(fmt::format("{}\n  when mended, continue with: {}", e.what(),
                            resume_command(setup, options)),
                e.code());
  }
  board.finish();
  copies.remove();
  return end.interrupted ? interrupted(setup, options, end) : conclude(setup, options.no_color);
}

// Refuses an empty value: an unset variable of a script would silently mean this host alone.
std::string not_empty(const std::string& text) {
  return text.empty() ? "is empty: name the hosts, or leave the option out" : "";
}

std::string not_empty_file(const std::string& file) {
  if (file.empty()) return "is empty: name a file, or leave the option out";
  const auto why = why_not_writable(file);
  return why ? *why : "";
}

void add_options(CLI::App& sub, RunOptions& options) {
  offer(sub.add_option("profile", options.profile,
                       "name or file of a profile; with --resume the campaign's directory"),
        built_in_profiles())
      ->type_name("PROFILE|DIR");
  sub.add_option("--out", options.out, "the campaign's directory [out/<time>-<host>]")
      ->type_name("DIR");
  sub.add_option("--hosts", options.hosts, "hosts and their slots: a:2,b:2 or node[01-16]:8")
      ->check(not_empty)
      ->type_name("LIST");
  sub.add_option("--hostfile", options.hostfile,
                 "hosts as in an Open MPI hostfile, a plain list or Slurm node lists")
      ->check(not_empty)
      ->type_name("FILE");
  sub.add_option("--spares", options.spares,
                 "hosts that step in for those that are taken out, in this order")
      ->check(not_empty)
      ->type_name("LIST");
  offer(sub.add_option("--exclude", options.exclude,
                       "hosts to take out: never, lost (they do not answer, or hang a step) or "
                       "failing (besides, a step fails on them or finds wrong data) [lost]"),
        exclude_names())
      ->type_name("WHICH");
  sub.add_option("--only", options.only,
                 "with --into: measure these hosts of that campaign again, after a repair")
      ->check(not_empty)
      ->type_name("LIST");
  sub.add_option("--into", options.into, "the campaign's directory, with --only")->type_name("DIR");
  offer(sub.add_option("--launcher", options.launcher, "auto, mpirun, srun or none [auto]"),
        launcher_names())
      ->type_name("NAME");
  sub.add_option("--dir", options.dirs,
                 "directories that storage steps measure, one after the other: one of each drive; "
                 "by default the campaign's own")
      ->check(not_empty)
      ->delimiter(',')
      ->type_name("LIST");
  sub.add_flag("--copy", options.copy,
               "bring this program to the hosts through the launcher, and remove it afterwards");
  sub.add_option("--copy-to", options.copy_to,
                 "the same, below this directory of every host [/tmp, /var/tmp or /dev/shm]")
      ->check(not_empty)
      ->type_name("DIR");
  sub.add_option("--profile-dir", options.profile_directory, "look for profiles here first")
      ->type_name("DIR");
  sub.add_option("--fan-out", options.fan_out, "hosts measured at once in steps of one host [32]")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  sub.add_flag("--resume", options.resume, "continue a campaign; what is done is not repeated");
  sub.add_option("--key", options.key,
                 "sign every event as it is measured, with this private Ed25519 key (PEM)")
      ->type_name("FILE");
  sub.add_flag("--redact", options.redact,
               "record no value of the jobs' command lines and environments");
  sub.add_flag("--trust", options.trust,
               "with --resume: execute a campaign that was begun elsewhere or by somebody else");
  sub.add_flag(
      "--prove", options.prove,
      "afterwards plant a fault in a short job of every step, which its check has to find");
  sub.add_flag("--dry-run", options.dry_run,
               "print the plan, the commands and the longest time that they take; run nothing");
  sub.add_option("--prom", options.prometheus,
                 "while it runs, keep its progress in this file as Prometheus text (textfile "
                 "collector)")
      ->check(not_empty_file)
      ->type_name("FILE");
  sub.add_flag("--no-color", options.no_color, "no colour, also on a terminal");
}

}  // namespace

void add_run_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("run", "measure what a profile asks for, and judge");
  const auto options = std::make_shared<RunOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Example:\n  clusterbench run host-quick --out out/acceptance\n"
      "  clusterbench run nvme-gen4 --dir /mnt/nvme0,/mnt/nvme1\n"
      "  clusterbench run --resume out/acceptance");
  add_options(*sub, *options);
  sub->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace cb
