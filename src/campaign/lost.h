#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "campaign/journal.h"

// Documents that the journal names and that are gone, or not as they were written.
namespace cb {

// What happened to a file whose digest was `sha256`; nothing if `content` is what was written.
std::optional<Said> change_of(const std::string& content, const std::string& sha256);

// True if a new measurement may replace this event's document: the journal knows nothing in it that
// speaks against the machine.
bool is_replaceable(const JobEvent& event);

// The reason why the job counts as not measured after `what` happened to its document, and the next
// step.
Said lost_reason(const JobEvent& event, const Said& what);

// Looks at the documents that the figures come from, for a lost one that no new measurement may
// replace. Returns the reason for the first; nothing if there is none.
std::optional<Said> lost_for_good(const std::vector<JobEvent>& documents,
                                  const std::filesystem::path& root);

// The joined figures of those counting documents that are as written; nothing if the last one is
// not.
std::optional<Document> standing_figures(const std::vector<JobEvent>& documents,
                                         const std::filesystem::path& root);

}  // namespace cb
