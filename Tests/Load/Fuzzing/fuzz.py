#!/usr/bin/env python3
"""Builds the fuzzer, proves that each target finds its planted bug, then runs all of them.

    fuzz.py check                 build, and the planted bugs alone
    fuzz.py run SECONDS [TARGET…] the same, then SECONDS in all, evenly over the targets
    fuzz.py seeds TARGET…         add what the runs collected, made small, to the seeds

Findings go to Tests/Load/Fuzzing/Failures/TARGET/, where `make test` replays them. Exits 1 on any. FUZZ_JOBS (1) is how many
run at once.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
SCRATCH = ROOT / ".build-fuzz"
# What was collected in earlier runs: the next one goes on from there.
CORPUS = SCRATCH / "corpus"

# With so much time of a processor a planted bug must be found; a busy machine may take longer to give it.
PLANTED_SECONDS = 10
PLANTED_PATIENCE = 12
# Longer than this for one input is a finding: the longest takes some milliseconds.
INPUT_SECONDS = 10
MEMORY_MIB = 2048

# The flags that instrument every Swift module, those of dependencies too. `--sanitize=fuzzer --sanitize=address` builds
# as well, without coverage. Optimised, since the fuzzer lives on speed, with the assertions of a debug build.
BUILD = [
    "swift", "build", "--scratch-path", str(SCRATCH), "--product", "Fuzz", "--disable-index-store",
    "--sanitize=fuzzer", "-Xswiftc", "-sanitize=address,fuzzer",
    "-Xswiftc", "-O", "-Xswiftc", "-assert-config", "-Xswiftc", "Debug",
]  # fmt: skip


def build():
    environment = dict(os.environ, FUZZING_BUILD="1")
    subprocess.run(BUILD, cwd=ROOT, env=environment, check=True)
    shown = subprocess.run(BUILD + ["--show-bin-path"], cwd=ROOT, env=environment, check=True, capture_output=True)
    return pathlib.Path(shown.stdout.decode().strip()) / "Fuzz"


def targets():
    return sorted(folder.name for folder in (FOLDER / "Seeds").iterdir() if folder.is_dir())


def start(program, target, seconds, corpora, artifacts, planted=False):
    """One run of one target: its exit code and what it printed."""
    environment = dict(os.environ, FUZZ_TARGET=target, SWIFT_BACKTRACE="enable=no")
    environment.pop("FUZZ_PLANT", None)
    if planted:
        environment["FUZZ_PLANT"] = "1"
    environment["ASAN_OPTIONS"] = "detect_leaks=1:allocator_may_return_null=1:detect_stack_use_after_return=0"
    # A planted bug is looked for at the usual priority, and without the dictionary.
    command = ([] if planted else ["nice", "-n", "19"]) + [
        str(program), f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS}",
        f"-rss_limit_mb={MEMORY_MIB}", f"-artifact_prefix={artifacts}/", "-print_final_stats=1", "-detect_leaks=0",
        # Names of new functions would start a symbolizer for each, which takes longer than the inputs do.
        "-print_funcs=0",
    ]  # fmt: skip
    dictionary = FOLDER / "Dictionaries" / f"{target}.dict"
    if planted:
        # Short inputs, but no seed is cut off: what is behind the cut makes it one that is accepted.
        longest = max(seed.stat().st_size for seed in (FOLDER / "Seeds" / target).iterdir())
        command.append(f"-max_len={longest}")
    elif dictionary.exists():
        command.append(f"-dict={dictionary}")
    # Should the fuzzer itself hang, this ends it.
    limit = seconds + 4 * INPUT_SECONDS + 30
    try:
        done = subprocess.run(
            command + [str(corpus) for corpus in corpora], cwd=SCRATCH, env=environment, timeout=limit,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        return 124, (expired.stdout or b"").decode(errors="replace") + f"\nstill running after {limit} s"
    return done.returncode, done.stdout.decode(errors="replace")


def check_planted(program, target):
    """Whether the bug planted in `target` was found, and how many seconds of a processor it took."""
    with tempfile.TemporaryDirectory() as place:
        corpus = pathlib.Path(place, "corpus")
        corpus.mkdir()
        limit = PLANTED_SECONDS * PLANTED_PATIENCE
        code, log = start(program, target, limit, [corpus, FOLDER / "Seeds" / target], place, planted=True)
        spent = re.findall(r"the planted bug, after (\d+) ms", log)
        seconds = int(spent[-1]) / 1000 if spent else limit
        return code != 0 and bool(spent) and seconds <= PLANTED_SECONDS, seconds, log


def run(program, target, seconds):
    corpus = CORPUS / target
    corpus.mkdir(parents=True, exist_ok=True)
    failures = FOLDER / "Failures" / target
    failures.mkdir(parents=True, exist_ok=True)
    before = set(failures.iterdir())
    code, log = start(program, target, seconds, [corpus, failures, FOLDER / "Seeds" / target], failures)
    new = sorted(set(failures.iterdir()) - before)
    if not any(failures.iterdir()):
        failures.rmdir()
    (SCRATCH / f"{target}.log").write_text(log)
    executions = re.findall(r"stat::number_of_executed_units:\s*(\d+)", log) or re.findall(r"#(\d+)\t", log) or ["0"]
    coverage = re.findall(r"\bcov: (\d+)", log) or ["0"]
    features = re.findall(r"\bft: (\d+)", log) or ["0"]
    return {
        "target": target, "code": code, "executions": int(executions[-1]), "coverage": int(coverage[-1]),
        "features": int(features[-1]), "corpus": len(list(corpus.iterdir())), "findings": new, "log": log,
    }  # fmt: skip


def in_turn(work, names):
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("FUZZ_JOBS", "1"))) as pool:
        yield from zip(names, pool.map(work, names))


def prove(program, names):
    print(f"== a planted bug in each target, to be found within {PLANTED_SECONDS} s of a processor ==", flush=True)
    blind = []
    for name, (found, seconds, log) in in_turn(lambda name: check_planted(program, name), names):
        # What holds no longer ends the search as well: then it is that which is to be mended.
        other = [line for line in log.splitlines() if "Fatal error: " in line and "the planted bug" not in line]
        missed = f"NOT FOUND, but this: {other[0]}" if other else f"NOT FOUND ({seconds:.1f} s)"
        print(f"  {name:<16}{f'found after {seconds:.1f} s' if found else missed}", flush=True)
        if not found:
            blind.append(name)
            print(log[-2000:])
    return blind


def table(results):
    head = ("target", "executions", "coverage", "features", "corpus", "findings")
    print("| " + " | ".join(head) + " |")
    print("|---" + "|---:" * (len(head) - 1) + "|")
    for result in results:
        findings = len(result["findings"]) + (result["code"] != 0 and not result["findings"])
        print("| " + " | ".join([result["target"], *(f"{result[key]:,}" for key in head[1:5]), str(findings)]) + " |")
    print(f"{sum(result['executions'] for result in results):,} executions")


def collect(program, names):
    """Adds to the seeds what reaches something they do not, each input made as short as the fuzzer can."""
    for name in names:
        subprocess.run(
            [str(program), "-merge=1", "-max_len=512", str(FOLDER / "Seeds" / name), str(CORPUS / name)],
            env=dict(os.environ, FUZZ_TARGET=name, SWIFT_BACKTRACE="enable=no"), check=True,
        )  # fmt: skip


def main(arguments):
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command not in ("check", "run", "seeds"):
        sys.exit(__doc__)
    seconds = int(rest.pop(0)) if command == "run" else 0
    unknown = [name for name in rest if name not in targets()]
    if unknown:
        sys.exit(f"no such target: {', '.join(unknown)}; there are {', '.join(targets())}")
    names = rest or targets()
    program = build()
    if command == "seeds":
        return collect(program, names)
    blind = prove(program, names)
    if blind:
        sys.exit(f"these see nothing, so their silence says nothing: {', '.join(blind)}")
    if command == "check":
        return
    each = max(1, seconds * int(os.environ.get("FUZZ_JOBS", "1")) // len(names))
    print(f"== {len(names)} targets, {each} s each ==", flush=True)
    results = []
    for name, result in in_turn(lambda name: run(program, name, each), names):
        results.append(result)
        if result["code"] != 0:
            print(f"-- {name} --\n{result['log'][-4000:]}", flush=True)
    table(results)
    bad = [result for result in results if result["code"] != 0 or result["findings"]]
    for result in bad:
        for path in result["findings"]:
            print(f"found: {path.relative_to(ROOT)}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
