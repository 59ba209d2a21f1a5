#include "bench/cpu/blas_choice.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "bench/cpu/freivalds.h"
#include "bench/cpu/openblas_cores.h"
#include "core/clock.h"
#include "core/stats.h"
#include "core/units.h"
#include "sys/os/child_process.h"

namespace cb {
namespace {

using nlohmann::json;

// It takes about a second to start, load and measure one candidate. A first call that compiles
// kernels, or a loaded host, adds a few seconds.
constexpr double kProbeDeadlineSeconds = 20;
constexpr size_t kFinalists = 3;
constexpr double kNear = 0.8;  // share of the fastest figure
constexpr int kFinalRounds = 2;

ProbeFigure probe_type(const ProbeRequest& request, GemmType type, Team& team) {
  const auto opened = open_host_gemm(request.candidate.library, request.candidate.core, type, team);
  if (const auto* absent = std::get_if<host_blas::Absent>(&opened)) throw Error(absent->reason);
  const HostGemm& gemm = std::get<HostGemm>(opened);
  GemmData data(type, {request.size, request.size, request.size}, 1, team);
  gemm.multiply(data);
  const ProductCheck check = check_product(data, 2, 2, team);
  if (!check.passed) throw Error(said("gemm.product_wrong", check.detail));
  double best = 1e300;
  const double start = monotonic_seconds();
  for (int i = 0; i < 3 || monotonic_seconds() - start < request.seconds; ++i) {
    const double before = monotonic_seconds();
    gemm.multiply(data);
    best = std::min(best, monotonic_seconds() - before);
  }
  return {gemm_operations(data.shape()) / best, gemm.version, gemm.core};
}

std::vector<std::string> type_names(const std::vector<GemmType>& types) {
  std::vector<std::string> out;
  for (const GemmType t : types) out.push_back(gemm_type_name(t));
  return out;
}

ProbeAnswer failed(const std::vector<GemmType>& types, const std::string& reason) {
  ProbeAnswer out;
  for (const GemmType t : types) out[t] = reason;
  return out;
}

// What is known of one candidate for one type.
struct Ranking {
  Candidate candidate;
  std::vector<double> figures;
  std::string core;
  std::string reason;  // why there is no figure
  double figure() const { return figures.empty() ? 0 : median(figures); }
};

void add(Ranking& standing, const std::variant<ProbeFigure, std::string>& answer) {
  if (const auto* figure = std::get_if<ProbeFigure>(&answer)) {
    standing.figures.push_back(figure->operations_per_second);
    standing.core = figure->core;
  } else {
    standing.reason = std::get<std::string>(answer);
  }
}

void sort_fastest_first(std::vector<Ranking>& standings) {
  std::stable_sort(standings.begin(), standings.end(),
                   [](const Ranking& a, const Ranking& b) { return a.figure() > b.figure(); });
}

Said why_without_figure(const std::string& name, const std::string& reason, GemmType type) {
  const char* product = gemm_type_name(type);
  if (reason == has_no_product(type)) return said("gemm.no_product", name, product);
  return said("gemm.candidate_failed", name, reason);
}

Said figures_text(const std::vector<Ranking>& standings, GemmType type) {
  const char* unit = type == GemmType::int8 ? "operations_per_second" : "flops_per_second";
  std::vector<Said> out;
  for (const Ranking& s : standings) {
    std::string name = candidate_name(s.candidate);
    if (s.candidate.core.empty() && !s.core.empty()) name += fmt::format(" ({})", s.core);
    out.push_back(s.figures.empty()
                      ? why_without_figure(name, s.reason, type)
                      : Said(fmt::format("{} {}", name, format_value(s.figure(), unit))));
  }
  return said_names(out);
}

// The candidates so near to the fastest that noise may have ranked them wrongly. Empty if the
// fastest has no rival.
std::vector<Candidate> finalists(std::vector<Ranking>& standings) {
  sort_fastest_first(standings);
  std::vector<Candidate> out;
  for (size_t i = 0; i < std::min(kFinalists, standings.size()); ++i) {
    if (standings[i].figure() > kNear * standings[0].figure())
      out.push_back(standings[i].candidate);
  }
  return out.size() > 1 ? out : std::vector<Candidate>{};
}

Ranking& standing_of(std::vector<Ranking>& standings, const Candidate& candidate) {
  return *std::find_if(standings.begin(), standings.end(),
                       [&](const Ranking& s) { return s.candidate == candidate; });
}

// A candidate that failed in any round does not win.
Choice decide(std::vector<Ranking>& standings, GemmType type) {
  for (Ranking& s : standings) {
    if (!s.reason.empty()) s.figures.clear();
  }
  sort_fastest_first(standings);
  const Said text = figures_text(standings, type);
  if (standings.empty() || standings[0].figures.empty())
    throw Error(said("gemm.no_library", gemm_type_name(type), text));
  return {standings[0].candidate, text};
}

json to_json(const std::map<GemmType, Choice>& choices) {
  json out = json::object();
  for (const auto& [type, choice] : choices)
    out[gemm_type_name(type)] = {choice.candidate.library, choice.candidate.core,
                                 pack_said(choice.figures)};
  return out;
}

std::map<GemmType, Choice> from_json(const json& object) {
  std::map<GemmType, Choice> out;
  for (const auto& [name, c] : object.items())
    out[gemm_type(name)] = {{c[0].get<std::string>(), c[1].get<std::string>()},
                            unpack_said(c[2].get<std::string>())};
  return out;
}

}  // namespace

std::string candidate_name(const Candidate& c) {
  return c.core.empty() ? c.library : c.library + ":" + c.core;
}

std::vector<Candidate> candidates(const std::string& library) {
  std::vector<Candidate> out;
  const bool all = library == "auto";
  if (all || library == "openblas") {
    out.push_back({"openblas", ""});
    for (const std::string& core : openblas_cores()) out.push_back({"openblas", core});
  }
  for (const char* name : {"blis", "onednn", "builtin"}) {
    if (all || library == name) out.push_back({name, ""});
  }
  return out;
}

std::string probe_text(const ProbeRequest& request) {
  Team team(request.cpus);
  json out = json::object();
  for (const GemmType type : request.types) {
    json& answer = out[gemm_type_name(type)];
    try {
      const ProbeFigure f = probe_type(request, type, team);
      answer = {{"operations_per_second", f.operations_per_second},
                {"version", f.version},
                {"core", f.core}};
    } catch (const std::exception& e) {
      answer = {{"reason", e.what()}};
    }
  }
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::vector<std::string> probe_arguments(const ProbeRequest& r) {
  return {"blas-probe",
          "--library",
          r.candidate.library,
          "--core",
          r.candidate.core,
          "--dtype",
          fmt::format("{}", fmt::join(type_names(r.types), ",")),
          "--cpus",
          fmt::format("{}", fmt::join(r.cpus, ",")),
          "--size",
          std::to_string(r.size),
          "--seconds",
          fmt::format("{}", r.seconds)};
}

ProbeAnswer parse_probe(const std::string& text) {
  ProbeAnswer out;
  const json answers = json::parse(text);
  for (const auto& [name, answer] : answers.items()) {
    if (answer.contains("reason")) {
      out[gemm_type(name)] = answer["reason"].get<std::string>();
    } else {
      out[gemm_type(name)] = ProbeFigure{answer.at("operations_per_second").get<double>(),
                                         answer.at("version").get<std::string>(),
                                         answer.at("core").get<std::string>()};
    }
  }
  return out;
}

ProbeAnswer probe_in_child(const ProbeRequest& request) {
  std::vector<std::string> argv = probe_arguments(request);
  argv.insert(argv.begin(), "/proc/self/exe");
  // The child must not take itself for a rank of the job.
  const auto environment =
      child_environment({"OMPI_", "PMIX_", "PMI_", "PRTE_", "OPENBLAS_CORETYPE="}, {});
  const ChildResult child = run_child(argv, environment, kProbeDeadlineSeconds);
  if (!child.ok) return failed(request.types, child.how);
  try {
    return parse_probe(child.out);
  } catch (const std::exception& e) {
    return failed(request.types, fmt::format("unreadable answer: {}", e.what()));
  }
}

std::map<GemmType, Choice> choose(const ProbeRequest& request, const std::string& library,
                                  const Prober& prober, const std::function<void()>& moved) {
  std::map<GemmType, Choice> out;
  if (library == "builtin") {  // there is nothing to compare, and our own code needs no trial
    for (const GemmType type : request.types)
      out[type] = {{library, ""}, said("gemm.builtin_asked")};
    return out;
  }
  std::map<GemmType, std::vector<Ranking>> table;
  for (const Candidate& c : candidates(library)) {
    ProbeRequest mine = request;
    mine.candidate = c;
    ProbeAnswer answer = prober(mine);
    moved();
    for (const GemmType type : request.types) {
      Ranking standing{.candidate = c};
      add(standing, answer.contains(type) ? answer[type] : "no answer");
      table[type].push_back(std::move(standing));
    }
  }
  // Only types that are still open are measured again: a type with one clear winner costs nothing
  // more.
  std::map<Candidate, std::vector<GemmType>> finals;
  for (auto& [type, standings] : table) {
    for (const Candidate& c : finalists(standings)) finals[c].push_back(type);
  }
  for (int round = 0; round < kFinalRounds; ++round) {
    for (const auto& [candidate, types] : finals) {
      ProbeRequest again = request;
      again.candidate = candidate;
      again.types = types;
      ProbeAnswer answer = prober(again);
      moved();
      for (const GemmType type : types)
        add(standing_of(table[type], candidate),
            answer.contains(type) ? answer[type] : "no answer");
    }
  }
  for (auto& [type, standings] : table) out[type] = decide(standings, type);
  return out;
}

std::map<GemmType, Choice> choose_on_hosts(Context& context, const ProbeRequest& request,
                                           const std::string& library, const Prober& prober) {
  json mine;
  if (context.place.first_on_host()) {
    context.watchdog.note("choosing the library");
    try {
      mine["choices"] = to_json(choose(request, library, prober, [&] {
        context.watchdog.alive();
        if (context.cancel.cancelled()) throw Interrupted();
      }));
    } catch (const Interrupted&) {
      mine["interrupted"] = true;
    } catch (const std::exception& e) {
      mine["error"] = pack_said(said_by(e));
    }
    mine["host"] = context.place.host;
  }
  context.watchdog.note("waiting for the hosts' choice of a library");
  json all = json::object();
  for (const std::string& blob : context.comm.gather(mine.is_null() ? "" : mine.dump())) {
    if (blob.empty()) continue;
    const json one = json::parse(blob);
    all[one.at("host").get<std::string>()] = one;
  }
  const json told = json::parse(context.comm.broadcast_text(all.dump()));
  const json& here = told.at(context.place.host);
  if (here.contains("interrupted")) throw Interrupted();
  if (here.contains("error")) throw Error(unpack_said(here["error"].get<std::string>()));
  return from_json(here.at("choices"));
}

Choice choose_alike(Context& context, const ProbeRequest& request, const std::string& library,
                    const Prober& prober) {
  const GemmType type = request.types.front();
  Choice own;
  Said failure;
  try {
    own = choose_on_hosts(context, request, library, prober).at(type);
  } catch (const Error& e) {
    failure = e.said();
  }
  throw_where_failed(context.comm, failure);
  ProbeRequest first = request;
  first.candidate = {context.comm.broadcast_text(own.candidate.library),
                     context.comm.broadcast_text(own.candidate.core)};
  bool works = true;
  if (context.place.first_on_host() && first.candidate != own.candidate) {
    context.watchdog.note("trying the library that the first host chose");
    try {
      const ProbeAnswer answer = prober(first);
      works = answer.contains(type) && std::holds_alternative<ProbeFigure>(answer.at(type));
    } catch (const Error&) {
      works = false;
    }
  }
  context.watchdog.alive();
  // The own loops are on every host.
  own.candidate = context.comm.any(!works) ? Candidate{"builtin", ""} : first.candidate;
  return own;
}

}  // namespace cb
