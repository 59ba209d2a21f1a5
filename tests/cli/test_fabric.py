"""`fabric` without a subnet: what it says of input that is no dump, and without one."""

import json
import os
import subprocess
from xml.etree import ElementTree

import pytest

BINARY = os.environ["CLUSTERBENCH_BIN"]
DUMP = """#
Switch	4 "S-0000000000000001"		# "leaf" base port 0 lid 1 lmc 0
[1]	"H-0000000000000002"[1](2) 		# "n1 mlx5_0" lid 2 4xNDR

Ca	1 "H-0000000000000002"		# "n1 mlx5_0"
[1](2) 	"S-0000000000000001"[1]		# lid 2 lmc 0 "leaf" lid 1 4xNDR
"""


def fabric(*args):
    return subprocess.run([BINARY, "fabric", *map(str, args)], capture_output=True, text=True, timeout=60, check=False)


def test_without_a_dump_it_is_skipped_with_the_next_step():
    done = fabric()
    assert done.returncode == 3 and "ibnetdiscover >net.txt" in done.stderr


def test_a_dump_of_one_leaf(tmp_path):
    net, out = tmp_path / "net.txt", tmp_path / "f.json"
    net.write_text(DUMP)
    assert fabric("--from", net, "--json", out).returncode == 0
    (record,) = json.loads(out.read_text())["records"]
    assert {m["name"]: m["summary"]["max"] for m in record["metrics"]} == {"adapters": 1, "switches": 1, "links": 1, "hosts": 1}
    assert {c["name"] for c in record["checks"]} == {"link_rate", "duplicate_guid", "duplicate_lid", "duplicate_name", "one_sided", "wrong_rail"}


def test_links_without_a_rate_do_not_pass_for_fast_ones(tmp_path):
    net, out = tmp_path / "net.txt", tmp_path / "f.json"
    net.write_text(DUMP.replace(" 4xNDR", ""))
    assert fabric("--from", net, "--json", out).returncode == 0
    (record,) = json.loads(out.read_text())["records"]
    assert "link_rate" not in {c["name"] for c in record["checks"]}
    assert any("1 of 1 links name no rate" in note["text"] if isinstance(note, dict) else "1 of 1 links name no rate" in note
               for note in record["notes"])


@pytest.mark.parametrize("text, said", [("", "names no node"), ("hello\n", "names no node"), ("Switch many\n", "line 1"),
                                        (DUMP.replace("[1]	", "[one]	"), "line 3")])
def test_what_is_no_dump_is_refused_with_its_line(tmp_path, text, said):
    net = tmp_path / "net.txt"
    net.write_text(text)
    done = fabric("--from", net)
    assert done.returncode == 2 and said in done.stderr and str(net) in done.stderr


def test_a_file_that_is_not_there(tmp_path):
    done = fabric("--from", tmp_path / "none.txt")
    assert done.returncode == 2 and "No such file" in done.stderr


def test_a_plan_with_an_unknown_device_suggests_the_nearest(tmp_path):
    net, plan = tmp_path / "net.txt", tmp_path / "plan.csv"
    net.write_text(DUMP)
    plan.write_text("a_device,a_port,b_device,b_port\nleaf,1,n1/mlx5_0,1\nleaf,2,n1/mlx5_1,1\n")
    done = fabric("--from", net, "--plan", plan)
    assert done.returncode == 1 and "n1 mlx5_0" in done.stdout + done.stderr


JUDGED = {"schema": "clusterbench.profile/1", "name": "net", "title": {"en": "Net", "zh": "网络"},
          "steps": [{"id": "net", "case": "fabric", "params": {}, "deadline": "1m"}],
          "criteria": [{"id": "net.guid", "step": "net", "domain": "network", "title": {"en": "GUIDs", "zh": "标识"}, "check": "duplicate_guid",
                        "why": {"en": "unique", "zh": "唯一"},
                        "source": {"kind": "practice", "ref": {"en": "a test", "zh": "测试"}, "date": "2026-11"}},
                       {"id": "net.rate", "step": "net", "domain": "network", "title": {"en": "Rate", "zh": "速率"}, "check": "link_rate",
                        "why": {"en": "slow links", "zh": "慢链路"},
                        "source": {"kind": "practice", "ref": {"en": "a test", "zh": "测试"}, "date": "2026-11"}}]}


