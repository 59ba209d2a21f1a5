// `clusterbench checklist DIR …`: what no measurement covers, checked by hand.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "analysis/open_items.h"
#include "campaign/checklist.h"
#include "campaign/load.h"
#include "cli/commands.h"
#include "cli/gate_cmd_lines.h"
#include "core/text.h"

namespace cb {
namespace {

struct ChecklistOptions {
  std::string directory;
  ChecklistResult result;
};

// Exit 3 while an item has no result, 1 if one fails: a script can wait for it.
ExitCode list(const ChecklistOptions& options) {
  const Campaign campaign = load_campaign(options.directory);
  std::vector<std::vector<std::string>> rows{
      {"item", "domain", "result", "who", "when", "text", "remark"}};
  ExitCode code = ExitCode::ok;
  for (const ChecklistItem& item : campaign.profile.checklist) {
    const ChecklistResult* r = checklist_result(campaign, item.id);
    const ChecklistResult none{.result = "–"};
    const ChecklistResult& shown = r == nullptr ? none : *r;
    std::vector<std::string> row{item.id,    item.domain,  shown.result, shown.who,
                                 shown.when, item.text.en, shown.remark};
    for (std::string& cell : row) cell = terminal_safe(cell);
    rows.push_back(std::move(row));
    if (r != nullptr && r->result == "fail") code = ExitCode::not_accepted;
    if (r == nullptr && code == ExitCode::ok) code = ExitCode::incomplete;
  }
  if (rows.size() == 1)
    std::cout << "the profile has no checklist\n";
  else
    std::cout << text_table(rows, std::vector<bool>(rows.front().size(), false));
  return code;
}

ExitCode set(const ChecklistOptions& options) {
  const Campaign campaign = load_campaign(options.directory);
  ChecklistResult result = options.result;
  const std::string today = today_utc();
  if (result.when.empty()) result.when = today;
  set_checklist({options.directory}, campaign.profile, result, today);
  std::cout << terminal_safe(fmt::format("{}: {}", result.item, result.result)) << '\n';
  return ExitCode::ok;
}

}  // namespace

void add_checklist_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("checklist", "what is checked by hand: list it, tick it");
  const auto options = std::make_shared<ChecklistOptions>();
  sub->group("Acceptance");
  sub->require_subcommand(1);
  sub->footer(
      "Exit code of list: 0 all pass or are not applicable, 1 one fails, 3 one has no result.\n"
      "Examples:\n"
      "  clusterbench checklist out/acceptance list\n"
      "  clusterbench checklist out/acceptance set labels --result pass --who 'B. Li'\n");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  CLI::App* list_sub = sub->add_subcommand("list", "print every item and its result");
  list_sub->callback([&action, options] { action = [options] { return list(*options); }; });
  CLI::App* set_sub = sub->add_subcommand("set", "record the result of one item");
  ChecklistResult& r = options->result;
  set_sub->add_option("item", r.item, "its id in the profile")->required()->type_name("ITEM");
  set_sub->add_option("--result", r.result, "pass, fail, not-applicable")
      ->required()
      ->type_name("WORD");
  set_sub->add_option("--who", r.who, "who checked it")->required()->type_name("NAME");
  set_sub->add_option("--when", r.when, "the day; default today")->type_name("YYYY-MM-DD");
  set_sub->add_option("--remark", r.remark, "a remark")->type_name("TEXT");
  set_sub->callback([&action, options] { action = [options] { return set(*options); }; });
}

}  // namespace cb
