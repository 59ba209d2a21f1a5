#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// The verdicts for node_exporter's textfile collector: a few series per criterion and none per
// host, in base units, without timestamps. The end of the campaign is a series in seconds since
// 1970; it is absent if the campaign has no end.
std::string render_prometheus(const Campaign& campaign, const Judgement& judgement,
                              const SignoffCheck& signatures = {});

// A label's value as the text format needs it, without control characters.
std::string prometheus_label(std::string_view text);

}  // namespace cb
