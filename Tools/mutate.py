#!/usr/bin/env python3
"""Mutation testing: changes the library in one place at a time, and checks whether the tests notice.

    Tools/mutate.py                     runs every mutant (takes long)
    Tools/mutate.py --sample 200        runs 200 mutants, which depend on --seed
    Tools/mutate.py --list              lists the mutants, without running anything
    Tools/mutate.py --only Registry     runs the mutants whose file, symbol or code contains that text
    Tools/mutate.py --check             checks whether each accepted mutant can still be made

A mutant is the library with one such change. If no test notices it, it survives. `Tools/accepted-mutants.txt` lists the
mutants that are equivalent to the library, and those that may survive for another reason. The exit code is 1 if any other
mutant survives, or if the score of a hundred mutants or more is below 95 %.

The suite runs as it does by default, with the effort `quick`, until the first test fails. If a mutant weakens a memory
order, the suite runs under the thread sanitizer. The work is done in copies of the package, in a temporary folder.
"""

import argparse
import concurrent.futures
import hashlib
import os
import queue
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = Path("Sources/ObserverSet")
ACCEPTED = ROOT / "Tools" / "accepted-mutants.txt"

# The kinds of change within a line: a pattern, and its replacement. Each match is a mutant of its own.
EXPRESSIONS = [
    ("comparison", r" == ", " != "),
    ("comparison", r" != ", " == "),
    ("comparison", r" === ", " !== "),
    ("comparison", r" !== ", " === "),
    ("boundary", r" < (?![A-Z])", " <= "),
    ("boundary", r" <= ", " < "),
    ("boundary", r" > (?=[a-z0-9(])", " >= "),
    ("boundary", r" >= ", " > "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("negation", r"(?<![\w!)\]?])!(?=[a-z(])", ""),
    ("condition", r"(?<![#\w])if (?=.* \{)", "if false, "),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
    ("arithmetic", r" \+= 1\b", " += 2"),
    ("arithmetic", r" -= 1\b", " -= 2"),
    ("arithmetic", r" \+ 1\b", " + 0"),
    ("arithmetic", r" - 1\b", " - 0"),
    ("arithmetic", r" \* 2\b", " * 1"),
    ("constant", r" = 0$", " = 1"),
    ("reference", r"\bprivate weak let\b", "private let"),
    ("reference", r"\[weak (\w+)\]", r"[\1]"),
    ("order", r"ordering: \.acquiring\b", "ordering: .relaxed"),
    ("order", r"ordering: \.releasing\b", "ordering: .relaxed"),
]

# Lines that are whole statements, and can be left out.
STATEMENT = re.compile(
    r"^(?:_ = )?(?:unsafe )?(?:await )?(?:self\.)?[a-z]\w*(?:\[[^\]]*\]|\.\w+|\?|!)*"
    r"(?:\([^{}]*\)| (?:[-+]?=) [^{}]*)$")
GUARD = re.compile(r"^(\s*)guard (?!.*\blet\b)(?!.*#)(.*) else \{ (return.*|continue|break) \}$")

# Lines that are not mutated, because the mutant wouldn't compile, or wouldn't behave in another way.
SKIPPED_LINES = re.compile(
    r"^\s*(//|#|import\b|@|public struct|public final class|extension\b|let |var |private let|private var|case |default:)")
SKIPPED_WORDS = (
    "fatalError(", "precondition", "assertNoLockIsHeld", "isChecked", "edge.", "#available", "StaticString", "super.init")


DECLARATION = re.compile(
    r"^(?P<indent> *)(?:@\w+(?:\([^)]*\))? )*(?:(?:public|package|private|fileprivate|internal|final|static|override|mutating|borrowing|"
    r"consuming|nonisolated|unowned|weak|private\(set\))(?:\([a-z]+\))? )*"
    r"(?P<kind>func|init|deinit|subscript|var|let|class|struct|enum|actor|extension|protocol)\b[?!]?(?:<[^>]*>)? ?(?P<name>[\w.]*)")


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    # The declaration that contains it, as `Type.member`.
    symbol: str
    kind: str
    before: str
    after: str
    # The text, its replacement, and a number if the symbol has several such changes, for example `== → != #2`.
    change: str

    @property
    def name(self):
        return f"{self.file}:{self.line}"

    @property
    def key(self):
        """Identifies the mutant, even if its line moves, or if other lines change."""
        return f"{self.symbol} | {self.change}"


def symbols(lines):
    """For each line, the declaration that contains it or begins in it."""
    found, open_ = [], []
    for line in lines:
        match = DECLARATION.match(line)
        if match and (match["name"] or match["kind"] in ("init", "deinit", "subscript")):
            indent = len(match["indent"])
            # A declaration inside a function counts as part of that function.
            open_ = [entry for entry in open_ if entry[0] < indent]
            if not (open_ and open_[-1][2]):
                is_code = match["kind"] in ("func", "init", "deinit", "subscript", "var")
                open_.append((indent, match["name"] or match["kind"], is_code))
        found.append(".".join(entry[1] for entry in open_))
    return found


def mutants():
    found = []
    for path in sorted((ROOT / SOURCES).rglob("*.swift")):
        file = str(path.relative_to(ROOT / SOURCES))
        lines = path.read_text().split("\n")
        names = symbols(lines)
        counts = {}
        is_check = False
        for number, line in enumerate(lines, 1):
            # These parts are left out: code that only builds for sanitizers have, code that checks the library itself, and
            # code for systems with another C library.
            if line.strip().startswith(("#if OBSERVERSET_", "#if DEBUG", "#if canImport(Darwin)", "#else")):
                is_check = True
            elif line.strip().startswith(("#elseif canImport(Glibc)", "#endif")):
                is_check = False
            if is_check or any(word in line for word in SKIPPED_WORDS):
                continue
            code = line.split(" // ")[0].rstrip()
            if not code.strip() or code.strip().startswith(("//", "#", "import ")):
                continue

            def add(kind, after, what, instead):
                symbol, change = names[number - 1], f"{what} → {instead}"
                counts[symbol, change] = counts.get((symbol, change), 0) + 1
                if counts[symbol, change] > 1:
                    change += f" #{counts[symbol, change]}"
                found.append(Mutant(file, number, symbol, kind, line, after, change))

            guard = GUARD.match(code)
            if guard:
                add("guard", "", code.strip(), "(nothing)")
            if '"' not in code:
                declares = re.match(r"^\s*(?:@\w+(?:\(.*?\))? )*(?:public |package |private |fileprivate |final |static |override |mutating |borrowing |consuming )*(?:func|init|subscript|class|struct|enum|extension|protocol|typealias)\b", code)
                if not declares:
                    for kind, pattern, replacement in EXPRESSIONS:
                        for match in re.finditer(pattern, code):
                            after = code[: match.start()] + match.expand(replacement) + code[match.end():]
                            add(kind, after, match.group(0).strip(), match.expand(replacement).strip() or "(nothing)")
                    text = code.strip()
                    sets_up = re.match(r"(unsafe )?(self\.\w+ = |self\.init\(|self = )", text)
                    if STATEMENT.match(text) and not sets_up and not SKIPPED_LINES.match(code):
                        previous = next((l.strip() for l in reversed(lines[: number - 1]) if l.strip() and not l.strip().startswith("//")), "")
                        following = lines[number].strip() if number < len(lines) else ""
                        is_whole = previous.endswith(("{", "}", "in", ")")) or re.match(STATEMENT, previous)
                        is_value = previous.endswith(("-> Bool {", "get {"))
                        if is_whole and not is_value and not following.startswith((".", "?", ":", "&&", "||", "{")):
                            if not (previous.endswith(("(", ",", "=")) or text.startswith(("return", "throw"))):
                                add("statement", "", code.strip(), "(nothing)")
    return found


# For each folder, the tests that are most likely to notice a mutant there. They run first. If a mutant survives them, all
# tests run.
FIRST = {
    "Core": "Promise|Mutation|Model|Lifetime|Token|Parameters|BadInput|Once|Duplicate|Thread|Recursion|Isolation|Queue|"
    "Settled|AddedOnAnActor|Description|Demand|Map|Awaiting|Starting",
    "Lifetimes": "Bag", "Groups": "Group|Merge", "Sequences": "Sequence", "Local": "Local", "Events": "Event",
    "Delegates": "Delegate|Multicast", "Foundation": "Bridged|NotificationCenter",
}


class Workshop:
    """A copy of the package, which is built once, and in which one mutant is tried after the other."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in ("Sources", "Tests", "Snippets", "Tools", ".ci", "Package.swift"):
            source = ROOT / name
            if source.is_dir():
                shutil.rmtree(self.folder / name, ignore_errors=True)
                shutil.copytree(
                    source, self.folder / name, symlinks=True, ignore=shutil.ignore_patterns(".build*"))
            else:
                shutil.copy(source, self.folder / name)

    def start(self, command, memory=resource.RLIM_INFINITY):
        return subprocess.Popen(
            command, cwd=self.folder, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            env={**os.environ, "NO_COLOR": "1", "SWIFT_BACKTRACE": "enable=no"})

    def stop_all(self):
        """Kills all processes that run a program of the copy.

        Exit tests run in process groups of their own, so they could otherwise run on beside the next mutant's tests.
        """
        for link in Path("/proc").glob("[0-9]*/exe"):
            try:
                if self.folder.resolve() in Path(os.readlink(link)).parents:
                    os.kill(int(link.parent.name), signal.SIGKILL)
            except OSError:  # The process has ended, or belongs to another user.
                pass

    def succeeds(self, command):
        """Runs a command, and returns whether its exit code is 0, and what it prints."""
        process = self.start(command)
        output, _ = process.communicate()
        return process.returncode == 0, output

    def build(self, kind="any"):
        """Compiles the library, and links it with its tests. The tests are compiled only the first time."""
        folder = self.folder_for(kind)
        # The change of a reference may change a type's layout, which is compiled into the tests, too.
        if kind == "reference":
            shutil.rmtree(folder, ignore_errors=True)
        sanitizer = ["-O", "-sanitize=thread"] if kind == "order" else []
        return self.succeeds([".ci/link", str(folder), *sanitizer])

    def folder_for(self, kind):
        return self.folder / "made" / (kind if kind in ("order", "reference") else "any")

    def test(self, kind="any", pattern=None, limit=3600):
        """Runs the tests, and returns what has noticed the mutant, and what was printed until then.

        The former is the name of a test, a crash, or a time limit. It is None if all tests pass.
        """
        command = [str(self.folder_for(kind) / "tests"), "--testing-library", "swift-testing"]
        if pattern:
            command += ["--filter", pattern]
        # An endless loop often allocates without end, too, and should not take the whole machine's memory. The suite needs
        # half of this limit. Under a sanitizer there is no limit, because a sanitizer reserves more addresses than this.
        process = self.start(command, memory=resource.RLIM_INFINITY if kind == "order" else 4 << 30)
        is_late = threading.Event()

        def stop():
            os.killpg(process.pid, signal.SIGKILL)
            self.stop_all()

        def watch():
            timer = threading.Timer(limit, lambda: (is_late.set(), stop()))
            timer.start()
            return timer

        lines, failed, timer = [], None, watch()
        for line in process.stdout:
            # The time limit begins anew with each line that is printed, so it holds for a test, not for all of them.
            timer.cancel()
            timer = watch()
            lines.append(line)
            failed = re.search(r'✘ Test "?(.+?)"? (?:recorded|failed)', line)
            if failed:
                # The remaining tests are stopped, because they may hang.
                stop()
                break
        timer.cancel()
        process.stdout.close()
        status = process.wait()
        output = "".join(lines)
        if is_late.is_set():
            return "a time limit", output
        if failed:
            return failed.group(1), output
        if status != 0:
            return "the thread sanitizer" if "WARNING: ThreadSanitizer" in output else "a crash", output
        return None, output

    def verdict(self, mutant, limit):
        """Tries a mutant, and returns `killed`, `survived`, or `invalid` if it does not compile, and what has noticed it."""
        path = self.folder / SOURCES / mutant.file
        original = path.read_text()
        lines = original.split("\n")
        lines[mutant.line - 1] = mutant.after
        try:
            # A machine that reorders little doesn't show weaker memory orders. Only the thread sanitizer does.
            if mutant.kind == "order" and not self.folder_for("order").exists():
                self.build("order")
            path.write_text("\n".join(lines))
            if not self.build(mutant.kind)[0]:
                return "invalid", "the compiler"
            for pattern in (FIRST[mutant.file.split("/")[0]], None):
                # The sanitizer makes tests slow, so the limit is longer there.
                by, _ = self.test(mutant.kind, pattern, limit * (10 if mutant.kind == "order" else 1))
                if by:
                    return "killed", by
            return "survived", ""
        finally:
            path.write_text(original)


def accepted():
    """The mutants that may survive, and the reasons: each line is a key and a reason, separated by ` — `.

    If a reason begins with "equivalent", no test can notice the mutant, so it doesn't count in the score.
    """
    reasons = {}
    if ACCEPTED.exists():
        for line in ACCEPTED.read_text().splitlines():
            if line and not line.startswith("#"):
                key, _, reason = line.rpartition(" — ")
                reasons[key] = reason
    return reasons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="how many; all by default")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("--only", help="a text that the mutant's file or code contains")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time; each builds a copy of the package")
    parser.add_argument("--no-orders", action="store_true", help="none that weakens an order, which needs the thread sanitizer")
    parser.add_argument("--folder", help="where to work, kept for the next time; a temporary folder by default")
    parser.add_argument("--log", help="a file to which each verdict is added; those already in it are not run again")
    options = parser.parse_args()
    # If this program is terminated, it ends by an exception, so that the changed file is restored.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))

    if options.check:
        left = accepted().keys() - {mutant.key for mutant in mutants()}
        for key in sorted(left):
            print(f"mutate: nothing in the sources is `{key}`")
        print(f"{len(accepted())} accepted mutants, of which {len(left)} cannot be made any more")
        return 1 if left else 0
    chosen = [m for m in mutants() if not options.only or options.only in f"{m.file} {m.key}"]
    if options.no_orders:
        chosen = [m for m in chosen if m.kind != "order"]
    if options.sample is not None:
        # The choice depends on the mutants' keys, so that a change of the sources elsewhere doesn't change it.
        chosen.sort(key=lambda mutant: hashlib.sha256(f"{options.seed} {mutant.key}".encode()).digest())
        chosen = chosen[: options.sample]
    # Mutants for which the tests must be compiled anew come last. The others are linked with the compiled tests.
    chosen.sort(key=lambda mutant: mutant.kind == "reference")
    if options.list:
        for mutant in chosen:
            print(f"{mutant.kind:10} {mutant.name}\n  - {mutant.before.strip()}\n  + {mutant.after.strip()}")
        print(f"{len(chosen)} mutants")
        return 0

    reasons = accepted()
    print(f"{len(chosen)} mutants, --seed {options.seed}", flush=True)
    folder = options.folder or tempfile.mkdtemp(prefix="mutants-")
    workshops = queue.Queue()
    for number in range(options.jobs):
        workshop = Workshop(Path(folder) / str(number))
        done, output = workshop.build()
        if not done:
            print(output[-4000:])
            sys.exit("the package does not build as it is")
        workshops.put(workshop)
    # The control: if the suite failed without a mutant, every mutant would count as noticed.
    began = time.time()
    by, output = workshop.test()
    if by:
        print("\n".join(line for line in output.splitlines() if not line.startswith(("✔", "◇")))[-4000:])
        sys.exit("the suite does not pass as it is")
    # If a single test takes half as long as the whole suite, it is taken to hang.
    limit = max(30, options.jobs * (time.time() - began) / 2)

    log = Path(options.log) if options.log else None
    known = {}
    if log and log.exists():
        for line in log.read_text().splitlines():
            verdict, _, key = line.partition("\t")
            known[key] = verdict

    def judged(mutant):
        if mutant.key in known:
            return mutant, known[mutant.key], "an earlier run", 0
        workshop = workshops.get()
        began = time.time()
        try:
            verdict, by = workshop.verdict(mutant, limit)
        finally:
            workshops.put(workshop)
        return mutant, verdict, by, time.time() - began

    counts = {"killed": 0, "survived": 0, "accepted": 0, "equivalent": 0, "invalid": 0}
    survivors = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(judged, mutant) for mutant in chosen]
        for index, future in enumerate(concurrent.futures.as_completed(futures), 1):
            mutant, verdict, by, seconds = future.result()
            if log and mutant.key not in known:
                with log.open("a") as file:
                    file.write(f"{verdict}\t{mutant.key}\n")
            if verdict == "survived" and mutant.key in reasons:
                by = reasons[mutant.key]
                verdict = "equivalent" if by.startswith("equivalent") else "accepted"
            counts[verdict] += 1
            print(f"[{index}/{len(chosen)}] {verdict:10} {mutant.kind:10} {mutant.name} ({seconds:.0f} s) {by}", flush=True)
            if verdict == "survived":
                survivors.append(mutant)
                print(f"    - {mutant.before.strip()}\n    + {mutant.after.strip() or '(nothing)'}", flush=True)
    if not options.folder:
        shutil.rmtree(folder, ignore_errors=True)

    valid = counts["killed"] + counts["survived"] + counts["accepted"]
    score = 100 * counts["killed"] / valid if valid else 100
    print(f"{valid} mutants ({counts['invalid']} more do not compile, {counts['equivalent']} more are equivalent): {counts['killed']} killed, "
          f"{counts['accepted']} accepted, {counts['survived']} survived; score {score:.1f} %")
    return 1 if survivors or (valid >= 100 and score < 95) else 0


if __name__ == "__main__":
    sys.exit(main())
