#include "report/setting_report.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/messages/texts.h"
#include "core/units.h"
#include "report/markdown.h"

namespace cb {
namespace {

std::string point_name(const SettingPoint& point) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (point.params.has("op")) add(point.params.text("op"));
  if (point.params.has("size")) add(format_size(point.params.integer("size")));
  return out;
}

std::string figure(const std::optional<double>& value, const MetricDef& metric) {
  return value ? format_value(*value, metric.unit) : "–";
}

std::string ratio(const std::optional<double>& value) {
  return value ? fmt::format("× {:.3g}", *value) : "–";
}

std::string proof_text(const Texts& t, SettingProof proof) {
  switch (proof) {
    case SettingProof::shown:
      return t("setting.shown");
    case SettingProof::refuted:
      return t("setting.refuted");
    case SettingProof::untold:
      break;
  }
  return t("setting.proof_untold");
}

nlohmann::json optional_number(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? nlohmann::json(*value) : nlohmann::json();
}

nlohmann::json point_json(const SettingPoint& p) {
  nlohmann::json out{{"params", params_to_json(p.params)},
                     {"proof_off", proof_name(p.proof_off)},
                     {"proof_on", proof_name(p.proof_on)},
                     {"verdict", state_name(p.state)},
                     {"reason", {{"en", say(Lang::en, p.why)}, {"zh", say(Lang::zh, p.why)}}}};
  const auto put = [&](const char* name, const std::optional<double>& value) {
    if (value) out[name] = optional_number(value);  // absent is absent
  };
  put("off", p.off);
  put("on", p.on);
  put("ratio", p.ratio);
  put("ratio_low", p.low);
  put("ratio_high", p.high);
  put("control_share", p.control);
  return out;
}

}  // namespace

std::vector<std::vector<std::string>> setting_rows(const std::vector<SettingVerdict>& verdicts,
                                                   const MetricDef& metric, Lang lang) {
  const Texts t(lang);
  std::vector<std::vector<std::string>> out{{t("setting.setting"), t("setting.point"),
                                             t("setting.off"), t("setting.on"), t("setting.ratio"),
                                             t("setting.interval"), t("setting.control"),
                                             t("setting.proof"), t("setting.verdict")}};
  for (const SettingVerdict& v : verdicts) {
    for (const SettingPoint& p : v.points) {
      const std::string interval =
          p.low && p.high ? fmt::format("{:.3g} – {:.3g}", *p.low, *p.high) : "–";
      const std::string control =
          p.control ? fmt::format("{:.1f} %", std::abs(*p.control) * 100) : "–";
      out.push_back({v.rule.id, point_name(p), figure(p.off, metric), figure(p.on, metric),
                     ratio(p.ratio), interval, control,
                     proof_text(t, p.proof_off) + ", " + proof_text(t, p.proof_on),
                     t(std::string("state.") + state_name(p.state))});
    }
  }
  return out;
}

std::string setting_markdown(const std::vector<SettingVerdict>& verdicts, const MetricDef& metric,
                             Lang lang) {
  const Texts t(lang);
  std::string out = fmt::format("# {}\n\n{}: **{}**\n\n", t("setting.title"), t("setting.verdict"),
                                t(std::string("state.") + state_name(overall(verdicts))));
  bool head = true;
  for (const std::vector<std::string>& row : setting_rows(verdicts, metric, lang)) {
    for (const std::string& cell : row) out += "| " + markdown_escape(cell) + " ";
    out += "|\n";
    if (!std::exchange(head, false)) continue;
    for (size_t i = 0; i < row.size(); ++i) out += "|---";
    out += "|\n";
  }
  out += "\n";
  for (const SettingVerdict& v : verdicts) {
    if (v.points.empty())
      out += fmt::format("- {}: {}\n", markdown_escape(v.rule.id), t("setting.not_compared"));
    for (const SettingPoint& p : v.points)
      out += fmt::format("- {} {}: {}\n", markdown_escape(v.rule.id),
                         markdown_escape(point_name(p)), markdown_escape(say(lang, p.why)));
  }
  return out;
}

std::string setting_json(const std::vector<SettingVerdict>& verdicts, const MetricDef& metric) {
  nlohmann::json settings = nlohmann::json::array();
  for (const SettingVerdict& v : verdicts) {
    nlohmann::json points = nlohmann::json::array();
    for (const SettingPoint& p : v.points) points.push_back(point_json(p));
    nlohmann::json one{
        {"id", v.rule.id}, {"variable", v.rule.variable},  {"off", v.rule.off},
        {"on", v.rule.on}, {"proof_metric", v.rule.proof}, {"verdict", state_name(v.state())},
        {"points", points}};
    if (v.rule.least_ratio) one["least_ratio"] = *v.rule.least_ratio;
    settings.push_back(std::move(one));
  }
  const nlohmann::json document{{"schema", "clusterbench.settings/1"},
                                {"metric", metric.name},
                                {"unit", metric.unit},
                                {"verdict", state_name(overall(verdicts))},
                                {"settings", settings}};
  return document.dump(2) + "\n";
}

}  // namespace cb
