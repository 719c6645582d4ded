#!/usr/bin/env python3
"""Puts one small fault after the other into the library and asks whether the tests notice.

    python3 tests/faults/run.py                     all faults that have no result yet, then the table
    python3 tests/faults/run.py --only ops/         those whose file or text contains this
    python3 tests/faults/run.py --only ops/ --again once more, with the tests as they are now
    python3 tests/faults/run.py --table             only the table

The lists beside this file have one entry per fault: the file, a text that occurs in it exactly once, what stands there
instead, and optionally the tests (a regular expression over the names that ctest knows) where they are not those of the
file's folder. No source is ever changed: a copy with the fault is compiled into a shared library that the tests and the
program load before the library itself, so its functions take the place of the right ones. That costs one compilation per
fault and no linking. A fault is caught if a test fails, crashes or does not end in time.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SECONDS_PER_TEST = 300
PROGRAMS = {"lact_program": "lact", "lact_tests": "lact_tests"}


def read_faults():
    """All faults of the lists. Ends the program if one of them no longer fits its file."""
    faults, mistakes = [], []
    for path in sorted(HERE.glob("*.json")):
        for fault in json.loads(path.read_text()):
            found = (ROOT / fault["file"]).read_text().count(fault["text"])
            if found != 1:
                mistakes.append(f'{path.name}: {fault["file"]}: found {found} times, expected once: {fault["text"]}')
            words = [fault["file"], fault["text"], fault["replacement"]]
            fault["id"] = hashlib.sha1("\n".join(words).encode()).hexdigest()[:12]
            faults.append(fault)
    if mistakes:
        sys.exit("\n".join(mistakes))
    return faults


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


class Build:
    """A build of its own, with the library as a shared one and an empty library loaded before it."""

    def __init__(self, folder):
        self.folder = folder
        self.stand_in = folder / "libfault.so"
        folder.mkdir(parents=True, exist_ok=True)
        self.take_out()
        before_the_library = f"-Wl,--no-as-needed {self.stand_in} -Wl,--as-needed"
        self.check(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DBUILD_SHARED_LIBS=ON",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DLACT_BUILD_TESTS=ON",
                    f"-DCMAKE_EXE_LINKER_FLAGS={before_the_library}"])
        self.check(["ninja", "-C", folder, "-j", str(arguments.jobs), "lact_tests", "lact_program"])
        self.units = self.compile_commands()
        self.tests = self.test_commands()
        self.sound = {}
        # Threads that spin while they wait slow the compiler beside them, and programs that tests start, many times.
        self.environment = {"OMP_WAIT_POLICY": "passive", **os.environ}

    def check(self, command):
        result = run(command)
        if result.returncode != 0:
            sys.exit(f"{shlex.join(map(str, command))}\n{result.stdout}")
        return result.stdout

    def clear(self):
        """No fault: a library without a function."""
        self.check(["c++", "-shared", "-fPIC", "-x", "c++", "/dev/null", "-o", self.stand_in])

    def compile_commands(self):
        """The commands that compile each source, by itself or together with others."""
        commands = collections.defaultdict(list)
        for unit in json.loads((self.folder / "compile_commands.json").read_text()):
            source = Path(unit["file"])
            parts = [source]
            if "/Unity/" in unit["file"]:
                parts = map(Path, re.findall(r'#include "(.*)"', source.read_text()))
            for part in parts:
                commands[os.path.relpath(part, ROOT)].append((unit["command"], unit["file"]))
        return commands

    def test_commands(self):
        tests = json.loads(self.check(["ctest", "--test-dir", self.folder, "--show-only=json-v1"]))["tests"]
        return {test["name"]: test["command"] for test in tests if "/bin/lact_tests" in test.get("command", [""])[0]}

    def compile(self, fault):
        """The objects of the changed source, one per instruction set for kernels; None if it does not compile."""
        text = (ROOT / fault["file"]).read_text().replace(fault["text"], fault["replacement"])
        copy = self.folder / "faulty" / fault["id"] / Path(fault["file"]).name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text)
        objects = []
        for number, (command, source) in enumerate(self.units[fault["file"]]):
            object = copy.parent / f"{number}.o"
            words = shlex.split(command)
            for flag, value in (("-o", object), ("-MF", f"{object}.d"), ("-MT", object)):
                if flag in words:
                    words[words.index(flag) + 1] = str(value)
            words[words.index(source)] = str(copy)
            result = run(words, cwd=self.folder)
            if result.returncode != 0:
                return None, result.stdout
            objects.append(str(object))
        return objects, ""

    def put_in(self, file, objects):
        folder = file.split("/")[1]
        if folder not in ("cli", "bench", "golden"):
            self.check(["c++", "-shared", "-fPIC", "-o", self.stand_in] + objects)
            return
        # A program's own functions go before those of any library: link it again, the first definition counts.
        for target, name in PROGRAMS.items():
            last = self.check(["ninja", "-C", self.folder, "-t", "commands", target]).strip().split("\n")[-1]
            command = last.replace(f" -o bin/{name} ", f' {" ".join(objects)} -Wl,-z,muldefs -o bin/{name} ')
            assert command != last
            (self.folder / "bin" / name).rename(self.folder / "bin" / f"{name}.sound")
            self.check(["sh", "-c", f"cd {self.folder} && {command}"])

    def take_out(self):
        self.clear()
        for name in PROGRAMS.values():
            sound = self.folder / "bin" / f"{name}.sound"
            if sound.exists():
                sound.rename(self.folder / "bin" / name)

    def passes(self, test):
        words = self.tests[test] + ["--gtest_fail_fast"]
        if arguments.without:
            words = [f"{word}-{arguments.without}" if word.startswith("--gtest_filter=") else word for word in words]
        try:
            return run(words, cwd=self.folder, timeout=SECONDS_PER_TEST, env=self.environment).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def passes_without_fault(self, test):
        if test not in self.sound:
            self.sound[test] = self.passes(test)
            if not self.sound[test]:
                print(f"{test} fails without a fault, it does not count", flush=True)
        return self.sound[test]


def tests_of(fault, build):
    """Those of the file itself first, then those of the pattern or of the file's folder."""
    place = fault["file"].removeprefix("lact/").removesuffix(".cpp").replace("kernels/isa/", "kernels/")
    folder = os.path.dirname(place)
    pattern = fault.get("tests") or f"^{folder}/" + ("|^ops/" if folder == "kernels" else "")
    chosen = [name for name in build.tests if re.search(pattern, name)]
    return sorted(chosen, key=lambda name: (name != place, not name.startswith(folder + "/"), name))


