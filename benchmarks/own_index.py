"""What does an index function of one's own cost, in the first process that uses it and in the second?

Each line is a fresh process, and CPU seconds: until a built-in policy has run (the compiled engine is loaded), and then
until the index function has. The function is KL-UCB's index written out, with a constant that no process before had.

    python benchmarks/own_index.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

INDEX = """
import math

NEVER_BEFORE = {constant!r}


def index(mean, count, budget):
    low, high = mean, 1.0
    for _ in range(30):
        middle = (low + high) / 2.0
        p, q = min(max(mean, 1e-12), 1.0 - 1e-12), min(max(middle, NEVER_BEFORE), 1.0 - 1e-12)
        if count * (p * math.log(p / q) + (1.0 - p) * math.log((1.0 - p) / (1.0 - q))) <= budget:
            low = middle
        else:
            high = middle
    return low
"""

PROCESS = """
import time
from mine import index
from cobandit.scenario import AgentSpec, Arms, BuiltIn, IndexFunction, Rate, Scenario
from cobandit.simulator import kernel

for policy in (BuiltIn("ucb"), IndexFunction(index)):
    before = time.process_time()
    kernel.run(Scenario(100, Arms.of([0.2, 0.8]), (AgentSpec(Rate(0.5)),) * 3, policy), seed=1)
    print(f"{time.process_time() - before:.2f}", end=" ")
"""


def main() -> None:
    """Print CPU seconds of three processes, after one that compiles the engine if nobody has yet."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("to compile the engine", "first", "second", "third"):
            if name in ("to compile the engine", "first"):
                source = INDEX.format(constant=1e-12 + 1e-20 * (time.time() % 1000))
                Path(folder, "mine.py").write_text(source, encoding="utf-8")
            command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {folder!r}){PROCESS}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            built_in, own = done.stdout.split()
            print(f"{name:24} built-in {built_in:>6}   own index {own:>6}")


if __name__ == "__main__":
    main()
