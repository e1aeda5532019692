"""The manual page contains the --help of every command, and groff accepts it without a warning."""

import re
import shutil
import subprocess

from program_support import ProgramTest, main, run


def words(text):
    """The words without the layout: "\\-", a line's "\\&" and fonts are groff's."""
    text = re.sub(r"^\.(SS|TP|PP|nf|fi|RS 2|RE|SH)\b", " ", text, flags=re.MULTILINE)
    for theirs, plain in (("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\-", "-"), ("\\&", ""), ("\\(dq", '"'),
                          ("\\e", "\\")):
        text = text.replace(theirs, plain)
    return " ".join(text.split())


class ManPage(ProgramTest):
    def test_every_line_of_every_help_is_there(self):
        page = self.expect(run("--man"), 0).stdout
        sections = {}
        for text in page.split("\n.SS ")[1:]:
            title = words(text.split("\n")[0]).strip('"')
            sections[tuple(re.split(r" (?=[A-Z\[])", title)[0].split()[1:])] = words(text)
        commands = list(self.commands())
        self.assertGreater(len(commands), 15)
        self.assertEqual(set(commands), set(sections))
        for command in commands:
            help_text = self.help_of(*command)
            body = help_text.split("\n\n", 1)
            # The description, then options and footer line by line; headings and the list of sub-commands have
            # another layout.
            lines = [body[0].split("\nUsage:")[0]]
            heading = ""
            for line in body[1].split("\n"):
                if re.fullmatch(r"[A-Z][a-z]+s:", line):
                    heading = line
                elif not line.strip():
                    heading = ""
                elif heading != "Subcommands:":
                    lines.append(line)
            for line in lines:
                self.assertIn(" ".join(line.split()), sections[command], command)

    def test_groff_has_no_warning(self):
        if shutil.which("groff") is None:
            self.skipTest("there is no groff")
        result = subprocess.run(["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-z"], input=run("--man").stdout,
                                encoding="utf-8", capture_output=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    main()
