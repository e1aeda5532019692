"""The scripts of `relucent completion` offer, in each shell that is installed, what the --help texts list."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from program_support import PROGRAM, ProgramTest, main, run

SHELLS = ("bash", "zsh", "fish")


class CompletionTest(ProgramTest):
    shell = ""

    def setUp(self):
        super().setUp()
        if shutil.which(self.shell) is None:
            self.skipTest(f"SKIPPED: {self.shell} is not installed")
        self.script = self.write("script", self.expect(run("completion", self.shell), 0).stdout)

    def options_in_help(self, *command):
        return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w.-]*(?=[,\s={])",
                              "\n".join(re.findall(r"^  (-\S+)", self.help_of(*command) + " ", flags=re.MULTILINE))
                              + "\n"))


class Bash(CompletionTest):
    shell = "bash"

    def complete(self, *words, folder=None):
        """The answers at the last word, which bash has split at "=" and ":" as it does for the function."""
        split = [part for word in words for part in (re.findall(r"[=:]|[^=:]+", word) or [""])]
        if words[-1].endswith("="):
            split.append("")
        code = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _relucent; '
                'printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "--norc", "-c", code, "bash", self.script, "relucent", *split],
                                encoding="utf-8", capture_output=True, check=True, cwd=folder or self.folder)
        self.assertEqual(result.stderr, "")
        return set(result.stdout.split("\n")) - {""}

    def test_commands_and_options_of_every_help(self):
        commands = [(), *self.commands()]
        self.assertGreater(len(commands), 30)
        for command in commands:
            below = {path[-1] for path in commands if path[:-1] == command and path}
            if below:
                self.assertEqual(self.complete(*command, ""), below, command)
            options = self.options_in_help(*command)
            self.assertTrue({"-h", "--help"} <= options, command)
            self.assertEqual(self.complete(*command, "-"), options, command)

    def test_values(self):
        self.assertEqual(self.complete("search", "--topic-text", ""), {"title", "description", "narrative"})
        self.assertEqual(self.complete("search", "--topicfield", "t"), {"title"})
        self.assertEqual(self.complete("search", "--device", ""), {"auto", "ref", "cpu", "cuda:0", "cuda"})
        self.assertEqual(self.complete("search", "--pattern", "f"), {"full"})
        self.assertEqual(self.complete("search", "--precision=bf"), {"bf16"})
        self.assertEqual(self.complete("search", "--precision="),
                         {"auto", "fp32", "tf32", "bf16", "fp16", "int16", "int8"})
        self.assertEqual(self.complete("search", "--hits", ""), set())
        self.assertEqual(self.complete("qrels", "convert", "--to", "j"), {"jsonl"})
        self.assertEqual(self.complete("completion", ""), set(SHELLS))
        # Bash replaces only what follows the colon.
        self.assertEqual(self.complete("search", "--device", "cuda:"), {"0"})
        self.assertEqual(self.complete("search", "--device=cuda:"), {"0"})

    def test_files_and_folders(self):
        self.write("a file.run", "")
        (self.folder / "an.index").mkdir()
        self.assertEqual(self.complete("search", "--index", "a"), {"an.index"})
        self.assertEqual(self.complete("search", "--topics", "a"), {"a file.run", "an.index"})
        self.assertEqual(self.complete("config", "check", "a"), {"a file.run", "an.index"})

    def test_a_second_value_where_several_are_allowed(self):
        self.write("b.run", "")
        self.assertEqual(self.complete("evaluate", "--run", "a.run", "b"), {"b.run"})
        self.assertEqual(self.complete("search", "--index", "an.index", "b"), set())

    def test_a_value_with_a_command_s_name_is_a_value(self):
        self.assertIn("--topics", self.complete("search", "--index", "run", "--top"))


class Fish(CompletionTest):
    shell = "fish"

    def complete(self, line):
        result = subprocess.run(["fish", "--no-config", "-c", 'source "$argv[1]"; complete -C "$argv[2]"', self.script,
                                 line], encoding="utf-8", capture_output=True, check=True, cwd=self.folder,
                                env={**os.environ, "HOME": str(self.folder)})
        self.assertEqual(result.stderr, "")
        return {answer.split("\t")[0] for answer in result.stdout.splitlines()}

    def test_commands_options_and_values(self):
        commands = list(self.commands())
        self.assertEqual(self.complete("relucent "), {path[0] for path in commands if len(path) == 1})
        self.assertEqual(self.complete("relucent run "),
                         {path[1] for path in commands if path[0] == "run" and len(path) == 2})
        for command in (("search",), ("run", "fuse")):
            long = {name for name in self.options_in_help(*command) if name.startswith("--")}
            self.assertEqual(self.complete(f"relucent {' '.join(command)} --"), long)
        self.assertEqual(self.complete("relucent search --topic-text "), {"title", "description", "narrative"})
        (self.folder / "an.index").mkdir()
        self.write("a.run", "")
        self.assertEqual(self.complete("relucent search --index a"), {"an.index/"})
        self.assertEqual(self.complete("relucent config check a"), {"a.run", "an.index/"})


class Zsh(CompletionTest):
    shell = "zsh"

    def typed(self, line):
        """The line that zsh shows after Tab."""
        functions = self.folder / "functions"
        functions.mkdir(exist_ok=True)
        shutil.copy(self.script, functions / "_relucent")
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "LC_ALL": "C.UTF-8",
                                                    "HOME": str(self.folder)})

        def send(text, until):
            os.write(terminal, text.encode())
            seen, end = "", time.monotonic() + 60
            while not re.search(until, seen) and time.monotonic() < end:
                if select.select([terminal], [], [], 0.2)[0]:
                    seen += re.sub(r"\r|\x1b\[\?2004[hl]", "", os.read(terminal, 65536).decode(errors="replace"))
            return seen

        try:
            send(f"PS1='r''eady> '; fpath=({functions} $fpath); autoload -U compinit; compinit -u -D; "
                 "setopt menucomplete\n", r"ready> $")
            send(line + "\t", re.escape(line) + r"[^\n]*[a-z =]$")
            # The line as zsh now has it, printed instead of run.
            shown = send("\x01print -r -- '<\x05>'\n", r"\n<.*>\n")
            return re.search(r"\n<(.*)>\n", shown).group(1)
        finally:
            os.close(terminal)
            os.waitpid(process, 0)

    def test_commands_options_and_values(self):
        self.assertEqual(self.typed("relucent verif").rstrip(), "relucent verify")
        self.assertEqual(self.typed("relucent run fus").rstrip(), "relucent run fuse")
        self.assertEqual(self.typed("relucent search --topic-te").rstrip("= "), "relucent search --topic-text")
        self.assertEqual(self.typed("relucent search --topic-text narr").rstrip(),
                         "relucent search --topic-text narrative")


class Errors(ProgramTest):
    def test_an_unknown_shell(self):
        self.expect_error(2, "SHELL", "tcsh", arguments=["completion", "tcsh"])

    def test_the_installed_files_are_the_program_s_own(self):
        share = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(PROGRAM))), "share")
        for shell, name in (("bash", "bash-completion/completions/relucent"), ("zsh", "zsh/site-functions/_relucent"),
                            ("fish", "fish/vendor_completions.d/relucent.fish")):
            with open(os.path.join(share, name), encoding="utf-8") as file:
                self.assertEqual(file.read(), run("completion", shell).stdout)


del CompletionTest

if __name__ == "__main__":
    main()
