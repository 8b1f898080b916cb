"""What a worker of `lab faults` wrote is read as it happened."""

from pathlib import Path

from lab.faults.truth import TruthFile, read_truth


def test_a_reward_that_was_taken_once_and_refused_once_was_handed(tmp_path: Path) -> None:
    file = TruthFile(tmp_path / "truth")
    for token in ("a", "a", "b"):
        file.hand(token)
    file.refuse("a")
    file.refuse("b")
    assert read_truth(tmp_path / "truth").handed == {"a"}
