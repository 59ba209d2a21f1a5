"""The board of `run` on a terminal: one board, never wider than the terminal, and gone at the end."""

import json
import os
import pathlib
import re

import pytest

from screen import Terminal

BINARY = os.environ["CLUSTERBENCH_BIN"]
TOOL = pathlib.Path(os.environ["CLUSTERBENCH_BUILD_DIR"]) / "bin" / "stand_in_launcher"
SOURCE = {"kind": "contract", "ref": "test", "date": "2026-11"}


def campaign(tmp_path, hosts, seconds, **environment):
    """The command and environment of a run over hosts that a stand-in launcher plays."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "state").mkdir()
    (tmp_path / "bin/mpirun").write_text(f'#!/bin/sh\nexec {TOOL} "$@"\n')
    (tmp_path / "bin/mpirun").chmod(0o755)
    (tmp_path / "script").write_text(f"seconds {seconds} {seconds}\n")
    profile = tmp_path / "p.json"
    profile.write_text(json.dumps({
        "schema": "clusterbench.profile/1", "name": "board", "title": {"en": "board", "zh": "看板"},
        "steps": [{"id": "info", "case": "info", "deadline": "60s", "informative": True, "why": "test"},
                  {"id": "a-step-with-a-long-name-that-takes-its-room", "case": "fake", "deadline": "60s", "params": {"value": 2}}],
        "criteria": [{"id": "rate", "step": "a-step-with-a-long-name-that-takes-its-room", "domain": "host", "why": "test",
                      "source": SOURCE, "metric": "bytes_per_second", "min": 1}]}))
    command = [BINARY, "run", profile, "--out", tmp_path / "测试 目录", "--hosts", f"node[001-{hosts:03}]:1",
               "--launcher", "mpirun", "--fan-out", 64]
    return command, {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "CLUSTERBENCH_TEST_CASES": "1",
                     "STAND_IN_SCRIPT": str(tmp_path / "script"), "STAND_IN_STATE": str(tmp_path / "state"),
                     "STAND_IN_BINARY": BINARY, **environment}


def boards(screen):
    return [line for line in screen.text() if re.search(r"… \d+ of \d+ jobs", line)]


def shows_a_board(screen):
    return bool(boards(screen))


@pytest.mark.parametrize("hosts, columns", [(4, 80), (4, 200), (300, 80)])
def test_there_is_one_board_and_none_at_the_end(tmp_path, hosts, columns):
    command, environment = campaign(tmp_path, hosts, 1.5)
    terminal = Terminal(command, columns, environment=environment)
    assert terminal.read(30, shows_a_board), terminal.screen.text()
    for _ in range(4):
        terminal.read(0.6)
        assert len(boards(terminal.screen)) <= 1, terminal.screen.text()
        assert all(len(line) < columns for line in terminal.screen.text()[1:] if "… " in line or "node" in line)
    code = terminal.end()
    text = "\n".join(terminal.screen.text())
    assert code == 0, text
    assert not boards(terminal.screen) and "ACCEPTED" in text and "✓" in text, text
    print(text)


def test_a_board_that_a_narrower_terminal_breaks_is_taken_off(tmp_path):
    command, environment = campaign(tmp_path, 4, 4)
    terminal = Terminal(command, 120, environment=environment)
    assert terminal.read(30, shows_a_board)
    terminal.resize(40)
    terminal.read(2.5)
    assert len(boards(terminal.screen)) <= 1, terminal.screen.text()
    head = [line for line in terminal.screen.text() if line.startswith("   info") or line.startswith("   a-step")]
    assert len(head) <= 2, terminal.screen.text()
    terminal.type("\x03")
    code = terminal.end()
    text = "\n".join(terminal.screen.text())
    assert code == 130 and not boards(terminal.screen), text
    assert "continue with: clusterbench run --resume" in re.sub(r"\n", "", text), text


def test_a_terminal_that_moves_no_cursor_gets_plain_lines(tmp_path):
    command, environment = campaign(tmp_path, 4, 0.2, TERM="dumb", NO_COLOR="1")
    terminal = Terminal(command, environment=environment)
    assert terminal.end() == 0
    assert "\x1b" not in terminal.raw and "ACCEPTED" in terminal.raw


def test_no_colour_where_none_is_wanted(tmp_path):
    command, environment = campaign(tmp_path, 4, 1.2, NO_COLOR="1")
    terminal = Terminal(command, environment=environment)
    assert terminal.end() == 0
    assert not re.search(r"\x1b\[[0-9;]*m", terminal.raw)
    assert "\x1b[" in terminal.raw  # the board is drawn all the same
