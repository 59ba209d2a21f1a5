#include "core/suggest.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

using Names = std::vector<std::string>;

std::string guess(std::string_view word, const Names& names) {
  return nearest(word, names).value_or("");
}

std::string option(std::string_view word, const Names& names) {
  return nearest_option(word, names).value_or("");
}

const Names kIo{"--rw",      "--rwmix", "--block-size", "--queue-depth", "--threads",
                "--model",   "--size",  "--duration",   "--engine",      "--file",
                "--warm-up", "--fsync", "--seed"};
const Names kNccl{"--op",        "--size",       "--min-size", "--max-size", "--step-factor",
                  "--reduction", "--iterations", "--gpus",     "--min-ctas", "--max-ctas"};
const Names kVerbs{"--op", "--size", "--qps", "--tx-depth", "--direction", "--rails"};
const Names kTcp{"--streams", "--size", "--duration", "--direction", "--zero-copy"};

}  // namespace

TEST_CASE("what begins with the word is meant before what looks like it") {
  const Names profiles{"b200", "h200-sxm", "h100-sxm-cluster", "h100-sxm", "h100-pcie"};
  CHECK(guess("h100", profiles) == "h100-sxm");
  CHECK(guess("H100", profiles) == "h100-sxm");
  CHECK(guess("h100-sxm-", profiles) == "h100-sxm-cluster");
  CHECK(guess("h", profiles).empty());
  CHECK(guess("fak", {"pake", "fake"}) == "fake");
}

TEST_CASE("one letter in three may be wrong, from both sides") {
  CHECK(guess("mpy", {"gemm", "mpi", "io"}) == "mpi");
  CHECK(guess("ss", {"s"}) == "s");
  CHECK(guess("bs", {"rw"}).empty());  // two of two
  CHECK(guess("x", {"y"}).empty());
  CHECK(guess("suplier", {"supplier", "customer"}) == "supplier");
  CHECK(guess("triadd", {"triad"}) == "triad");
  CHECK(guess("abcdef", {"abcdxy"}) == "abcdxy");  // two of six
  CHECK(guess("abcde", {"abcxy"}).empty());        // two of five
  CHECK(guess("iodepth", {"model"}).empty());
  CHECK(guess(std::string(300, 'a'), {std::string(300, 'a')}).empty());
}

TEST_CASE("a word that goes on where a name ends is that name, if it is half of it") {
  CHECK(guess("warning", {"warn", "war"}) == "warn");
  CHECK(guess("warnwarn", {"warn"}) == "warn");
  CHECK(guess("warnwarnx", {"warn"}).empty());
  CHECK(guess("io-run", {"io"}).empty());
}

TEST_CASE("dashes are no letters") {
  CHECK(guess("--bs", {"--rw"}).empty());
  CHECK(guess("--sise", {"--size"}) == "--size");
  CHECK(guess("--it", {"--iterations", "--in-place"}) == "--iterations");
  CHECK(guess("--", {"--rw"}).empty());
  CHECK(guess("-", {"--rw"}).empty());
}

TEST_CASE("names of other tools lead to ours") {
  CHECK(option("--bs", kIo) == "--block-size");
  CHECK(option("--iodepth", kIo) == "--queue-depth");
  CHECK(option("--numjobs", kIo) == "--threads");
  CHECK(option("--runtime", kIo) == "--duration");
  CHECK(option("--ioengine", kIo) == "--engine");
  CHECK(option("--minbytes", kNccl) == "--min-size");
  CHECK(option("--maxbytes", kNccl) == "--max-size");
  CHECK(option("-b", kNccl) == "--min-size");
  CHECK(option("-b", kVerbs) == "--direction");
  CHECK(option("-b", kTcp).empty());
  CHECK(option("-t", kVerbs) == "--tx-depth");
  CHECK(option("-t", kTcp) == "--duration");
  CHECK(option("-P", kTcp) == "--streams");
  CHECK(option("--bs", {"--rw"}).empty());  // where there is no such option
  CHECK(option("--itterations", kNccl) == "--iterations");
}

TEST_CASE("the list of all names has each once") {
  CHECK(unknown_name("mpy", {"gemm", "gemm", "mpi"}) ==
        "mpy is not known, did you mean mpi? (gemm mpi)");
  CHECK(unknown_name("", {"a"}) == "an empty value is not known (a)");
  CHECK(unknown_option("--bs", kIo) == "unknown option, did you mean --block-size?");
  CHECK(unknown_option("--xyzzy", kIo) == "unknown option");
}
