// Record files of a campaign: read, and each compared with the job that the journal says it is of.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "campaign/plan.h"
#include "campaign/roster.h"
#include "core/error.h"
#include "core/result.h"
#include "judge/campaign_data.h"

namespace cb {

// The document of a record file, or why it cannot be used.
struct LoadedRecord {
  std::optional<Document> document = {};
  Said problem = {};
  bool lost = false;        // it is gone, or not as it was written
  std::string sha256 = {};  // of the file as it is
};

// A record file that is to be read.
struct RecordReading {
  Job* job = nullptr;
  const JobKey* key = nullptr;
  JobEvent event;      // that the journal has of it
  bool counts = true;  // its figures are those of the job; else only what no attempt takes back
  bool last = true;    // of its job
  bool other_hosts = false;  // it ran on another set of hosts than the job's last attempt
  bool inventory =
      true;  // whether its hosts are of interest: only those of a host's first file are
  LoadedRecord loaded = {};
  std::optional<Said> misfit = {};  // why the document is not one of this job
};

// Of a soak's cycles between the first and the last no time lines are kept, and of their figures
// the summaries, unless a reader asks for all samples: no judgement looks at more, and it stands in
// their files.
struct SoakReading {
  size_t cycles = 0;  // 0: the campaign is no soak
  bool all_samples = false;
};

// The first problem of a file that cannot be used, with its place.
Said first_problem(const UsageError& e);

// Reads the file that the journal has of an attempt. Without `inventory` its hosts are passed over.
LoadedRecord load_record(const std::filesystem::path& root, const JobEvent& event, bool inventory);

// Reads all record files, on all processors. Every file of a host repeats its inventory: of the
// files that one host alone wrote only the first is asked for it, and another one where that one
// was no good.
void read_records(std::vector<RecordReading>& readings, const std::filesystem::path& root,
                  const SoakReading& soak);

// Compares each document with its job: case, parameters, hosts, tool and command. What does not fit
// gets `misfit`.
void find_misfits(std::vector<RecordReading>& readings, const Journal& journal,
                  const CampaignFile& file, const Roster& roster, const Catalogue& catalogue);

}  // namespace cb
