#!/usr/bin/env bash
# Looks for the habits that CONTRIBUTING.md lists under "English", as far as a pattern finds them without false alarms.
# Prints each hit as file:line:text with what to write instead, and exits with 1 if there is one, or with 77 if the
# tracked files are unknown.
#   cmake/check-english.sh [PATH...]          these files and folders (git's pathspecs), or all that is tracked
#   cmake/check-english.sh --count [PATH...]  only how many hits each folder has; exits with 0
set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."
export LC_ALL=C.UTF-8

# In containers the checkout may belong to another user.
git() { command git -c safe.directory="$PWD" "$@"; }
if ! git rev-parse --git-dir >/dev/null 2>&1; then
  echo "SKIPPED: not a git checkout, so the files to check are unknown"
  exit 77
fi

# One habit per line: what to write instead, then the pattern (of Perl).
inside='(?<=[\w,;:)] |.["`])'  # "There" may end the line before
compared='(longer|more|less|fewer|faster|slower|better|worse|larger|smaller|shorter|later|earlier|higher|lower|greater)'
say='(does not|do not|must|may|can|should|will|they|that|which|[a-z]+s) say'
verb='(is|was|must|can|cannot|may|has|stays|ends|gets|becomes|remains|counts)'
habits=(
  "is not a; there is no; means no|$inside(?<![Tt]here )(is|are|was|were) no (?!$compared\b)[a-z]"
  "resumes, continues|\b([Gg]o|[Gg]oes|[Ww]ent|[Gg]oing) on\b(?! (a|an|the|this|that|to|one|its)\b)"
  "repairs, fixes|\b[Mm]end(s|ed|ing)?\b"
  "again; rebuilds|\banew\b"
  "recently|\bof late\b(?! interaction)"
  "immediately|\b(ends?|exits?|stops?|returns?|throws?|answers?|refuse[sd]?|finished)( \w+)? at once\b"
  "the subject first|\bOf (?!course\b)[a-z\`\[]"
  "states, contains, lists, reports, shows|\bsays\b|\b$say\b"
  "stated, reported, specified|\b(is|are|was|were|be|unless) said\b|\bsaying\b"
  "next to, along with, in addition to|\b[Bb]eside\b"
  "also, in its place|, too([.,;:)]|\$)"
  "a noun|(^|[-/*#\"|(] ?|[.;:,] )[Ww]hat (is|was|were|can be|cannot be) ([\w-]+ ){1,6}?$verb\b"
)
# The list itself, texts that tests read, and data.
left_out=(':!cmake/check-english.sh' ':!tests/*/golden_*' ':!tests/goldens/*.json*' ':!tests/goldens/*.txt'
  ':!tests/fuzz/corpus'
  ':!*.tsv' ':!*.svg' ':!*.inc' ':!LICENSE')

find_hits() {
  local habit
  for habit in "${habits[@]}"; do
    { git grep -nIP "${habit#*|}" -- "$@" "${left_out[@]}" || [ $? -eq 1 ]; } |
      { grep -v '^CONTRIBUTING\.md:[0-9]*:| "' || true; } | sed "s|\$|   [${habit%%|*}]|"
  done
}

count=
if [ "${1:-}" = --count ]; then count=1; shift; fi
if [ $# -eq 0 ]; then set -- .; fi
if [ -z "$(git ls-files -- "$@")" ]; then
  echo "no tracked file matches: $*" >&2
  exit 2
fi
hits=$(find_hits "$@" | sort -t: -k1,1 -k2,2n)
if [ -n "$count" ]; then
  sed -n 's|^\([^:]*\)/[^/:]*:[0-9].*|\1|p; t; s|^[^:/]*:[0-9].*|.|p' <<<"$hits" | sort | uniq -c
elif [ -n "$hits" ]; then
  printf '%s\n' "$hits"
  echo "FAILED: rewrite the lines above ([...]: what to write instead); CONTRIBUTING.md explains each habit" >&2
  exit 1
fi
