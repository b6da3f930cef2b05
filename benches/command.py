#!/usr/bin/env python3
"""Measures the command as people wait for it: cold starts, a recording of a gigabyte, and memory.

    benches/command.py [--bowline PATH] [--gib N] [--rounds N] [--only starts|recording|memory]

Each figure stands beside that of another program in the same run: the agent alone, jq, and a reader in Python.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"

# The sessions that a gigabyte is made of, one after another, each time with ids of its own.
TEMPLATES = ["partial.jsonl", "parallel_partial.jsonl", "sub_par_fg_partial.jsonl", "multi_turn_replay.jsonl"]

# What a reader of the stream does at least.
READER = """
import json, sys
kinds = {}
for line in open(sys.argv[1], "rb"):
    kind = json.loads(line).get("type")
    kinds[kind] = kinds.get(kind, 0) + 1
"""

# An agent that says one line at once and goes on until its input ends.
AGENT = """#!/bin/sh
printf '%s\\n' '{"type":"system","subtype":"init","session_id":"s","model":"m","cwd":"/","tools":[],"uuid":"u"}'
exec cat >/dev/null
"""


# The beginning of an id.
ID = rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-|(?:toolu|msg)_[A-Za-z0-9]{4}"


def timed(command, **more):
    """Runs a command; returns its wall time in seconds, processor time, and largest memory in MiB."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **more)
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"{command[:3]} ended with {child.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def first_byte(command, environment):
    """Returns the time until a command has written a byte, and ends it."""
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment)
    byte = child.stdout.read(1)
    took = time.perf_counter() - began
    child.kill()
    child.communicate()
    if not byte:
        raise SystemExit(f"{command[:3]} wrote nothing")
    return took


def milliseconds(times):
    return statistics.median(times) * 1000