def try_fault(fault, build, compiled):
    file = fault["file"]
    objects, message = compiled
    if objects is None:
        return {"outcome": "did not build", "by": message[-2000:]}
    tests = tests_of(fault, build)
    while True:
        build.put_in(file, objects)
        failed = next((test for test in tests if not build.passes(test)), None)
        build.take_out()
        if failed is None:
            return {"outcome": "survived", "by": f"{len(tests)} files of tests"}
        if build.passes_without_fault(failed):
            return {"outcome": "caught", "by": failed}
        tests.remove(failed)


def print_table(faults, results):
    rows = collections.defaultdict(collections.Counter)
    for fault in faults:
        outcome = results.get(fault["id"], {}).get("outcome", "not tried")
        for folder in (fault["file"].split("/")[1], "all"):
            rows[folder]["planted"] += 1
            rows[folder][outcome] += 1
    columns = ["planted", "caught", "survived", "did not build", "not tried"]
    print("| folder | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    for folder in sorted(rows, key=lambda name: (name == "all", name)):
        print(f"| {folder} | " + " | ".join(str(rows[folder][column]) for column in columns) + " |")
    for fault in faults:
        outcome = results.get(fault["id"], {}).get("outcome")
        if outcome in ("survived", "did not build"):
            print(f'{outcome}: {fault["file"]}: {fault["text"]!r} -> {fault["replacement"]!r}')


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--build", type=Path, default=ROOT / "build/faults", help="build folder (made if missing)")
parser.add_argument("--only", default="", help="faults whose file or text contains this")
parser.add_argument("--again", action="store_true", help="try faults again that have a result")
parser.add_argument("--survivors", action="store_true", help="try those again that survived")
parser.add_argument("--without", default="", help="leave these tests out (a filter of GoogleTest)")
parser.add_argument("--table", action="store_true", help="print the results, try nothing")
parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the first build")
arguments = parser.parse_args()

faults = read_faults()
record = arguments.build / "results.json"
results = json.loads(record.read_text()) if record.exists() else {}


def wanted(fault):
    outcome = results.get(fault["id"], {}).get("outcome")
    again = arguments.again or (arguments.survivors and outcome != "caught")
    return (again or outcome is None) and (arguments.only in fault["file"] or arguments.only in fault["text"])


# In an order of no meaning: a run that is stopped has tried some of every folder.
left = [] if arguments.table else sorted(filter(wanted, faults), key=lambda fault: fault["id"])
if left:
    build = Build(arguments.build.resolve())
    compiler = concurrent.futures.ThreadPoolExecutor(1)  # compiles while the tests run
    compiled = [compiler.submit(build.compile, fault) for fault in left]
    for number, fault in enumerate(left):
        began = time.time()
        result = results[fault["id"]] = try_fault(fault, build, compiled[number].result())
        partial = record.with_suffix(".tmp")
        partial.write_text(json.dumps(results, indent=1))
        partial.rename(record)
        print(f'{number + 1}/{len(left)} {result["outcome"]} ({time.time() - began:.0f} s) '
              f'{fault["file"]}: {fault["text"]!r}: {result["by"]}', flush=True)
print_table(faults, results)
