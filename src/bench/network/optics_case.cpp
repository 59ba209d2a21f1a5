// Optical modules of this host's Ethernet ports: light, bias, temperature and errors of each lane,
// against the limits of their makers and their like. Nothing is written. docs/methods/optics.md.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/network/finding_checks.h"
#include "bench/network/optics/in_band.h"
#include "bench/network/optics/read_modules.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "import/modules/module_files.h"
#include "model/optics/audit.h"
#include "model/optics/module_register.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  const auto lower = Better::lower, higher = Better::higher;
  return {
      .name = "optics",
      .device = "",
      .summary = "optical modules: light, bias, temperature and errors of every lane",
      .example = "mpirun --map-by ppr:1:node clusterbench optics --window 60s --json o.json",
      .domain = "network",
      .needs = {},
      .params = joined(
          {{duration("window").range(0, 86400).by_default("0").help(
                "between two readings of counters: errors, flaps"),
            text("ports").by_default("auto").list().help(
                "interfaces; auto: every physical Ethernet port"),
            text("from")
                .list()
                .excludes({"window", "ports"})
                .help("files instead: HOST@PORT.txt of ethtool -m, with --json or without, or of "
                      "mlxlink -m -c --json; ibdiagnet2.db_csv; SWITCH.txt of SONiC's show "
                      "interfaces transceiver eeprom -d")},
           net::in_band_params()}),
      .metrics = {{"modules", "count", higher, "that could be read"},
                  {"module_celsius", "celsius", lower, ""},
                  {"receive_watts", "watts", higher, "the weakest lane with light"},
                  {"receive_margin_decibels", "decibels", higher,
                   "of the weakest lane over the maker's low warning limit"},
                  {"lane_spread_decibels", "decibels", lower, "between received lanes"},
                  {"bias_amperes", "amperes", lower, "of the lane that has most"},
                  {"errors_per_bit", "ratio", lower, "before correction, of the worst lane"},
                  {"uncorrectable_blocks", "count", lower, "in the window"},
                  {"link_downs", "count", lower, "in the window"}},
      .checks = module_kinds(),
      .fault = {.why_not = said("fault.counters")},
      .fact_columns = {},
      .prints_suspects = true,
  };
}

class ModuleRecord {
 public:
  ModuleRecord(Record& record, const FittedModule& m)
      : record_(record), m_(m), entity_(record.entity({m.host, "module", m.port})) {}

  void add() {
    if (m_.module) add_readings(*m_.module);
    metric("errors_per_bit", error_rate(m_));
    metric("uncorrectable_blocks", m_.uncorrectable_blocks);
    metric("link_downs", m_.link_downs);
  }

 private:
  void metric(const char* name, const std::optional<double>& value) {
    if (value) record_.add(name, entity_, Samples{*value});
  }

  void add_readings(const OpticalModule& o) {
    metric("module_celsius", o.celsius);
    metric("receive_margin_decibels", receive_margin(o));
    metric("lane_spread_decibels", lane_spread(o));
    std::optional<double> light, bias;
    for (const ModuleLane& lane : o.lanes) {
      if (lane.receive_watts.value_or(0) > 0)
        light = std::min(light.value_or(*lane.receive_watts), *lane.receive_watts);
      if (lane.bias_amperes.value_or(0) > 0) bias = std::max(bias.value_or(0), *lane.bias_amperes);
    }
    metric("receive_watts", light);
    metric("bias_amperes", bias);
  }

  Record& record_;
  const FittedModule& m_;
  size_t entity_;
};

// A note of the modules that `lacks` names: how many there are, and the first.
template <typename Lacks, typename Say>
void add_note_of(Record& record, const std::vector<FittedModule>& modules, Lacks lacks, Say say) {
  size_t count = 0;
  std::string first;
  for (const FittedModule& m : modules) {
    if (m.module && lacks(*m.module) && count++ == 0) first = m.host + " " + m.port;
  }
  if (count > 0)
    record.notes.push_back(say(std::to_string(count), std::to_string(modules.size()), first));
}

// What is not judged, and why.
void add_untold_notes(Record& record, const std::vector<FittedModule>& modules) {
  using Text = const std::string&;
  add_note_of(
      record, modules, [](const OpticalModule& o) { return !tells_values(o, true); },
      [](Text count, Text all, Text first) { return said("optics.untold", count, all, first); });
  add_note_of(
      record, modules,
      [](const OpticalModule& o) { return tells_values(o, true) && !tells_values(o, false); },
      [](Text count, Text all, Text first) {
        return said("optics.no_warning_limits", count, all, first);
      });
  add_note_of(
      record, modules, [](const OpticalModule& o) { return !tells_state(o); },
      [](Text count, Text all, Text first) {
        return said("optics.no_state", count, all, first, kSonicStatusCommand);
      });
}

