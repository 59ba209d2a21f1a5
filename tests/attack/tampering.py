"""Ways to falsify a campaign, each a change of one kind at a place drawn at random.

A change takes the campaign's directory, another campaign of the same profile, and a random.Random. It returns a
sentence that says what it did, or nothing where there is nothing of its kind to change.
"""

import copy
import hashlib
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


def proofs(campaign):
    return sorted((campaign / "proofs").glob("*.json"))


def evidence(campaign):
    """What the manifest covers."""
    return sorted(p for p in campaign.rglob("*") if p.is_file() and p.name != MANIFEST
                  and (p.parent.name in ("records", "proofs", "logs") or p.name in ("campaign.json", "journal.jsonl")))


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


# ---- proofs that the checks can fail ----
def drop_proof(campaign, other, lot):
    """The file alone, or every trace of it."""
    path = lot.choice(proofs(campaign))
    path.unlink()
    if lot.random() < 0.5:
        return f"{path.name} of a proof dropped"
    for index in (campaign / "journal.jsonl", campaign / MANIFEST):
        index.write_text("".join(line for line in lines_of(index) if f"proofs/{path.name}" not in line))
    return f"{path.name} of a proof dropped with all that names it"


def alter_proof(campaign, other, lot):
    path = lot.choice(proofs(campaign))
    document = load(path)
    place = alter_leaf(document, lot)
    save(path, document)
    return f"{place} of the proof {path.name} altered"


def swap_proof_and_record(campaign, other, lot):
    path = lot.choice(proofs(campaign))
    record = campaign / "records" / path.name
    first, second = path.read_bytes(), record.read_bytes()
    path.write_bytes(second)
    if lot.random() < 0.5:
        record.write_bytes(first)
    return f"proof and record {path.name} mixed"


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


def drop_point(campaign, other, lot):
    """One point of a sweep disappears from its document, with everything that was measured there."""
    sweeps = [p for p in records(campaign) if len(load(p)["records"]) > 1]
    if not sweeps:
        return None
    path = lot.choice(sweeps)
    document = load(path)
    gone = document["records"].pop(lot.randrange(len(document["records"])))
    save(path, document)
    return f"the point {gone['params'].get('size')} of {path.name} dropped"


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


# ---- all digests made anew, as somebody without the key can ----
def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def seal(campaign):
    """The journal's digests of files, its chain from campaign.json on, and the manifest; signatures stay as they are."""
    previous, lines = digest(campaign / "campaign.json"), []
    for line in lines_of(campaign / "journal.jsonl"):
        event = json.loads(line)
        if "sha256" in event and (campaign / event.get("file", "")).is_file():
            event["sha256"] = digest(campaign / event["file"])
        if "files" in event:
            event["files"] = hashlib.sha256(manifest_of(campaign, ("journal.jsonl",)).encode()).hexdigest()
        lines.append(json.dumps({**event, "previous": previous}, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    (campaign / "journal.jsonl").write_text("".join(line + "\n" for line in lines))
    (campaign / MANIFEST).write_text(manifest_of(campaign))


def manifest_of(campaign, without=()):
    names = sorted(str(p.relative_to(campaign)) for p in evidence(campaign))
    return "".join(f"{digest(campaign / n)}  {n}\n" for n in names if n not in without)


def sealed(change):
    """The same change, after which all digests agree again."""
    def changed_and_sealed(campaign, other, lot):
        done = change(campaign, other, lot)
        if done is None:
            return None
        seal(campaign)
        return f"{done}, sealed again"
    return changed_and_sealed


def cut_journal(campaign, other, lot):
    """The journal ends earlier, perhaps with the end of an earlier run."""
    path = campaign / "journal.jsonl"
    lines = lines_of(path)
    path.write_text("".join(lines[:lot.randrange(1, len(lines))]))
    return "journal cut"


def make_pass(campaign, other, lot):
    """Every failed check of a record passes, and the journal knows of none."""
    path = lot.choice(records(campaign))
    document = load(path)
    for record in document["records"]:
        for check in record["checks"]:
            check["passed"] = True
    save(path, document)
    journal = campaign / "journal.jsonl"
    events = [json.loads(line) for line in lines_of(journal)]
    for event in events:
        for key in ("failed_checks", "errored", "skipped"):
            event.pop(key, None)
    journal.write_text("".join(json.dumps(e) + "\n" for e in events))
    return f"checks of {path.name} made to pass"


def other_machine(campaign, other, lot):
    path = lot.choice(records(campaign))
    document = load(path)
    document["run"]["hosts"] = ["elsewhere"]
    save(path, document)
    return f"{path.name} was taken on another host"


def other_parameter(campaign, other, lot):
    """The record says itself that another value was measured."""
    path = lot.choice(records(campaign))
    document = load(path)
    argv = document["run"]["argv"]
    argv[argv.index("--value") + 1] += "7"
    save(path, document)
    return f"{path.name} was taken with another parameter"


def drop_record(campaign, other, lot):
    path = lot.choice(records(campaign))
    path.unlink()
    return f"{path.name} dropped"


def drop_events(campaign, other, lot):
    """A job of which the journal knows nothing any more."""
    path = lot.choice(records(campaign))
    journal = campaign / "journal.jsonl"
    kept = [line for line in lines_of(journal) if json.loads(line).get("job") != path.stem]
    journal.write_text("".join(kept))
    return f"events of {path.stem} dropped"


CHANGES = [drop_file, drop_manifest, empty_file, duplicate_record, swap_records, take_file_of_another_campaign,
           tear_file, flip_bit, drop_line, move_line, repeat_line, alter_journal, alter_record, alter_campaign,
           drop_entry, drop_point, repeat_entry, loosen_profile, drop_criterion, drop_step, rename_host,
           drop_proof, alter_proof, swap_proof_and_record, cut_journal]
# Of a campaign that was measured with a key none of these may be accepted.
SEALED = [sealed(change) for change in (
    drop_file, duplicate_record, swap_records, take_file_of_another_campaign, flip_bit, drop_line, move_line, repeat_line,
    alter_journal, alter_record, alter_campaign, drop_entry, drop_point, repeat_entry, loosen_profile, drop_criterion, drop_step,
    rename_host, drop_proof, alter_proof, swap_proof_and_record, cut_journal, make_pass, other_machine, drop_events)]
# Without a key digests authenticate nothing, but what is there still has to be what the profile asks for.
BOUND = [sealed(change) for change in (drop_record, drop_events, swap_records, other_machine, other_parameter,
                                       drop_point, duplicate_record, drop_proof, swap_proof_and_record)]


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
