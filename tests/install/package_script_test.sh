#!/usr/bin/env bash
# What ./package.sh promises before it builds anything: its help and its errors; that the files which must repeat the
# version or the list of libraries agree with the one place of each; and the same image for the same folder.
# usage: package_script_test.sh SOURCE_DIR
set -euo pipefail
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $1" >&2; exit 1; }

# usage_error TEXT ARGUMENTS...: exit code 2 and a message with the text.
usage_error() {
  local text=$1 code=0
  shift
  ./package.sh "$@" 2>"$work/message" || code=$?
  [ "$code" = 2 ] || fail "./package.sh $* ends with $code"
  grep -qF -- "$text" "$work/message" || fail "./package.sh $*: $(cat "$work/message")"
}
for part in docs tarball deb wheel wheel-aarch64 image; do
  ./package.sh --help | grep -q "^ *$part  " || fail "--help lacks $part"
  [ -f "cmake/packages/$part.sh" ] || fail "cmake/packages/$part.sh is missing"
done
usage_error 'unknown part "rpm"; there are: docs tarball deb wheel wheel-aarch64 image' rpm
usage_error 'no part is given'
usage_error 'no part is given' --check
usage_error 'no part is given' --suite trixie
usage_error '--suite needs the name of a release, such as trixie' deb --suite
usage_error '--suite needs the name of a release, such as trixie' deb --suite ../elsewhere

version=$(sed -n 's/^project(Relucent VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$(sed -n 's/^version: //p' CITATION.cff)" = "$version" ] || fail "CITATION.cff is not about version $version"
[[ $(head -1 debian/changelog) == "relucent ($version-"* ]] || fail "debian/changelog does not begin with $version"
grep -qF "localhost/relucent:$version}" docs/examples/serving/compose/compose.yaml ||
  fail "compose.yaml is not about version $version"
minor=${version%.*}
grep -q "\"version\": \"$version\"" cmake/packages/vcpkg/vcpkg.json || fail "vcpkg.json is not about version $version"
grep -qx "Package: librelucent$minor" debian/control || fail "debian/control has no librelucent$minor"

# debian/control needs the libraries of packages.txt.
sed -n '/^# libraries/,/^# tests/{/^#/d; p}' packages.txt | sort >"$work/listed"
sed -n '/^Build-Depends:/,/^Standards/p' debian/control | grep -oE '[a-z0-9+-]+-dev' | sort >"$work/needed"
diff "$work/listed" "$work/needed" || fail "Build-Depends of debian/control differs from the libraries of packages.txt"

# Each test that debian/tests/control names is a program there.
for test in $(sed -n 's/^Tests: //p; s/^Test-Command: debian.tests.\([^ ]*\).*/\1/p' debian/tests/control); do
  [ -x "debian/tests/$test" ] || fail "debian/tests has no program $test"
done

# Each page of the documentation has its place in the site's navigation.
for page in docs/*.md docs/commands/*.md; do
  grep -q "[ -] $page$" cmake/packages/mkdocs.yml || fail "cmake/packages/mkdocs.yml lacks $page"
done

mkdir -p "$work/root/bin"
echo content >"$work/root/bin/program"
ln -s bin "$work/root/sbin"
for name in one two; do
  SOURCE_DATE_EPOCH=1700000000 python3 cmake/packages/oci_image.py "$work/root" "$work/$name.tar" --name "test:1" \
    --user nobody --entrypoint "program --flag" --cmd="--index /index"
  touch "$work/root/bin/program"
done
cmp "$work/one.tar" "$work/two.tar" || fail "the same folder gives another image"
mkdir "$work/image"
tar -C "$work/image" -xf "$work/one.tar"
python3 - "$work/image" <<'END'
import gzip, hashlib, io, json, pathlib, sys, tarfile
folder = pathlib.Path(sys.argv[1])


def blob(description):
    data = (folder / "blobs" / description["digest"].replace(":", "/")).read_bytes()
    assert "sha256:" + hashlib.sha256(data).hexdigest() == description["digest"] and len(data) == description["size"]
    return data


manifest = json.loads(blob(json.loads((folder / "index.json").read_bytes())["manifests"][0]))
config, layer = json.loads(blob(manifest["config"])), gzip.decompress(blob(manifest["layers"][0]))
assert config["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(layer).hexdigest()], config
assert config["config"]["Entrypoint"] == ["program", "--flag"] and config["config"]["Cmd"] == ["--index", "/index"]
with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
    assert tar.extractfile("bin/program").read() == b"content\n"
    assert tar.getmember("sbin").linkname == "bin"
END

# The list of components has the installed packages only, with sources of another name, and escapes versions.
cat >"$work/status" <<'END'
Package: libb
Status: install ok installed
Architecture: amd64
Source: b-source (2.0)
Version: 1:2.0+b1
Description: two lines
 Version: of the description

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: a
Status: install ok installed
Architecture: all
Version: 3~rc1
END
list() {
  SOURCE_DATE_EPOCH=$1 python3 cmake/packages/components.py "$work/list.json" --name test --version 0 \
    --purpose CONTAINER --status "$2"
}
list 1700000000 "$work/status"
python3 - "$work/list.json" <<'END'
import json, sys
found = json.load(open(sys.argv[1]))
whole, *parts = found["packages"]
assert [(p["name"], p["versionInfo"], p["externalRefs"][0]["referenceLocator"], p["sourceInfo"]) for p in parts] == [
    ("a", "3~rc1", "pkg:deb/debian/a@3~rc1?arch=all", "built from the source package a 3~rc1"),
    ("libb", "1:2.0+b1", "pkg:deb/debian/libb@1%3A2.0%2Bb1?arch=amd64", "built from the source package b-source 2.0"),
], parts
assert found["creationInfo"]["created"] == "2023-11-14T22:13:20Z", found["creationInfo"]
contained = {r["relatedSpdxElement"] for r in found["relationships"] if r["relationshipType"] == "CONTAINS"}
assert contained == {p["SPDXID"] for p in parts}, contained
END
if list 1700000000 /dev/null 2>/dev/null; then fail "an artifact of no packages gets a list"; fi
echo ok
