// `clusterbench expect`: what was delivered against what was ordered, from inventories that were
// taken before. Measures nothing.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "cli/commands.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "core/delivery_list.h"
#include "core/file.h"
#include "core/text.h"
#include "judge/expect.h"
#include "judge/verdict_hosts.h"
#include "model/optics/module_register.h"
#include "report/asset_register.h"

namespace cb {
namespace {

struct ExpectOptions {
  std::vector<std::string> inputs;
  std::string profile;
  std::string profile_directory;
  std::string assets;
  std::string registered;
  std::string language = "en";
};

// What the inputs know: the inventories, the last one of a host; all hosts that were asked for; and
// the optical modules that `optics` found.
struct KnownHosts {
  std::vector<HostInventory> inventories = {};
  std::set<std::string> asked = {};
  std::vector<RegisteredModule> modules = {};

  void add_modules(const Document& document) {
    for (const Record& record : document.records) {
      const auto fact = record.facts.find(kModuleRegisterFact);
      if (fact == record.facts.end()) continue;
      for (RegisteredModule& m : parse_module_register(fact->second.text()))
        modules.push_back(std::move(m));
    }
  }
};

// Refuses a campaign whose evidence is doubtful.
KnownHosts hosts_of_campaign(const std::string& directory) {
  Campaign campaign = load_campaign(directory, catalogue());
  if (!campaign.warnings.empty())
    throw UsageError("clusterbench expect", directory,
                     said("expect.warned", directory, campaign.warnings.front()));
  const HostNames names(campaign);
  KnownHosts out{.inventories = std::move(campaign.inventories)};
  for (const std::string& host : names.expected()) out.asked.insert(host);
  for (HostInventory& host : out.inventories)
    host.host = names.asked(host.host).value_or(host.host);
  for (const Job& job : campaign.jobs) {
    if (job.document) out.add_modules(*job.document);
  }
  for (RegisteredModule& m : out.modules) m.host = names.asked(m.host).value_or(m.host);
  return out;
}

// True if each record of the document was read from files of modules.
bool is_of_module_files(const Document& document) {
  return !document.records.empty() &&
         std::ranges::all_of(document.records, [](const Record& record) {
           return record.facts.contains(kModuleFilesFact);
         });
}

KnownHosts hosts_of_document(const std::string& file) {
  Document document = parse_document(read_file(file), file);
  KnownHosts out{.inventories = std::move(document.hosts)};
  out.add_modules(document);
  // The machine on which files were read is no piece of the delivery, unless they are about it.
  if (is_of_module_files(document))
    std::erase_if(out.inventories, [&](const HostInventory& reader) {
      return std::ranges::find(out.modules, reader.host, &RegisteredModule::host) ==
             out.modules.end();
    });
  // Who only read modules owes no inventory.
  if (!out.inventories.empty() || out.modules.empty())
    out.asked.insert(document.run.hosts.begin(), document.run.hosts.end());
  return out;
}

void add_inventories(const std::string& input, KnownHosts& all) {
  KnownHosts more =
      std::filesystem::is_directory(input) ? hosts_of_campaign(input) : hosts_of_document(input);
  if (more.inventories.empty() && more.modules.empty())
    throw UsageError("clusterbench expect", input, said("expect.no_inventory"));
  all.asked.merge(more.asked);
  for (HostInventory& host : more.inventories) {
    std::erase_if(all.inventories,
                  [&](const HostInventory& known) { return known.host == host.host; });
    all.inventories.push_back(std::move(host));
  }
  std::ranges::move(more.modules, std::back_inserter(all.modules));
}

// A host that was asked for and told nothing is not as ordered.
void add_silent_hosts(const KnownHosts& hosts, Evidence& evidence) {
  for (const std::string& host : hosts.asked) {
    if (std::ranges::find(hosts.inventories, host, &HostInventory::host) == hosts.inventories.end())
      evidence.gaps.push_back({host, {"gap.no_inventory", {host}}});
  }
}

Part module_part(const RegisteredModule& m) {
  Part out{.kind = "module", .id = m.port};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) out.attributes[name] = value;
  };
  add("vendor", m.vendor);
  add("part_number", m.part_number);
  add("serial", m.serial);
  add("firmware", m.firmware);
  return out;
}

// The inventory of the host, also where one of the two names has the domain and the other has not;
// null if there is none, or more than one.
HostInventory* inventory_of(std::vector<HostInventory>& inventories, const std::string& host) {
  const auto whole = std::ranges::find(inventories, host, &HostInventory::host);
  if (whole != inventories.end()) return &*whole;
  HostInventory* out = nullptr;
  for (HostInventory& one : inventories) {
    if (!one.host.starts_with(host + ".") && !host.starts_with(one.host + ".")) continue;
    if (out != nullptr) return nullptr;
    out = &one;
  }
  return out;
}

