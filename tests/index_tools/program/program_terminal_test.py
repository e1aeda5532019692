"""What a person at a terminal sees, at terminals of several sizes."""

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

from program_support import DEMO, PROGRAM, DemoIndexTest, main, run

STYLE = re.compile("\033\\[[0-9;]*m")


class OnTerminal:
    """The program with a terminal of its own; ended on leaving."""

    def __init__(self, *arguments, rows=24, columns=80):
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdin=child, stdout=child, stderr=child,
                                        start_new_session=True, env={**os.environ, "TERM": "xterm", "NO_COLOR": ""},
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(child)
        self.output = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.parent)

    def type(self, text):
        os.write(self.parent, text.encode())

    def read_until(self, pattern, seconds=60):
        """Everything printed since the last call, up to the first match's end or a little beyond."""
        start, end = len(self.output), time.monotonic() + seconds
        while not re.search(pattern, self.output[start:]):
            ready, _, _ = select.select([self.parent], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {pattern!r} in {self.output[start:]!r}")
            try:
                self.output += os.read(self.parent, 65536).decode(errors="replace")
            except OSError as error:
                raise AssertionError(f"ended without {pattern!r}: {self.output[start:]!r}") from error
        return self.output[start:]

    def read_prompt(self, before="", seconds=60):
        """Like read_until, for the prompt that follows `before`. libedit prints it before it reads key by key: keys
        typed in between are edited by the terminal, which knows no history."""
        shown = self.read_until(f"(?s){before}.*> $", seconds)
        end = time.monotonic() + seconds
        while termios.tcgetattr(self.parent)[3] & termios.ICANON:
            if time.monotonic() > end:
                raise AssertionError(f"keys are not read one by one after {shown!r}")
            time.sleep(0.005)
        return shown

    def read_all(self, seconds=300):
        start, end = len(self.output), time.monotonic() + seconds
        while select.select([self.parent], [], [], max(0, end - time.monotonic()))[0]:
            try:
                piece = os.read(self.parent, 65536)
            except OSError:
                break
            if not piece:
                break
            self.output += piece.decode(errors="replace")
        return self.output[start:], self.process.wait(timeout=seconds)


def columns_of(line):
    """The width of a line without control sequences."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Terminal(DemoIndexTest):
    def on_terminal(self, *arguments, **size):
        try:
            return OnTerminal(*arguments, **size)
        except OSError as error:
            self.skipTest(f"SKIPPED: no pseudo-terminal: {error}")

    def test_progress_stays_in_one_line(self):
        for columns in (20, 33, 80):
            arguments = ["search", "--index", self.index, "--topics", DEMO / "queries.tsv", "--run",
                         self.folder / "x.run", "--window", "10", "--precision", "fp32", "--threads", "1"]
            with self.subTest(columns=columns), self.on_terminal(*arguments, columns=columns) as program:
                output, code = program.read_all()
                self.assertEqual(code, 0, output)
                progress = output[:output.index("30 queries")]
                updates = progress.split("\r\033[K")
                self.assertGreater(len(updates), 3, output)
                for update in updates:
                    self.assertNotIn("\n", update)
                    self.assertLess(columns_of(update), columns, update)
                self.assertRegex(progress, r"searching.* \d+ %")

    def test_ctrl_c_is_answered_while_the_program_stops(self):
        queries = self.write("many.tsv", "".join(f"{i}\twhy is bread number {i} stale\n" for i in range(2000)))
        arguments = ["search", "--index", self.index, "--topics", queries, "--run", self.folder / "x.run"]
        with self.on_terminal(*arguments) as program:
            program.read_until("searching")
            program.type("\x03")
            program.read_until(r"stopping \.\.\. \(Ctrl-C again ends immediately\)", seconds=5)
            output, code = program.read_all()
            self.assertEqual(code, 130, output)
        self.assertFalse((self.folder / "x.run").exists())

    def test_heading_and_hits_fit_the_screen(self):
        for rows, hits in ((24, 9), (40, 10), (12, 3)):
            arguments = ["search", "--index", self.index, "--window", "20", "how to treat a burn"]
            with self.subTest(rows=rows), self.on_terminal(*arguments, rows=rows) as program:
                output, code = program.read_all()
                self.assertEqual(code, 0, output)
                lines = STYLE.sub("", output).replace("\r", "").splitlines()
                self.assertLess(len(lines), rows - 1)  # and the line of the command and the shell's prompt
                self.assertIn(f"{hits} of 44 hits", output)
                self.assertLessEqual(max(map(columns_of, lines)), 80)

    def test_long_ids_fit_the_screen(self):
        ids = ["/usr/share/doc/a-package-with-a-long-name/examples/first.txt", "short", "x" * 200 + "end"]
        documents = self.write("long.tsv", "".join(f"{id}\tbread and butter {i}\n" for i, id in enumerate(ids)))
        index = self.folder / "long.index"
        self.expect(run("index", "--corpus", "tsv", "--input", documents, "--index", index), 0)
        with self.on_terminal("search", "--index", index, "bread") as program:
            output, code = program.read_all()
        self.assertEqual(code, 0, output)
        lines = STYLE.sub("", output).replace("\r", "").splitlines()
        self.assertLessEqual(max(map(columns_of, lines)), 80, output)
        self.assertIn(ids[0], (line.strip() for line in lines))
        self.assertTrue(any(line.endswith("  short") for line in lines), output)
        self.assertTrue(any(line.strip().startswith("…x") and line.endswith("xend") for line in lines), output)
        # A program that reads the output finds every id at the end of its row.
        rows = self.expect(run("search", "--index", index, "bread"), 0).stdout.splitlines()
        self.assertEqual({row.split()[-1] for row in rows[3::2]}, set(ids))

    def test_questions_can_be_recalled_and_edited(self):
        with self.on_terminal("search", "--index", self.index, "--no-rescore") as program:
            program.read_prompt()
            program.type("onions\n")
            program.read_prompt("hits")
            program.type("bread\n")
            program.read_prompt("hits")
            program.type("\033[A\033[A\033[D\x7f\033[Cz\n")  # up twice: onions; delete the "n", append "z"
            shown = program.read_prompt("hits")
            self.assertIn("oniosz", STYLE.sub("", shown))
            program.type("käse\n")
            self.assertIn("käse", program.read_prompt("hits"))
            program.type("\n")
            _, code = program.read_all()
            self.assertEqual(code, 0)

    def test_ctrl_c_at_the_prompt_leaves_a_usable_terminal(self):
        with self.on_terminal("search", "--index", self.index, "--no-rescore") as program:
            program.read_prompt()
            program.type("half a quest")
            program.read_until("quest")
            program.type("\x03")
            _, code = program.read_all()
            self.assertEqual(code, 130)
            usual = termios.ECHO | termios.ICANON | termios.ISIG
            self.assertEqual(termios.tcgetattr(program.parent)[3] & usual, usual)


if __name__ == "__main__":
    main()
