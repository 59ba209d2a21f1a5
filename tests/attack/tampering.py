"""Ways to falsify a campaign, each a change of one kind at a place drawn at random.

A change takes the campaign's directory, another campaign of the same profile, and a random.Random. It returns a
sentence that says what it did, or nothing where there is nothing of its kind to change.
"""

import copy
import json
import pathlib
import shutil
import tempfile

MANIFEST = "MANIFEST.sha256"


def load(path):
    return json.loads(path.read_text())


def save(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False))


def records(campaign):
    return sorted((campaign / "records").glob("*.json"))


def evidence(campaign):
    """What the manifest covers."""
    return sorted(p for p in campaign.rglob("*") if p.is_file() and p.name != MANIFEST
                  and (p.parent.name in ("records", "logs") or p.name in ("campaign.json", "journal.jsonl")))


# ---- whole files ----
def drop_file(campaign, other, lot):
    path = lot.choice(evidence(campaign))
    path.unlink()
    return f"{path.name} dropped"


def drop_manifest(campaign, other, lot):
    (campaign / MANIFEST).unlink()
    return "manifest dropped"


def empty_file(campaign, other, lot):
    path = lot.choice([*records(campaign), campaign / MANIFEST, campaign / "journal.jsonl"])
    path.write_text("")
    return f"{path.name} emptied"


def duplicate_record(campaign, other, lot):
    path = lot.choice(records(campaign))
    copy_of = path.with_name(lot.choice(["099-extra.json", f"{path.stem} (copy).json", f"{path.stem}.9.json"]))
    shutil.copy(path, copy_of)
    return f"{path.name} copied to {copy_of.name}"


def swap_records(campaign, other, lot):
    paths = records(campaign)
    if len(paths) < 2:
        return None
    a, b = lot.sample(paths, 2)
    first, second = a.read_bytes(), b.read_bytes()
    if first == second:
        return None
    a.write_bytes(second)
    b.write_bytes(first)
    return f"{a.name} and {b.name} exchanged"


def take_file_of_another_campaign(campaign, other, lot):
    name = lot.choice([*(f"records/{p.name}" for p in records(campaign)), "journal.jsonl", MANIFEST, "campaign.json"])
    theirs = other / name
    if not theirs.exists() or theirs.read_bytes() == (campaign / name).read_bytes():
        return None
    shutil.copy(theirs, campaign / name)
    return f"{name} of another campaign"


def tear_file(campaign, other, lot):
    path = lot.choice([*records(campaign), campaign / "journal.jsonl", campaign / MANIFEST])
    content = path.read_bytes()
    if len(content) < 2:
        return None
    path.write_bytes(content[:lot.randrange(1, len(content) - 1)])
    return f"{path.name} torn"


def flip_bit(campaign, other, lot):
    path = lot.choice(evidence(campaign))
    content = bytearray(path.read_bytes())
    if not content:
        return None
    at = lot.randrange(len(content))
    content[at] ^= 1 << lot.randrange(8)
    path.write_bytes(bytes(content))
    return f"byte {at} of {path.name} flipped"


# ---- the manifest and the journal, line by line ----
def lines_of(path):
    return path.read_text().splitlines(keepends=True)


def drop_line(campaign, other, lot):
    path = lot.choice([campaign / "journal.jsonl", campaign / MANIFEST])
    lines = lines_of(path)
    if len(lines) < 2:
        return None
    at = lot.randrange(len(lines))
    del lines[at]
    path.write_text("".join(lines))
    return f"line {at + 1} of {path.name} dropped"


def move_line(campaign, other, lot):
    path = campaign / "journal.jsonl"
    lines = lines_of(path)
    before = list(lines)
    lot.shuffle(lines)
    if lines == before:
        return None
    path.write_text("".join(lines))
    return "journal lines re-ordered"


def repeat_line(campaign, other, lot):
    path = campaign / "journal.jsonl"
    lines = lines_of(path)
    at = lot.randrange(len(lines))
    lines.insert(at, lines[at])
    path.write_text("".join(lines))
    return f"line {at + 1} of the journal stands twice"


def alter_journal(campaign, other, lot):
    path = campaign / "journal.jsonl"
    events = [json.loads(line) for line in lines_of(path)]
    event = lot.choice(events)
    key = lot.choice([k for k in event if k not in ("event",)])
    event[key] = changed_value(event[key], lot)
    path.write_text("".join(json.dumps(e) + "\n" for e in events))
    return f"journal: {key} of a {event['event']} event altered"