void add_notes(Record& record, const std::vector<FittedModule>& modules) {
  size_t silent = 0;
  const FittedModule* first = nullptr;
  for (const FittedModule& m : modules) {
    if (!m.module && silent++ == 0) first = &m;
  }
  if (first != nullptr)
    record.notes.push_back(said("optics.unread", silent, modules.size(),
                                first->host + " " + first->port, first->why_not));
  add_untold_notes(record, modules);
  if (std::ranges::all_of(modules,
                          [](const FittedModule& m) { return !m.module || m.module->copper; }))
    record.notes.push_back(said("optics.all_copper", modules.size() - silent));
  std::optional<double> shown;
  for (const FittedModule& m : modules) {
    const auto rate = shown_error_rate(m);
    if (rate) shown = std::max(shown.value_or(0), *rate);
  }
  if (shown) record.notes.push_back(said("optics.shown", fmt::format("{:.1e}", *shown)));
}

// Collective: each host's own modules, on rank 0.
std::vector<FittedModule> modules_of_hosts(Context& context, const Params& params) {
  std::vector<net::ReadModule> mine;
  if (context.place.first_on_host())
    mine = net::read_modules(context, params.texts("ports"), params.number("window"));
  std::vector<FittedModule> out;
  for (const std::string& text : context.comm.gather(net::modules_text(mine))) {
    for (FittedModule& m : net::modules_from_text(text)) out.push_back(std::move(m));
  }
  return out;
}

// Collective: rank 0 reads; what is wrong with a file is thrown on every rank.
std::vector<FittedModule> modules_of_files(Context& context,
                                           const std::vector<std::string>& files) {
  std::vector<FittedModule> out;
  std::map<std::pair<std::string, std::string>, std::string> file_of;  // by host and port
  Problems problems;
  for (const std::string& file : files) {
    if (!context.comm.is_root()) break;
    try {
      for (FittedModule& m : read_module_file(read_file(file), file)) {
        const auto [at, fresh] = file_of.emplace(std::pair(m.host, m.port), file);
        if (!fresh) problems.add(file, said("modules.twice", m.host + " " + m.port, at->second));
        out.push_back(std::move(m));
      }
    } catch (const UsageError& e) {
      for (const Problem& p : e.problems().list)
        problems.add(p.where.empty() ? file : fmt::format("{}, {}", file, p.where), p.said());
    }
  }
  throw_agreed(context.comm, "clusterbench optics", problems);
  return out;
}

// Collective: the switches' modules, on rank 0. What was not read is said in the record.
std::vector<FittedModule> modules_of_subnet(Context& context, const Params& params,
                                            Record& record) {
  net::InBandModules in_band = net::read_modules_in_band(context, params);
  if (in_band.unavailable) record.outcome = Skipped{*in_band.unavailable};
  if (!context.comm.is_root() || in_band.unavailable) return {};
  const net::MadTally& mads = in_band.mads;
  record.facts["datagrams"] =
      said("fabric.datagrams", mads.sent, mads.answered, mads.timed_out, mads.refused);
  record.facts[kModuleFilesFact] = said("optics.subnet", in_band.read.switches);
  record.notes = std::move(in_band.read.notes);
  return std::move(in_band.read.modules);
}

std::vector<FittedModule> all_modules(Context& context, const Params& params, Record& record) {
  if (params.flag("subnet")) return modules_of_subnet(context, params, record);
  if (!params.has("from")) return modules_of_hosts(context, params);
  record.facts[kModuleFilesFact] = said("optics.files", params.texts("from").size());
  return modules_of_files(context, params.texts("from"));
}

Said why_none(const Params& params) {
  return params.flag("subnet") ? said("optics.subnet_none")
         : params.has("from")  ? said("modules.no_module", kSonicCommand)
                               : said("optics.no_ethernet");
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "optics", .params = params};
  const std::vector<FittedModule> modules = all_modules(context, params, record);
  if (!context.comm.is_root() || std::holds_alternative<Skipped>(record.outcome))
    return {std::move(record)};
  const auto read =
      std::ranges::count_if(modules, [](const FittedModule& m) { return m.module.has_value(); });
  if (read == 0) {
    // A note names the switch.
    const Said why = !record.notes.empty() ? record.notes.front()
                     : modules.empty()     ? why_none(params)
                                           : modules.front().why_not;
    record.outcome = Skipped{why};
    return {std::move(record)};
  }
  record.add("modules", record.entity({"", "cluster", ""}), Samples{static_cast<double>(read)});
  for (const FittedModule& m : modules) ModuleRecord(record, m).add();
  add_finding_checks(record, audit_modules(modules), module_kinds(), [](const ModuleFinding& f) {
    return Entity{f.host, "module", f.port};
  });
  add_notes(record, modules);
  record.facts[kModuleRegisterFact] = module_register_text(modules);
  return {std::move(record)};
}

}  // namespace

Case optics_case() { return {describe(), run, net::check_in_band_params}; }

}  // namespace cb
