#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/catalogue.h"
#include "core/inventory.h"
#include "core/messages/said.h"
#include "core/params.h"
#include "core/samples.h"

// The result document, "clusterbench.result/2". docs/result.schema.json describes the file,
// docs/guide/result.md its meaning.
namespace cb {

struct Measured {};
struct Skipped {
  Said reason;
};
struct Errored {
  std::string where;  // host, rank, device
  Said what;
};
using Outcome = std::variant<Measured, Skipped, Errored>;

// The subject of a number. kind: cpu, gpu, nic, disk, filesystem, pair, group, rank, numa, host,
// cluster.
struct Entity {
  std::string host;  // empty for kind cluster
  std::string kind;
  std::string id;
  std::optional<std::string> peer = {};

  auto operator<=>(const Entity&) const = default;
};

// Returns "node017:mlx5_3", "node04" for the host itself, "cluster", "n1 → n2" for a pair.
std::string entity_name(const Entity& entity);

// A physical upper bound of a metric, computed or measured in the same record, and its derivation.
struct Ceiling {
  double value = 0;
  Said how;
};

struct Metric {
  std::string name;
  std::string unit;
  Better better = Better::higher;
  size_t entity = 0;  // index into Record::entities
  Samples samples = Samples();
  std::optional<Ceiling> ceiling = {};
  // If a job was measured more than once: the summary of each measurement, in their order. The
  // samples are those of all measurements together.
  std::vector<Summary> attempts = {};
};

struct Check {
  std::string name;
  bool passed = false;
  std::optional<double> value = {};
  std::optional<double> limit = {};
  size_t entity = 0;
  Said detail = {};  // what was wrong and where; empty if it passed
  // True: the check judges a part of the cluster (a suspect), not the data. The numbers are valid
  // although it failed.
  bool finding = false;
};

// A time line taken during the measurement; at[i] is in seconds after the record's start.
struct Series {
  std::string name;
  std::string unit;
  size_t entity = 0;
  std::vector<double> at = {};
  std::vector<double> values = {};
};

// A counter before and after the record.
struct Delta {
  std::string name;
  std::string unit;
  size_t entity = 0;
  double before = 0;
  double after = 0;
};

struct Telemetry {
  std::vector<Series> series = {};
  std::vector<Delta> deltas = {};
};

// One measurement at one point of the parameters, over all entities.
struct Record {
  std::string case_name;
  Params params = {};
  Outcome outcome = Measured{};
  std::vector<Entity> entities = {};
  std::vector<Metric> metrics = {};
  std::vector<Check> checks = {};
  Telemetry telemetry = {};
  // How it was measured: library, core type, IO path, cached or direct.
  std::map<std::string, Said> facts = {};
  std::vector<Said> notes = {};  // what a reader must know to understand the number
  std::string started = {};      // ISO 8601, UTC
  std::string ended = {};

  // Returns the index of the entity, which is added if it is new.
  size_t entity(const Entity& wanted);
  // Adds a metric by its name. Its unit and direction are stated only in the case's CaseInfo; the
  // runner takes them from there: bench/harness/declared.h.
  Metric& add(std::string metric, size_t of, Samples samples, std::optional<Ceiling> ceiling = {});
  // Returns the first metric with that name, or the one of this entity; null if there is none.
  const Metric* find(std::string_view metric) const;
  const Metric* find(std::string_view metric, size_t entity) const;
  bool measured() const { return std::holds_alternative<Measured>(outcome); }
};

struct ToolInfo {
  std::string version, commit;
  bool dirty = false;
  std::map<std::string, std::string> build = {};
};

struct RunInfo {
  std::string id;
  std::string started, ended;
  std::vector<std::string> argv = {};
  std::string launcher = {};  // "none", "mpirun", "srun"
  int ranks = 1;
  std::vector<std::string> hosts = {};
  std::map<std::string, std::string> environment = {};  // only names on a list
  std::optional<Said> partial = {};                     // why the run ended early, if it did
};

constexpr std::string_view kResultSchema = "clusterbench.result";
constexpr int kResultVersion = 2;

struct Document {
  int version = kResultVersion;  // version of the schema in which it was written
  ToolInfo tool;
  RunInfo run;
  std::vector<HostInventory> hosts = {};
  std::vector<Record> records = {};
};

// Throws Error if a record refers to an entity that it does not have.
std::string to_json_text(const Document& document);

// Reads a document. `source` names the file in messages. Throws UsageError for anything except a
// whole, consistent document of a schema that this version knows: foreign, truncated, newer,
// non-finite, negative counts, dangling indices. Without `inventories` the hosts' inventories may
// be skipped, for a reader that does not use them.
Document parse_document(std::string_view text, const std::string& source, bool inventories = true);

}  // namespace cb
