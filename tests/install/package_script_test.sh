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
for part in docs tarball deb wheel image; do
  ./package.sh --help | grep -q "^ *$part  " || fail "--help lacks $part"
  [ -f "cmake/packages/$part.sh" ] || fail "cmake/packages/$part.sh is missing"
done
usage_error 'unknown part "rpm"; there are: docs tarball deb wheel image' rpm
usage_error 'no part is given'
usage_error 'no part is given' --check

version=$(sed -n 's/^project(Relucent VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ "$(sed -n 's/^version: //p' CITATION.cff)" = "$version" ] || fail "CITATION.cff is not about version $version"
[[ $(head -1 debian/changelog) == "relucent ($version-"* ]] || fail "debian/changelog does not begin with $version"
minor=${version%.*}
grep -qx "Package: librelucent$minor" debian/control || fail "debian/control has no librelucent$minor"

# debian/control needs the libraries of packages.txt.
sed -n '/^# libraries/,/^# tests/{/^#/d; p}' packages.txt | sort >"$work/listed"
sed -n '/^Build-Depends:/,/^Standards/p' debian/control | grep -oE '[a-z0-9+-]+-dev' | sort >"$work/needed"
diff "$work/listed" "$work/needed" || fail "Build-Depends of debian/control differs from the libraries of packages.txt"

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
echo ok
