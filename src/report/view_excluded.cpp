// Shows the hosts that were taken out while the campaign ran, why, and who took their place.
#include <fmt/format.h>

#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMostFound = 8;

std::string found_text(const ExcludedHost& out, const Texts& t) {
  if (out.found.empty()) return t("excluded.nothing_found");
  std::string text;
  for (size_t i = 0; i < out.found.size() && i < kMostFound; ++i)
    text += (i > 0 ? "; " : "") + out.found[i].in(t.lang());
  if (out.found.size() > kMostFound) text += " " + t("list.more", out.found.size() - kMostFound);
  return text;
}

}  // namespace

Section excluded_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("excluded.heading"), {}};
  if (in.campaign.excluded.empty()) return out;
  Table table{.caption = t("excluded.caption"),
              .columns = {{t("col.host")},
                          {t("col.step")},
                          {t("excluded.reason")},
                          {t("excluded.found")},
                          {t("excluded.by")}}};
  for (const ExcludedHost& e : in.campaign.excluded) {
    const State state = e.by.empty() ? State::incomplete : State::not_applicable;
    table.rows.push_back(
        {state,
         {fmt::format("{} {}", state_mark(state), e.host), e.step, e.reason.in(t.lang()),
          found_text(e, t), e.by.empty() ? t("excluded.nobody") : e.by}});
  }
  out.blocks.emplace_back(std::move(table));
  return out;
}

}  // namespace cb
