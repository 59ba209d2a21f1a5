// The page to sign: what it is about, so that it makes sense alone; the signatures given and what
// each is worth; blanks for those who sign on paper.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "report/digests.h"
#include "report/view_parts.h"

namespace cb {
namespace {

std::string document_number(const ReportInput& in) {
  const bool named = in.papers.site && !in.papers.site->document.empty();
  return named ? in.papers.site->document : "CB-" + in.campaign.id;
}

std::string counts_text(const View& view) {
  std::string out;
  for (const StateCount& count : view.counts)
    out +=
        fmt::format("{}{} {} {}", out.empty() ? "" : " · ", count.mark, count.number, count.word);
  return out;
}

std::string period_text(const Campaign& c, const Texts& t) {
  return c.ended.empty() ? t("sign.unfinished", c.started) : t("sign.period", c.started, c.ended);
}

void fill_identity(View& view, const ReportInput& in) {
  const Texts& t = in.t;
  const Campaign& c = in.campaign;
  const Site site = in.papers.site.value_or(Site());
  const auto add = [&](const char* id, const std::string& text) {
    if (!text.empty()) view.identity.emplace_back(t(id), text);
  };
  add("sign.document", document_number(in));
  add("scope.project", site.project);
  add("scope.contract", site.contract);
  add("sign.supplier", site.supplier);
  add("sign.customer", site.customer);
  add("sign.supervisor", site.supervisor);
  add("scope.location", site.location);
  add("scope.scope", site.scope);
  add("sign.campaign",
      c.id + ", " + t.count("sign.hosts", c.hosts.size()) + ", " + period_text(c, t));
  add("sign.profile", fmt::format("{} (sha256 {})", c.profile.name, c.profile.sha256));
  add("sign.result", view.verdict_mark + " " + view.verdict);
  add("sign.counts", counts_text(view));
  add("sign.manifest", manifest_digest(c));
  add("sign.digest", verdict_digest(c, in.judgement));
}

std::string state_text(const Signoff& s, const Texts& t) {
  const std::string id = std::string("sign.state.") + signature_state_name(s.state);
  return s.state == SignatureState::valid ? t(id, s.key_name) : t(id, s.public_key.value_or(""));
}

State colour_of(SignatureState state) {
  switch (state) {
    case SignatureState::valid:
      return State::pass;
    case SignatureState::invalid:
      return State::fail;
    default:
      return State::warn;
  }
}

std::string person_of(const Signoff& s) {
  std::string out = s.name;
  for (const std::string& more : {s.title, s.company}) out += more.empty() ? "" : ", " + more;
  return out;
}

Table given_table(const ReportInput& in) {
  const Texts& t = in.t;
  Table out{.caption = t("sign.caption"),
            .columns = {{t("sign.check")},
                        {t("sign.role")},
                        {t("sign.person")},
                        {t("sign.verdict")},
                        {t("sign.at")},
                        {t("col.remark")}}};
  for (const Signoff& s : in.papers.signatures.signoffs) {
    std::string at = s.at;
    if (!s.stamped_at.empty()) at += t.gap() + t("sign.stamped", s.stamped_at);
    out.rows.push_back({colour_of(s.state),
                        {state_text(s, t), t("sign." + s.role), person_of(s),
                         t("sign.said." + s.verdict), at, s.remark.empty() ? "–" : s.remark}});
  }
  return out;
}

std::vector<std::string> conclusion_lines(const ReportInput& in) {
  const Texts& t = in.t;
  const SignoffCheck& check = in.papers.signatures;
  std::vector<std::string> out;
  for (const std::string& problem : check.problems) out.push_back(t("sign.problem", problem));
  for (const std::string& text : check.unauthenticated)
    out.push_back(t("sign.unauthenticated", text));
  for (const Signoff& s : check.signoffs) {
    for (const OpenItem& item : s.open)
      out.push_back(t("sign.open_item", item.text, item.due.empty() ? "–" : item.due, s.name));
  }
  std::set<std::string> seen;
  for (const CriterionVerdict& v : in.judgement.criteria) {
    for (const Waiver* w : v.waivers) {
      if (seen.insert(w->id).second)
        out.push_back(t("sign.waiver", w->id, criterion_title(*v.criterion, t), w->scope, w->reason,
                        w->approver, w->ticket, w->expires));
    }
  }
  return out;
}

std::string role_heading(const char* role, const std::string& company, const Texts& t) {
  const std::string name = t(std::string("sign.") + role);
  return company.empty() ? name : t("sign.party", name, company);
}

}  // namespace

void fill_signatures(View& view, const ReportInput& in) {
  const Texts& t = in.t;
  const Site site = in.papers.site.value_or(Site());
  view.running_head = (site.project.empty() ? view.title : site.project) + " · " +
                      t("sign.number", document_number(in));
  view.conclusion_heading = t("sign.heading");
  view.identity_caption = t("sign.about");
  fill_identity(view, in);
  if (!in.papers.signatures.signoffs.empty()) view.signatures = given_table(in);
  view.conclusion_items = conclusion_lines(in);
  view.choices = {t("sign.accepted"), t("sign.conditional"), t("sign.rejected")};
  const std::vector<std::string> blanks{t("sign.company"), t("sign.name"), t("sign.title"),
                                        t("sign.date"), t("sign.signature")};
  view.parties = {{role_heading("supplier", site.supplier, t), blanks},
                  {role_heading("customer", site.customer, t), blanks},
                  {role_heading("supervisor", site.supervisor, t), blanks},
                  {role_heading("witness", "", t), blanks}};
}

}  // namespace cb
