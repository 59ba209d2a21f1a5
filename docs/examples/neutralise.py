#!/usr/bin/python3
"""Copies a campaign's directory without what identifies the machine, and mends digests and links.

usage: neutralise.py CAMPAIGN COPY [HOST=node01]
The host's name becomes HOST, the directory /srv/acceptance, the program's path clusterbench, serial numbers, UUIDs, MAC addresses and
GUIDs become zeros, the kernel keeps its version only; figures, times and everything else stay. Lists what was replaced, so that it can be looked at before it is committed.
"""

import hashlib
import json
import pathlib
import re
import sys

IDENTITIES = re.compile(r"serial|uuid|guid|mac_address|^wwn|asset|^address$|^boot_id|machine_id")


def clear(value, seen):
    """Zeros for letters and digits of every attribute that names one piece."""
    if isinstance(value, dict):
        return {k: re.sub(r"[0-9a-zA-Z]", "0", v) if isinstance(v, str) and IDENTITIES.search(k) and not seen.add(k)
                else clear(v, seen) for k, v in value.items()}
    return [clear(v, seen) for v in value] if isinstance(value, list) else value


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def one_line(event):
    return json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def fingerprint(start, tool, campaign):
    """As src/campaign/plan.cpp has it, of a command without the program's place and the directory's."""
    argv, record = list(start["command"]), start["command"][-1]
    argv[-1] = f"records/{start['job']}.json"
    argv = ["DIR/scratch" if a == str(pathlib.Path(record).parent.parent / "scratch") else a for a in argv]
    step = campaign["profile"]["steps"][int(start["job"][:3]) - 1]
    environment = {} if campaign["launcher"] == "mpirun" else {k: str(v) for k, v in step.get("env", {}).items()}
    whole = {"argv": argv, "environment": environment, "profile": campaign["profile_sha256"],
             **{key: tool[key] for key in ("version", "commit", "dirty")}}
    text = json.dumps(whole, sort_keys=True, indent=1, ensure_ascii=False) + "\n"
    return hashlib.sha256(text.encode()).hexdigest()


def link(copy):
    """Fingerprints and links of the journal, computed anew; what was signed is signed no more."""
    campaign = json.loads((copy / "campaign.json").read_text())
    if not campaign.get("chained"):
        return
    campaign.pop("public_key", None)
    (copy / "campaign.json").write_text(json.dumps(campaign, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    previous, lines, tool, prints = sha256(copy / "campaign.json"), [], None, {}
    for line in (copy / "journal.jsonl").read_text().splitlines():
        event = json.loads(line)
        tool = event.get("tool", tool)
        if event["event"] == "start":
            prints[event["job"], event["attempt"]] = fingerprint(event, tool, campaign)
        if "fingerprint" in event:
            event["fingerprint"] = prints.get((event["job"], event["attempt"]), event["fingerprint"])
        event.pop("signature", None)
        event["previous"] = previous
        lines.append(one_line(event))
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    (copy / "journal.jsonl").write_text("".join(line + "\n" for line in lines))


def main():
    source, copy = map(pathlib.Path, sys.argv[1:3])
    name = sys.argv[3] if len(sys.argv) > 3 else "node01"
    campaign = json.loads((source / "campaign.json").read_text())
    events = [json.loads(line) for line in (source / "journal.jsonl").read_text().splitlines()]
    binary = next(e["command"] for e in events if e.get("event") == "session")[0]
    hosts = [h["name"] if isinstance(h, dict) else h for h in campaign["hosts"]]
    records = [json.loads(p.read_text()) for p in sorted(source.glob("records/*.json"))]
    names = {h for r in records for h in r["run"]["hosts"]} | set(hosts)
    programs = {r["run"]["argv"][0] for r in records} | {binary}
    swaps = [(str(source.resolve()), "/srv/acceptance"), (str(source), "/srv/acceptance")]
    swaps += [(p, "clusterbench") for p in sorted(programs, key=len, reverse=True) if "/" in p]
    kernels = {k for r in records for k in re.findall(r'"kernel": "([0-9.]+-[^"]*)"', json.dumps(r))}
    swaps += [(k, k.split("-")[0]) for k in kernels]
    digests, seen = {}, set()

    def text_of(text):
        for old, new in swaps:
            text = text.replace(old, new)
        for host in sorted(names, key=len, reverse=True):
            text = re.sub(rf"(?<![\w./-]){re.escape(host)}(?![\w-])", name, text)
        return text

    for path in sorted(p for p in source.rglob("*") if p.is_file() and "scratch" not in p.parts):
        if path.name in ("MANIFEST.sha256", "lock") or path.suffix == ".html":
            continue
        target = copy / text_of(str(path.relative_to(source)))
        target.parent.mkdir(parents=True, exist_ok=True)
        text = text_of(path.read_text())
        if path.parent.name == "records":
            text = json.dumps(clear(json.loads(text), seen), indent=1, ensure_ascii=False) + "\n"
        target.write_text(text)
        digests[sha256(path)] = sha256(target)
    for made in [copy / "journal.jsonl", copy / "campaign.json"]:
        text = made.read_text()
        for old, new in digests.items():
            text = text.replace(old, new)
        made.write_text(text)
    link(copy)
    files = sorted(p for p in copy.rglob("*") if p.is_file() and p.name != "MANIFEST.sha256")
    (copy / "MANIFEST.sha256").write_text("".join(f"{sha256(p)}  {p.relative_to(copy)}\n" for p in files))
    print(f"{name} for {', '.join(sorted(names))}; zeros for {', '.join(sorted(seen)) or 'nothing'}")


if __name__ == "__main__":
    main()
