"""The examples in docs/examples are what this program writes."""

import json
import os
import pathlib
import re
import subprocess

SOURCE = pathlib.Path(os.environ["CLUSTERBENCH_SOURCE_DIR"])
EXAMPLES = SOURCE / "docs" / "examples"


def test_the_examples_are_what_the_script_makes(tmp_path):
    done = subprocess.run([EXAMPLES / "regenerate.sh", os.environ["CLUSTERBENCH_BUILD_DIR"], tmp_path],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert len([p for p in made if p.parts[0] == "h20-32-nodes"]) == 10
    assert len([p for p in made if p.parts[0] == "host"]) == 8
    for name in made:
        assert (EXAMPLES / name).read_bytes() == (tmp_path / name).read_bytes(), \
            f"{name} differs: look at it, then run docs/examples/regenerate.sh"


def test_every_planted_defect_is_in_the_example(tmp_path):
    for language in ("en", "zh"):
        page = (EXAMPLES / "h20-32-nodes" / f"report.{language}.html").read_text()
        open_items = page[page.index("<h2>1 "):]  # the first section: who is to blame comes first
        conclusion = open_items[:open_items.index("</table>")]
        for line in (EXAMPLES / "h20-32-nodes" / "planted.txt").read_text().splitlines():
            host = line.split(" ", 1)[1].split(":")[0]
            assert host in conclusion, line


def test_the_example_of_a_host_is_a_whole_campaign_without_the_machine_s_identity():
    campaign = EXAMPLES / "host" / "campaign"
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "MANIFEST.sha256"], cwd=campaign,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    gate = subprocess.run([os.environ["CLUSTERBENCH_BIN"], "gate", campaign], capture_output=True, text=True)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    for path in campaign.rglob("*"):
        if path.is_file():
            text = path.read_text()
            for identity in ("/root", "/work", "/tmp"):
                assert identity not in text, f"{path}: {identity}"


# What stays Latin in a Chinese report: names, units, identifiers, and what other programs said.
LATIN = {
    "products":
        "AuthenticAMD Azure CUDA Debian FlagPerf Haswell InfiniBand Intel Linux NVLink NVMe Open OpenBLAS "
        "PCIe Platinum SkylakeX Ubuntu Xeon clusterbench cuBLASLt docker kvm Cooperlake GenuineIntel Processor "
        "SapphireRapids SuperBench Zen bookworm haswell",
    "libraries":
        "blis builtin cublas cublaslt cuda cudart fabric glibc ibverbs mpi nccl oneDNN onednn openblas openmpi rdmacm ucx",
    "units":
        "GHz GiB KiB MiB TiB ms ns ppm",
    "steps, cases, criteria, checks, commands":
        "bitwise burn checkpoint cluster data freivalds gate gemm gpu hbm host hosts info item labels latency "
        "links locate nvidia ordered performance pingpong product randread rank rdma report run step sum triad "
        "uniform values write",
    "keys and settings":
        "active algorithm compiler direct discard fallocate fma statx down driver ethernet fsync madvise none relatime root rw "
        "sanitizers size time tsc up vda Release",
    "parties of the contract":
        "Customer Example Hall Li Supervisor Systems Wei annex phase spares stamps training",
}
OTHERS = ["ssh: connect to host node0032 port 22: No route to host", "Stale file handle", "DeepEP issue 16",
          # of the cluster that is made up
          "compiler made up", "as delivered", "normal distribution"]


def said_in_english_alone(value):
    """The sentences of a document of version 1, which have no ids."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from said_in_english_alone(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from said_in_english_alone(inner)
    elif isinstance(value, str) and " " in value:
        yield value


def latin_words(report, apart=()):
    """The words of a Markdown report that are neither code nor part of an identifier or a unit."""
    text = re.sub(r"```.*?```", " ", report, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("| 测试工具与命令"))
    text = re.sub(r"\\(.)", r"\1", re.sub(r"`[^`]*`", " ", text))
    for sentence in sorted([*apart, *OTHERS], key=len, reverse=True):
        text = text.replace(sentence, " ")
    parts = re.split(r"[^!-~]+|[|()\[\],;:\"]+", text)
    return {p.strip(".*'") for p in parts if re.fullmatch(r"[A-Za-z']{2,}[.*]*", p) and not p.isupper()}


def test_the_chinese_reports_have_no_english_words():
    allowed = {word for words in LATIN.values() for word in words.split()}
    for report in (EXAMPLES / "h20-32-nodes", EXAMPLES / "host", SOURCE / "tests" / "golden"):
        text = (report / "report.zh.md").read_text()
        assert "result/1" not in text, report
        english = latin_words(text) - allowed
        assert not english, f"{report}: {sorted(english)}"


def test_a_chinese_report_of_older_documents_says_why_some_is_english(tmp_path):
    """Documents of version 1 have no ids of their sentences: these stay English, and nothing else does."""
    allowed = {word for words in LATIN.values() for word in words.split()}
    campaign, page = SOURCE / "tests" / "data" / "campaign-v1", tmp_path / "r.md"
    done = subprocess.run([os.environ["CLUSTERBENCH_BIN"], "report", campaign, "--lang", "zh", "--md", page],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    older = set()
    for record in (campaign / "records").glob("*.json"):
        document = json.loads(record.read_text())
        older.update(said_in_english_alone([document["records"], document["hosts"]]))
    text = page.read_text()
    assert "result/1" in text
    assert latin_words(text, older) - allowed == set()


def test_an_english_word_in_a_chinese_report_is_found():
    assert latin_words("| 步骤 | `run --resume` | interrupted, see the log\\_file 3 GB/s MPI |") == {"interrupted", "see", "the"}
