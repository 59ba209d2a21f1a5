#pragma once

#include <string>
#include <vector>

#include "judge/setting_verdict.h"

// What compare-settings found, for a person and for a program.
namespace cb {

// The rows of the table, the first of which is its head. Figures have their units.
std::vector<std::vector<std::string>> setting_rows(const std::vector<SettingVerdict>& verdicts,
                                                   const MetricDef& metric, Lang lang);

// Title, verdict of all, table, and the reason of every point, as Markdown.
std::string setting_markdown(const std::vector<SettingVerdict>& verdicts, const MetricDef& metric,
                             Lang lang);

// The document "clusterbench.settings/1", as text: every setting with its variable, values, proof
// and required ratio, and its points with figures, proofs, verdict and the reason in both
// languages.
std::string setting_json(const std::vector<SettingVerdict>& verdicts, const MetricDef& metric);

}  // namespace cb
