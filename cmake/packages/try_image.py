"""Runs a container image as an engine does, without one: try_image.py IMAGE.tar FOLDER COLLECTION.tsv.

The image is unpacked below FOLDER. Its own relucent indexes the collection and searches. Then its entry point starts as
its user, without capabilities, with a read-only root, where only the image's volume can be written: the server becomes
healthy and ready, answers a query and drains. Root starts this in namespaces of their own (package.sh image --check):
unshare --mount --net --ipc --uts --pid --fork --mount-proc."""

import fcntl
import hashlib
import http.client
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tarfile
import time
from pathlib import Path

UNPRIVILEGED = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--clear-groups"]


def unpack(image, root):
    """The configuration of the image, whose digests are checked, and its files in the folder."""
    def blob(tar, description):
        data = tar.extractfile("blobs/" + description["digest"].replace(":", "/")).read()
        assert "sha256:" + hashlib.sha256(data).hexdigest() == description["digest"], description
        return data

    with tarfile.open(image) as tar:
        index = json.load(tar.extractfile("index.json"))
        manifest = json.loads(blob(tar, index["manifests"][0]))
        for layer in manifest["layers"]:
            with tarfile.open(fileobj=io.BytesIO(blob(tar, layer)), mode="r:gz") as files:
                files.extractall(root, numeric_owner=True)
        return json.loads(blob(tar, manifest["config"]))["config"]


def mount(*words):
    subprocess.run(["mount", *map(str, words)], check=True)


def account(root, name):
    """The numbers of a user of the image and of the user's group."""
    for line in (root / "etc/passwd").read_text(encoding="utf-8").splitlines():
        fields = line.split(":")
        if fields[0] == name:
            return int(fields[2]), int(fields[3])
    sys.exit(f"FAILED: the image has no user {name!r}")


def bring_up_loopback():
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up, running


def command(config, root, user, group, words):
    variables = [f"{key}={value}" for key, value in (line.split("=", 1) for line in config["Env"])]
    return ["env", "-i", *variables, "chroot", str(root), "setpriv", f"--reuid={user}", f"--regid={group}",
            *UNPRIVILEGED, *words]


def request(port, method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def wait_for(port, path, server):
    for _ in range(240):
        if server.poll() is not None:
            sys.exit(f"FAILED: the server ends with {server.returncode}")
        try:
            status, _ = request(port, "GET", path)
            if status == 200:
                return
        except OSError:
            pass
        time.sleep(0.5)
    sys.exit(f"FAILED: {path} is not answered with 200")


def check_rights(pid, user):
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    assert set(status["Uid"].split()) == {str(user)}, status["Uid"]
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status
    assert status["NoNewPrivs"] == "1", status


def main():
    image, folder, collection = map(Path, sys.argv[1:])
    root, cache = folder / "root", folder / "cache"
    for path in (root, cache):
        path.mkdir(parents=True)
    config = unpack(image, root)
    user, group = account(root, config["User"])
    assert user != 0, config["User"]
    (port,) = (int(name.removesuffix("/tcp")) for name in config["ExposedPorts"])
    (volume,) = config["Volumes"]
    os.chown(cache, user, group)
    (root / "index").mkdir()
    (root / "collection.tsv").write_bytes(collection.read_bytes())

    mount("--bind", root, root)
    mount("-o", "remount,bind,ro", root)
    mount("-t", "proc", "proc", root / "proc")
    mount("--rbind", "/dev", root / "dev")
    mount("--bind", cache, str(root) + volume)
    subprocess.run(command(config, root, user, group, ["relucent", "index", "--corpus", "tsv", "--input",
                                                       "/collection.tsv", "--index", f"{volume}/index"]),
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mount("--bind", cache / "index", root / "index")
    mount("-o", "remount,bind,ro", root / "index")
    refused = subprocess.run(command(config, root, user, group, ["touch", "/etc/new", "/index/new"]),
                             capture_output=True, text=True)
    assert refused.stderr.count("Read-only file system") == 2, refused
    found = subprocess.run(command(config, root, user, group, ["relucent", "search", "--index", "/index", "--hits", "1",
                                                               "how to treat a burn"]),
                           check=True, stdout=subprocess.PIPE, text=True).stdout
    print(found, end="")
    assert any(line.endswith(" 1101") for line in found.splitlines()), found

    bring_up_loopback()
    server = subprocess.Popen(command(config, root, user, group, [*config["Entrypoint"], *config["Cmd"]]))
    wait_for(port, "/health", server)
    wait_for(port, "/ready", server)
    check_rights(server.pid, user)
    status, body = request(port, "POST", "/search", json.dumps({"query": "how to treat a burn", "k": 1}))
    assert status == 200 and b'"1101"' in body, (status, body)
    server.send_signal(signal.SIGTERM)
    assert server.wait(60) == 0, server.returncode
    print(f"the image runs as user {user} without capabilities, with a read-only root: healthy, ready, document 1101 "
          f"found in {len(body)} bytes, exit code 0")


if __name__ == "__main__":
    main()
