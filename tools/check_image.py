"""Build the image with buildah, which needs neither a daemon nor root's rights, and try what it promises.

    python tools/check_image.py                                  # from the base that the file names, if it can be had
    python tools/check_image.py --debian                         # from a base that is made here of Debian's packages
    python tools/check_image.py --debian -- --volume /wheels:/wheels:ro     # what follows is for `buildah build`

It needs buildah, and for `--debian` mmdebstrap and a network. Tried in the image: the user is not root, the command
starts, the simulator is not in it, and a relay with a file of its own is well by `cobandit health`. It prints the size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
SUITE = "bookworm"
IMAGE = "cobandit-check"
RELAY = """
group = "g"
name = "relay-0"
url = "udp://127.0.0.1:7000"
arms = ["A", "B"]
state = "/var/lib/cobandit/relay.db"
secret = "a secret of the whole group"
metrics = "0.0.0.0:9100"
"""
TRIAL = """
set -e
test "$(id -u)" != 0
cobandit --version
! python3 -c 'import numba' 2>/dev/null
cobandit relay /etc/cobandit/member.toml > /tmp/said &
relay=$!
until grep -q 'is ready' /tmp/said; do kill -0 $relay; sleep 0.1; done
cobandit health /etc/cobandit/member.toml
kill $relay
wait $relay
grep 'has stopped, with everything written down' /tmp/said
"""


def main() -> int:
    """Build, try, and say the size."""
    parser = argparse.ArgumentParser(description="Build the image with buildah and try it.")
    parser.add_argument("--debian", action="store_true", help="make the base here, of Debian's packages")
    parser.add_argument("more", nargs="*", help="arguments for `buildah build`, after --")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cobandit-image-") as folder:
        base = ["--build-arg", f"BASE={made_of_debian(Path(folder))}"] if options.debian else []
        file = ["--file", str(ROOT / "deploy/container/Containerfile"), "--ignorefile", str(ROOT / ".containerignore")]
        # docker's format has HEALTHCHECK; that of the OCI has no place for it.
        buildah(
            "build",
            "--isolation",
            "chroot",
            "--format",
            "docker",
            "--tag",
            IMAGE,
            *file,
            *base,
            *options.more,
            str(ROOT),
        )
        (Path(folder) / "member.toml").write_text(RELAY, encoding="utf-8")
        container = buildah("from", IMAGE).strip()
        try:
            mounted = ["--volume", f"{folder}/member.toml:/etc/cobandit/member.toml:ro"]
            print(buildah("run", "--isolation", "chroot", *mounted, container, "--", "sh", "-c", TRIAL).strip())
        finally:
            buildah("rm", container)
        (found,) = json.loads(buildah("images", "--json", IMAGE))
        print(f"the image is good: {found['size']}")
    return 0


def made_of_debian(folder: Path) -> str:
    """Make an image of Debian's packages and return its name."""
    archive = folder / "base.tar"
    run("mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(archive))
    container = buildah("from", "scratch").strip()
    buildah("add", container, str(archive), "/")
    buildah("commit", "--rm", container, f"{IMAGE}-base")
    return f"{IMAGE}-base"


def buildah(*words: str) -> str:
    """Run buildah and return what it printed."""
    return run("buildah", "--storage-driver", "vfs", *words)


def run(*command: str) -> str:
    """Run a command and return what it printed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not installed: install it (Debian calls its package {command[0]}, too)")
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
