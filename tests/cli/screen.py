"""What a person sees: the screen of a terminal that a program writes to. It knows what this program uses: printing with
wide characters, line breaks, moving up, clearing; anything else is an error."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
import unicodedata

SEQUENCE = re.compile(r"\x1b\[([0-9;]*)([A-Za-z])")


class Screen:
    def __init__(self, columns, rows=24):
        self.columns, self.rows = columns, rows
        self.lines, self.row, self.column = [[]], 0, 0

    def resize(self, columns):
        """Breaks what no longer fits, as terminals do; the cursor stays at its text."""
        cursor = None
        broken = []
        for number, line in enumerate(self.lines):
            pieces = [line[i:i + columns] for i in range(0, len(line), columns)] or [[]]
            if number == self.row:
                cursor = len(broken) + min(self.column // columns, len(pieces) - 1)
            broken += pieces
        self.lines, self.columns, self.row = broken, columns, cursor
        self.column %= columns

    def put(self, character):
        width = 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if self.column + width > self.columns:
            self.down()
            self.column = 0
        line = self.lines[self.row]
        line += [" "] * (self.column - len(line))
        line[self.column:self.column + width] = [character] + [""] * (width - 1)
        self.column += width

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append([])

    def feed(self, text):
        at = 0
        while at < len(text):
            if found := SEQUENCE.match(text, at):
                self.control(found.group(1), found.group(2))
                at = found.end()
                continue
            if text[at] == "\n":
                self.down()
            elif text[at] == "\r":
                self.column = 0
            else:
                assert text[at] >= " ", f"control character {text[at]!r}"
                self.put(text[at])
            at += 1

    def control(self, number, letter):
        if letter == "A":
            top = max(0, len(self.lines) - self.rows)
            self.row = max(top, self.row - int(number or 1))
        elif letter == "J":
            del self.lines[self.row + 1:]
            del self.lines[self.row][self.column:]
        elif letter == "K":
            del self.lines[self.row][self.column:]
        else:
            assert letter == "m", f"escape sequence {number}{letter}"

    def text(self):
        return ["".join(line).rstrip() for line in self.lines]


class Terminal:
    """A program on a terminal of its own; `screen` is what it shows."""

    def __init__(self, command, columns=80, rows=24, environment=None):
        self.master, slave = pty.openpty()
        self.screen, self.raw = Screen(columns, rows), ""
        self.size(columns)
        self.process = subprocess.Popen([str(c) for c in command], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
                                        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                                        env={**os.environ, "TERM": "xterm", **(environment or {})})
        os.close(slave)
        self.rest = b""

    def size(self, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", self.screen.rows, columns, 0, 0))

    def resize(self, columns):
        self.screen.resize(columns)
        self.size(columns)

    def type(self, keys):
        os.write(self.master, keys.encode())

    def read(self, seconds, until=None):
        """Shows what comes within these seconds, or until the screen satisfies `until`. False at the program's end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not (until and until(self.screen)):
            if not select.select([self.master], [], [], 0.1)[0]:
                continue
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return False
            if not data:
                return False
            data = self.rest + data
            text = data.decode("utf-8", errors="ignore")
            self.rest = data[len(text.encode()):]
            self.raw += text
            self.screen.feed(text)
        return True

    def end(self, seconds=60):
        while self.read(seconds):
            assert self.process.poll() is not None or seconds > 0, "it does not end"
            seconds -= 1
        code = self.process.wait(timeout=30)
        os.close(self.master)
        return code
