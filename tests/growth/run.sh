#!/usr/bin/env bash
# Every case of cost_growth at sixteen times its usual size: tests/growth/run.sh BUILD
# Rooms that have passed with this program are not run again.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
done=$build/growth
mkdir -p "$done"
program=$build/tests/cost_growth
sum=$(sha256sum "$program" | cut -c1-16)
for room in formats tokenizer evaluation corpora index server; do
  passed=$done/$room.$sum
  if [ -e "$passed" ]; then
    echo "== growth: $room has passed before"
    continue
  fi
  echo "== growth: $room"
  RELUCENT_GROWTH=16 "$program" --gtest_brief=1 --gtest_filter="${room}_growth/*"
  touch "$passed"
done
