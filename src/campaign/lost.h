#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "campaign/journal.h"

// Documents that the journal names and that are not there any more, or not as they were written.
namespace cb {

// What became of a file whose digest was `sha256`; nothing if `content` is what was written.
std::optional<Said> change_of(const std::string& content, const std::string& sha256);

// Whether measuring again may stand for the document of this event: the journal knows of nothing in
// it that speaks against the machine.
bool is_replaceable(const JobEvent& event);

// Why the job of a document to which `what` happened is not measured, and what to do.
Said lost_reason(const JobEvent& event, const Said& what);

// The first lost one of the documents that the figures come from for which measuring again does not
// stand; nothing if there is none.
std::optional<Said> lost_for_good(const std::vector<JobEvent>& documents,
                                  const std::filesystem::path& root);

// What the documents say together that count and are as they were written; nothing if the last one
// is not.
std::optional<Document> standing_figures(const std::vector<JobEvent>& documents,
                                         const std::filesystem::path& root);

}  // namespace cb