# ---- inside a record and inside campaign.json ----
def leaves(value, path=()):
    """All places in a document that hold neither an object nor a list."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = False
    for key, child in children:
        found = True
        yield from leaves(child, (*path, key))
    if not found:
        yield path


def changed_value(value, lot):
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + lot.choice([1, -1, 1000, value, -value / 2 if value else 7])
    if isinstance(value, str):
        return value + lot.choice(["x", " ", "0"]) if value else "x"
    return [] if value is None or value else ["x"]


def alter_leaf(document, lot):
    place = lot.choice(list(leaves(document)))
    target = document
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = changed_value(target[place[-1]], lot)
    return ".".join(map(str, place))


def alter_record(campaign, other, lot):
    path = lot.choice(records(campaign))
    document = load(path)
    place = alter_leaf(document, lot)
    save(path, document)
    return f"{place} of {path.name} altered"


def alter_campaign(campaign, other, lot):
    path = campaign / "campaign.json"
    document = load(path)
    place = alter_leaf(document, lot)
    save(path, document)
    return f"{place} of campaign.json altered"


def drop_entry(campaign, other, lot):
    """A record, metric, check, entity or host disappears from a document."""
    path = lot.choice(records(campaign))
    document = load(path)
    lists = [document["records"], document["hosts"]]
    lists += [r[key] for r in document["records"] for key in ("metrics", "checks", "entities") if r.get(key)]
    lists = [entries for entries in lists if entries]
    entries = lot.choice(lists)
    entries.pop(lot.randrange(len(entries)))
    save(path, document)
    return f"an entry of {path.name} dropped"


def repeat_entry(campaign, other, lot):
    path = lot.choice(records(campaign))
    document = load(path)
    entries = lot.choice([document["records"], *[r["metrics"] for r in document["records"] if r.get("metrics")]])
    if not entries:
        return None
    entries.append(copy.deepcopy(lot.choice(entries)))
    save(path, document)
    return f"an entry of {path.name} stands twice"


def loosen_profile(campaign, other, lot):
    path = campaign / "campaign.json"
    document = load(path)
    limits = [c for c in document["profile"]["criteria"] if "min" in c]
    if not limits:
        return None
    lot.choice(limits)["min"] *= lot.choice([0.5, 0.9])
    save(path, document)
    return "a limit of campaign.json lowered"


def drop_criterion(campaign, other, lot):
    path = campaign / "campaign.json"
    document = load(path)
    if len(document["profile"]["criteria"]) < 2:
        return None
    document["profile"]["criteria"].pop(lot.randrange(len(document["profile"]["criteria"])))
    save(path, document)
    return "a criterion of campaign.json dropped"


def drop_step(campaign, other, lot):
    path = campaign / "campaign.json"
    document = load(path)
    steps = document["profile"]["steps"]
    if len(steps) < 2:
        return None
    gone = steps.pop(lot.randrange(len(steps)))["id"]
    document["profile"]["criteria"] = [c for c in document["profile"]["criteria"] if c.get("step") != gone]
    save(path, document)
    return f"step {gone} of campaign.json dropped"


def rename_host(campaign, other, lot):
    """The whole campaign claims another machine, in campaign.json or in a record."""
    path = lot.choice([campaign / "campaign.json", *records(campaign)])
    text = path.read_text()
    name = load(campaign / "campaign.json")["hosts"][0]
    name = name["name"] if isinstance(name, dict) else name
    if f'"{name}"' not in text:
        return None
    path.write_text(text.replace(f'"{name}"', '"elsewhere"'))
    return f"{path.name} names another host"


CHANGES = [drop_file, drop_manifest, empty_file, duplicate_record, swap_records, take_file_of_another_campaign,
           tear_file, flip_bit, drop_line, move_line, repeat_line, alter_journal, alter_record, alter_campaign,
           drop_entry, repeat_entry, loosen_profile, drop_criterion, drop_step, rename_host]


def apply(change, campaign, other, lot):
    """A change of a file that an earlier change has spoilt is no change."""
    try:
        return change(campaign, other, lot)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, FileNotFoundError):
        return None


class scratch_copy:
    """A copy of a campaign in memory where there is room, gone at the end."""

    def __init__(self, campaign):
        memory = pathlib.Path("/dev/shm")
        self.directory = tempfile.mkdtemp(dir=memory if memory.is_dir() else None)
        self.campaign = shutil.copytree(campaign, pathlib.Path(self.directory) / "c")

    def __enter__(self):
        return self.campaign

    def __exit__(self, *ignored):
        shutil.rmtree(self.directory)


def same_files(a, b):
    def files(root):
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}
    return files(a) == files(b)
