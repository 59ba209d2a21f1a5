#pragma once

#include <string>

#include "core/messages/texts.h"
#include "judge/verdict.h"

namespace cb {

// The verdict on one screen of Markdown, for a pipeline's job summary or a merge request: the
// verdict, the counts, and every open criterion with its entities.
std::string render_summary(const Campaign& campaign, const Judgement& judgement, Lang lang);

}  // namespace cb
