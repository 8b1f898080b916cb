"""Write the golden frames, records and state file of the present versions: `python tools/write_golden_frames.py`.

Those of a version that was released are never written again: it is the code that has to read them.
"""

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from tests.golden_codec import values  # noqa: E402

from cobandit.codec import STATE_VERSION, WIRE_VERSION, encode_record, encode_snapshot  # noqa: E402
from cobandit.live.machine.batch import encode_batch, encode_state  # noqa: E402
from cobandit.live.machine.control_messages import pack  # noqa: E402
from cobandit.live.store.sqlite_journal import read_stored  # noqa: E402

FOLDER = ROOT / "tests" / "golden_codec"


def main() -> None:
    """Write all of them."""
    said = {**values.MESSAGES, **values.CONTROL_MESSAGES}
    _write(f"wire-{WIRE_VERSION}.json", {name: (pack(value, values.GROUP), value) for name, value in said.items()})
    state = FOLDER / f"state-{STATE_VERSION}.db"
    with tempfile.TemporaryDirectory() as folder:
        values.write_state_file(Path(folder) / "member.db")
        state.write_bytes((Path(folder) / "member.db").read_bytes())
        stored = read_stored(Path(folder) / "member.db")
    kept: dict[str, tuple[bytes, object]] = {
        name: (encode_record(record), record) for name, record in values.RECORDS.items()
    }
    kept["snapshot"] = encode_snapshot(values.snapshot()), values.snapshot()
    kept["batch"] = encode_batch(values.BATCHES[0]), values.BATCHES[0]
    kept["state"] = encode_state(values.state()), values.state()
    kept["state file"] = b"", stored
    _write(f"state-{STATE_VERSION}.json", kept)


def _write(name: str, entries: dict[str, tuple[bytes, object]]) -> None:
    golden = {name: {"bytes": stored.hex(), "value": repr(value)} for name, (stored, value) in entries.items()}
    (FOLDER / name).write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {FOLDER / name}: {len(golden)}")


if __name__ == "__main__":
    main()