def leaf_with_a_slow_link():
    """A leaf of five adapters, one of them at half of the rate."""
    rates = ["4xNDR"] * 4 + ["2xNDR"]
    ports = "".join(f'[{i}]\t"H-{i + 1:016x}"[1]({i + 1:x}) \t\t# "n{i} mlx5_0" lid {i + 1} {r}\n' for i, r in enumerate(rates, 1))
    adapters = "".join(f'\nCa\t1 "H-{i + 1:016x}"\t\t# "n{i} mlx5_0"\n[1]({i + 1:x}) \t"S-0000000000000001"[{i}]\t\t# lid {i + 1} lmc 0 "leaf" '
                       f'lid 1 {r}\n' for i, r in enumerate(rates, 1))
    return f'#\nSwitch\t8 "S-0000000000000001"\t\t# "leaf" base port 0 lid 1 lmc 0\n{ports}{adapters}'


def test_the_picture_the_leaf_map_and_the_report_s_picture(tmp_path):
    net, svg, leaves = tmp_path / "net.txt", tmp_path / "net.svg", tmp_path / "leaves.txt"
    net.write_text(leaf_with_a_slow_link())
    for language, words in (("en", ["5 hosts, 5 adapters", "fail · link rate: leaf port 5"]), ("zh", ["5 台主机", "链路速率：leaf port 5"])):
        done = fabric("--from", net, "--picture", svg, "--picture-language", language, "--leaf-map-out", leaves)
        assert done.returncode == 1
        drawn = ElementTree.fromstring(svg.read_text())
        text = " ".join(drawn.itertext())
        assert all(word in text for word in words), text
        assert drawn.tag == "{http://www.w3.org/2000/svg}svg" and "script" not in svg.read_text()
    assert leaves.read_text().splitlines()[1:] == [f"n{i} mlx5_0 leaf" for i in range(1, 6)]

    profile = json.loads(json.dumps(JUDGED))
    profile["steps"][0]["params"]["from"] = str(net)
    (tmp_path / "net.json").write_text(json.dumps(profile))
    done = subprocess.run([BINARY, "run", tmp_path / "net.json", "--out", tmp_path / "c", "--launcher", "none"], capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.returncode == 1, done.stderr
    subprocess.run([BINARY, "report", tmp_path / "c"], capture_output=True, timeout=60, check=True)
    page = (tmp_path / "c" / "report.html").read_text()
    assert 'class="fx-badge fx-fail"' in page and "net · Subnet: 5 hosts, 5 adapters, 1 switches" in page, done.stdout + done.stderr
    # The layout is drawn, and not listed among the facts.
    assert "subnet_layout" not in page and "&quot;switches&quot;" not in page


@pytest.mark.parametrize("option", ["--picture", "--leaf-map-out", "--save", "--dot", "--json"])
def test_no_output_replaces_the_input_another_output_or_a_campaign(tmp_path, option):
    net, campaign = tmp_path / "net.txt", tmp_path / "c"
    campaign.mkdir()
    for name in ("campaign.json", "journal.jsonl"):
        (campaign / name).write_text("{}\n")
    net.write_text(DUMP)
    (tmp_path / "link.txt").symlink_to(net)
    other = "--save" if option != "--save" else "--dot"
    for target, beside, words in ((net, (), "the file of --from"), (tmp_path / "link.txt", (), "the file of --from"),
                                  (tmp_path / "x", (other, tmp_path / "x"), "name another file"),
                                  (campaign / "journal.jsonl", (), f"the campaign {campaign}")):
        done = fabric("--from", net, option, target, *beside)
        assert done.returncode == 2 and words in done.stderr, done.stderr
        assert net.read_text() == DUMP and (campaign / "journal.jsonl").read_text() == "{}\n" and not (tmp_path / "x").exists()
    assert fabric("--from", net, option, tmp_path / "y").returncode == 0


def test_a_picture_is_not_mixed_with_the_findings(tmp_path):
    net = tmp_path / "net.txt"
    net.write_text(DUMP)
    for option in ("--picture", "--leaf-map-out", "--save", "--dot"):
        done = fabric("--quiet", "--from", net, option, "-")
        assert done.returncode == 2 and "standard output" in done.stderr and not done.stdout


def test_leaves_of_one_name_are_two_leaves(tmp_path):
    net, leaves = tmp_path / "net.txt", tmp_path / "leaves.txt"
    net.write_text(DUMP + DUMP.replace("S-0000000000000001", "S-0000000000000009").replace("0000002", "0000003").replace("(2)", "(3)")
                   .replace("n1 ", "n2 ").replace("lid 1", "lid 7").replace("lid 2", "lid 8"))
    assert fabric("--from", net, "--leaf-map-out", leaves).returncode == 1  # duplicate_name
    first, second = (line.split() for line in leaves.read_text().splitlines()[1:])
    assert (first[0], second[0]) == ("n1", "n2") and first[2] != second[2]


def test_pairs_by_leaf_need_a_map(tmp_path):
    done = subprocess.run([BINARY, "verbs", "--schedule", "within-leaf"], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and "fabric --leaf-map-out FILE" in done.stderr
