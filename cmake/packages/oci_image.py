"""Writes a folder with a system as a container image in OCI's layout, one layer, as a tar that `podman load` and
`docker load` read: oci_image.py ROOT IMAGE.tar --name NAME:TAG ... The same folder gives the same bytes."""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import shlex
import tarfile
from datetime import datetime, timezone
from pathlib import Path

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def write_layer(root, path, time):
    """The folder as a compressed tar, sorted, with no time later than `time`; returns the plain tar's digest."""
    plain = hashlib.sha256()

    class Hashing(io.RawIOBase):
        def __init__(self, target):
            super().__init__()
            self.target = target

        def writable(self):
            return True

        def write(self, data):
            plain.update(data)
            return self.target.write(data)

    def settled(entry):
        entry.mtime = min(entry.mtime, time)
        entry.uname = entry.gname = ""
        return entry

    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, time) as compressed:
        with tarfile.open(fileobj=Hashing(compressed), mode="w|", format=tarfile.PAX_FORMAT) as tar:
            for folder, folders, names in os.walk(root):
                folders.sort()
                links = [name for name in folders if (Path(folder) / name).is_symlink()]
                here = Path(folder)
                tar.add(here, here.relative_to(root).as_posix(), recursive=False, filter=settled)
                for name in sorted(names + links):
                    tar.add(here / name, (here / name).relative_to(root).as_posix(), recursive=False, filter=settled)
    return "sha256:" + plain.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("image", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--user", default="")
    parser.add_argument("--volume", action="append", default=[])
    parser.add_argument("--port", action="append", default=[])
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--entrypoint", default="", help="words as in a shell")
    parser.add_argument("--cmd", default="")
    options = parser.parse_args()
    time = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    created = datetime.fromtimestamp(time, timezone.utc).isoformat().replace("+00:00", "Z")
    layer = options.image.with_suffix(".layer")
    try:
        layer_id = write_layer(options.root, layer, time)
        blobs = []

        def describe(data, kind):
            digest = hashlib.sha256(data).hexdigest()
            blobs.append((f"blobs/sha256/{digest}", data))
            return {"mediaType": f"application/vnd.oci.image.{kind}+json", "digest": f"sha256:{digest}",
                    "size": len(data)}

        def dump(value):
            return json.dumps(value, sort_keys=True).encode()

        with open(layer, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        config = describe(dump({
            "created": created, "os": "linux",
            "architecture": ARCHITECTURES.get(platform.machine(), platform.machine()),
            "config": {"User": options.user, "Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", *options.env],
                       "Entrypoint": shlex.split(options.entrypoint), "Cmd": shlex.split(options.cmd),
                       "WorkingDir": "/",
                       "Volumes": {volume: {} for volume in options.volume},
                       "ExposedPorts": {f"{port}/tcp": {} for port in options.port}},
            "rootfs": {"type": "layers", "diff_ids": [layer_id]},
            "history": [{"created": created, "created_by": "package.sh image"}]}), "config.v1")
        manifest = describe(dump({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", "digest": f"sha256:{digest}",
                        "size": layer.stat().st_size}]}), "manifest.v1")
        manifest["annotations"] = {"org.opencontainers.image.ref.name": options.name,
                                   "io.containerd.image.name": f"localhost/{options.name}"}
        blobs.append(("index.json", dump({"schemaVersion": 2, "manifests": [manifest]})))
        blobs.append(("oci-layout", dump({"imageLayoutVersion": "1.0.0"})))
        new = options.image.with_suffix(".new")
        with tarfile.open(new, "w", format=tarfile.PAX_FORMAT) as tar:
            for name, data in blobs:
                blob = tarfile.TarInfo(name)
                blob.size, blob.mtime = len(data), time
                tar.addfile(blob, io.BytesIO(data))
            information = tarfile.TarInfo(f"blobs/sha256/{digest}")
            information.size, information.mtime = layer.stat().st_size, time
            with open(layer, "rb") as file:
                tar.addfile(information, file)
        new.replace(options.image)
    finally:
        layer.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
