#!/usr/bin/env bash
# keep_resources.sh NVCC ARGUMENT...: runs the compiler and keeps what ptxas reports about each kernel in
# OBJECT.resources, so that a build prints warnings and errors only.
set -uo pipefail
object=
previous=
for argument in "$@"; do
  [ "$previous" = -o ] && object=$argument
  previous=$argument
done
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$@" 2>"$said"
status=$?
is_report='^ptxas info|^[[:space:]]+[0-9]+ bytes stack frame'
if [ $status -eq 0 ] && [ -n "$object" ]; then
  grep -E "$is_report" "$said" >"$object.resources"
fi
grep -vE "$is_report" "$said" >&2
exit $status