// Puts modules into the inventories of their hosts; those of others (switches) become inventories
// of their own, which are returned. The last one of a port counts.
std::vector<HostInventory> place_modules(KnownHosts& all) {
  std::vector<HostInventory> others;
  for (const RegisteredModule& m : all.modules) {
    HostInventory* at = inventory_of(all.inventories, m.host);
    if (at == nullptr) at = inventory_of(others, m.host);
    if (at == nullptr) at = &others.emplace_back(HostInventory{m.host});
    std::erase_if(at->parts, [&](const Part& p) { return p.kind == "module" && p.id == m.port; });
    at->parts.push_back(module_part(m));
  }
  return others;
}

std::vector<ExpectRule> rules_of(const ExpectOptions& options) {
  std::vector<ExpectRule> out;
  if (!options.profile.empty()) {
    const Profile profile =
        load_valid_profile(options.profile, default_places(options.profile_directory));
    for (const Criterion& criterion : profile.criteria) {
      if (const auto* rule = std::get_if<ExpectRule>(&criterion.rule)) out.push_back(*rule);
    }
    if (out.empty())
      throw UsageError("clusterbench expect", "--profile",
                       said("expect.no_criterion", options.profile));
  }
  if (!options.assets.empty())
    out.push_back({{}, read_delivery_list(read_file(options.assets), options.assets)});
  return out;
}

ExitCode say_evidence(const Evidence& evidence, size_t hosts, Lang lang) {
  size_t failing = 0;
  for (const Finding& f : evidence.findings) {
    if (!f.failing) continue;
    ++failing;
    std::cout << "✗ " << terminal_safe(say_all(lang, f.detail)) << '\n';
  }
  for (const Gap& gap : evidence.gaps)
    std::cout << "? " << terminal_safe(say(lang, gap.what)) << '\n';
  const Texts t(lang);
  if (failing > 0) {
    std::cout << t("expect.fails", failing, evidence.gaps.size()) << '\n';
    return ExitCode::not_accepted;
  }
  if (!evidence.gaps.empty()) {
    std::cout << t("expect.incomplete", evidence.gaps.size()) << '\n';
    return ExitCode::incomplete;
  }
  std::cout << t.count("expect.good", hosts) << '\n';
  return ExitCode::ok;
}

ExitCode expect(const ExpectOptions& options) {
  if (options.profile.empty() && options.assets.empty() && options.registered.empty())
    throw UsageError("clusterbench expect", "--profile", said("expect.nothing"));
  const std::vector<ExpectRule> rules = rules_of(options);
  KnownHosts known;
  for (const std::string& input : options.inputs) add_inventories(input, known);
  const std::vector<HostInventory> others = place_modules(known);
  const std::vector<HostInventory>& hosts = known.inventories;
  if (!options.registered.empty()) {
    std::vector<HostInventory> registered = hosts;
    registered.insert(registered.end(), others.begin(), others.end());
    write_file_atomically(options.registered, render_asset_register(registered));
  }
  if (rules.empty()) return ExitCode::ok;
  const bool only_lists =
      std::ranges::all_of(rules, [](const ExpectRule& rule) { return rule.expected.empty(); });
  if (hosts.empty() && (others.empty() || !only_lists))
    throw UsageError("clusterbench expect", options.inputs.front(), said("expect.no_inventory"));
  Evidence evidence;
  add_silent_hosts(known, evidence);
  for (const ExpectRule& rule : rules) {
    Evidence more = expect_evidence(hosts, rule, others);
    std::ranges::move(more.findings, std::back_inserter(evidence.findings));
    std::ranges::move(more.gaps, std::back_inserter(evidence.gaps));
  }
  return say_evidence(evidence, hosts.size() + (options.assets.empty() ? 0 : others.size()),
                      options.language == "zh" ? Lang::zh : Lang::en);
}

}  // namespace

void add_expect_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("expect", "what was delivered against what was ordered, piece by piece");
  const auto options = std::make_shared<ExpectOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 as ordered, 1 not as ordered, 3 something could not be compared, 2 usage.\n"
      "Example:\n  clusterbench expect info.json --assets delivery.csv --register register.csv");
  sub->add_option("inventories", options->inputs,
                  "documents of info (or of any measurement), or directories of campaigns")
      ->required()
      ->type_name("FILE|DIR…");
  offer(sub->add_option("--profile", options->profile, "its criteria of the kind expect"),
        built_in_profiles())
      ->type_name("NAME|FILE");
  sub->add_option("--profile-dir", options->profile_directory, "look for profiles here first")
      ->type_name("DIR");
  sub->add_option("--assets", options->assets,
                  "delivery list as CSV: host, part, serial and, if known, slot and model")
      ->type_name("FILE");
  sub->add_option("--register", options->registered,
                  "write every piece with its serial number as CSV")
      ->type_name("FILE");
  offer_only(sub->add_option("--lang", options->language, "language: en, zh"), {"en", "zh"})
      ->capture_default_str();
  sub->callback([&action, options] { action = [options] { return expect(*options); }; });
}

}  // namespace cb