class Runner:
    """A daemon with a state folder of its own."""

    def __init__(self, bowline, folder):
        self.bowline = bowline
        self.environment = {**os.environ, "BOWLINE_STATE_DIR": str(folder / "state"), "XDG_CONFIG_HOME": "/nonexistent"}
        self.process = subprocess.Popen([bowline, "serve"], env=self.environment, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.ids = []

    def start(self, agent, *more):
        command = [self.bowline, "run", "-d", "--agent", agent, *more, "hello"]
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        self.ids.append(done.stdout.strip())

    def processes(self):
        """The pids of the daemon and of its sessions' shims."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        others = [
            pid
            for task in Path(f"/proc/{self.process.pid}/task").iterdir()
            for pid in (task / "children").read_text().split()
        ]
        return self.process.pid, sorted({int(pid) for pid in children + others})

    def end(self):
        for start in range(0, len(self.ids), 50):
            for id in self.ids[start : start + 50]:
                subprocess.run([self.bowline, "kill", id], env=self.environment, stdout=subprocess.DEVNULL)
        self.process.terminate()
        self.process.wait()


def starts(bowline, folder, rounds):
    agent = folder / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    environment = {**os.environ, "XDG_CONFIG_HOME": "/nonexistent"}
    version = [timed([bowline, "--version"])[0] for _ in range(rounds)]
    nothing = [timed(["/bin/true"])[0] for _ in range(rounds)]
    report("bowline --version", milliseconds(version), "/bin/true", milliseconds(nothing), "ms")
    alone, through = [], []
    command = [bowline, "run", "--agent", str(agent), "--output", "changes", "hello"]
    for _ in range(rounds):
        alone.append(first_byte([str(agent)], environment))
        through.append(first_byte(command, environment))
    report("bowline run, to the agent's first byte", milliseconds(through), "the agent alone", milliseconds(alone), "ms")
    runner = Runner(bowline, folder)
    try:
        for _ in range(10):
            runner.start(str(agent))
        listed = [timed([bowline, "ps"], env=runner.environment)[0] for _ in range(rounds)]
        report("bowline ps of 10 sessions", milliseconds(listed), "/bin/true", milliseconds(nothing), "ms")
    finally:
        runner.end()


def generate(path, size):
    """Writes turns with ids of their own until there are `size` bytes."""
    text = b""
    for name in TEMPLATES:
        lines = (FIXTURES / name).read_bytes().split(b"\n")
        text += b"".join(line + b"\n" for line in lines if line.startswith(b"{") and line.endswith(b"}"))
    # What is between the ids, and the ids, in turn.
    pieces = re.split(b"(" + ID + b")", text)
    written, turn = 0, 0
    with open(path, "wb") as out:
        while written < size:
            turn += 1
            number = b"%04x" % turn
            turned = [piece if n % 2 == 0 else changed(piece, number) for n, piece in enumerate(pieces)]
            written += out.write(b"".join(turned))
    return written


def changed(id, number):
    """Returns the beginning of an id with a number in its place: 8-4-4-4- or toolu_XXXX."""
    if id.startswith((b"toolu_", b"msg_")):
        return id[:-4] + number
    return id[:9] + number + id[13:]


def recording(bowline, folder, gib):
    path = folder / "recording.jsonl"
    size = generate(path, int(gib * (1 << 30)))
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass
    commands = {
        "bowline inspect": [bowline, "inspect", str(path)],
        "bowline replay --output transcript": [bowline, "replay", str(path), "--output", "transcript"],
        "Python: json.loads of each line": [sys.executable, "-c", READER, str(path)],
    }
    if shutil.which("jq"):
        commands["jq -c .type"] = ["jq", "-c", ".type", str(path)]
    figures = {name: timed(command) for name, command in commands.items()}
    base = figures["Python: json.loads of each line"][1]
    print(f"recording of {size / (1 << 30):.2f} GiB, from the page cache")
    for name, (wall, cpu, memory) in figures.items():
        speed = size / 1e6
        print(f"  {name:38} {speed / wall:8.0f} MB/s wall {speed / cpu:8.0f} MB/s CPU {base / cpu:7.1f} x Python {memory:9.0f} MiB at most")


def memory(bowline, folder):
    agent = folder / "quiet.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    runner = Runner(bowline, folder)
    try:
        empty = resident(runner.process.pid)
        runner.start(str(agent))
        time.sleep(2)
        daemon, shims = runner.processes()
        shim = max((resident(pid) for pid in shims), default=0)
        print(f"memory (Pss): the daemon without a session {empty:.1f} MiB, with one {resident(daemon):.1f}, its shim {shim:.1f}")
        print(f"  private and not backed by a file: the daemon {private(daemon):.2f} MiB, the shim {max(map(private, shims)):.2f}")
    finally:
        runner.end()


def resident(pid):
    return of_smaps(pid, ["Pss"])


def private(pid):
    return of_smaps(pid, ["Pss_Anon"])


def of_smaps(pid, names):
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return sum(int(fields[name].split()[0]) for name in names) / 1024


def report(what, ours, other, theirs, unit):
    print(f"{what:42} {ours:8.2f} {unit}; {other} {theirs:.2f} {unit}: {ours - theirs:.2f} {unit} on top, {ours / theirs:.1f} x")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bowline", default=str(ROOT / "target/release/bowline"), help="the command")
    parser.add_argument("--gib", type=float, default=1.0, help="size of the recording")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--only", choices=["starts", "recording", "memory"])
    options = parser.parse_args()
    if not os.access(options.bowline, os.X_OK):
        parser.error(f"no {options.bowline}; build it with cargo build --profile dist -p bowline-cli, and pass --bowline")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = Path(folder)
        if options.only in (None, "starts"):
            starts(options.bowline, folder, options.rounds)
        if options.only in (None, "recording"):
            recording(options.bowline, folder, options.gib)
        if options.only in (None, "memory"):
            memory(options.bowline, folder)


if __name__ == "__main__":
    main()
