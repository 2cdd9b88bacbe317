#!/usr/bin/env python3
"""Changes the library in one place at a time, and sees whether the tests notice.

    Tools/mutate.py                     every mutant (long)
    Tools/mutate.py --sample 200        so many, chosen by --seed
    Tools/mutate.py --list              what there is, without running anything
    Tools/mutate.py --only Registry     those whose file, symbol or code contains that text
    Tools/mutate.py --check             whether each accepted mutant can still be made

A mutant that no test notices survives. Which are equivalent, and why others may survive, is written in
`Tools/accepted-mutants.txt`; any other that survives, or a score below 95 % (of a hundred mutants or more),
ends the run with exit code 1. The suite runs as it does by default, in its quick form, until the first test fails. What
weakens a memory order is tried under the thread sanitizer. The work is done in copies of the package, in a temporary folder.
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

# What stands in a line, and what takes its place. Each match is a mutant of its own.
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

# Lines that are whole statements whose effect can be left out.
STATEMENT = re.compile(
    r"^(?:_ = )?(?:unsafe )?(?:await )?(?:self\.)?[a-z]\w*(?:\[[^\]]*\]|\.\w+|\?|!)*"
    r"(?:\([^{}]*\)| (?:[-+]?=) [^{}]*)$")
GUARD = re.compile(r"^(\s*)guard (?!.*\blet\b)(?!.*#)(.*) else \{ (return.*|continue|break) \}$")

# Mutants that no compiler would take, or that change what is not behaviour.
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
    # The declaration it is in, as `Type.member`.
    symbol: str
    kind: str
    before: str
    after: str
    # What is changed into what, and which of the changes of that kind in the symbol it is, from the second on.
    change: str

    @property
    def name(self):
        return f"{self.file}:{self.line}"

    @property
    def key(self):
        """What identifies it, wherever it is moved to and whatever stands beside it."""
        return f"{self.symbol} | {self.change}"


def symbols(lines):
    """For each line the declaration that it is in or begins."""
    found, open_ = [], []
    for line in lines:
        match = DECLARATION.match(line)
        if match and (match["name"] or match["kind"] in ("init", "deinit", "subscript")):
            indent = len(match["indent"])
            # What is declared inside a function is part of it.
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
            # What only the builds for sanitizers have, what checks the library itself, and what is for systems without the C
            # library of this one.
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


# What looks at a folder most closely is asked first; what survives that, everything.
FIRST = {
    "Core": "Promise|Mutation|Model|Lifetime|Token|Parameters|BadInput|Once|Duplicate|Thread|Recursion|Isolation|Queue|"
    "Settled|AddedOnAnActor|Description|Demand|Map|Awaiting|Starting",
    "Lifetimes": "Bag", "Groups": "Group|Merge", "Sequences": "Sequence", "Local": "Local", "Events": "Event",
    "Delegates": "Delegate|Multicast", "Foundation": "Bridged|NotificationCenter",
}


class Workshop:
    """A copy of the package, built once, in which one mutant at a time is put."""

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
        """Kills what runs in the copy: tests run in process groups of their own, and would go on beside the next ones."""
        for link in Path("/proc").glob("[0-9]*/exe"):
            try:
                if self.folder.resolve() in Path(os.readlink(link)).parents:
                    os.kill(int(link.parent.name), signal.SIGKILL)
            except OSError:  # it has ended, or is somebody else's
                pass

    def succeeds(self, command):
        """Whether it ends with 0, and what it prints."""
        process = self.start(command)
        output, _ = process.communicate()
        return process.returncode == 0, output

    def build(self, kind="any"):
        """Compiles the library, and links it with its tests, which are compiled only the first time."""
        folder = self.folder_for(kind)
        # A type that may be laid out otherwise is compiled into the tests, too.
        if kind == "reference":
            shutil.rmtree(folder, ignore_errors=True)
        sanitizer = ["-O", "-sanitize=thread"] if kind == "order" else []
        return self.succeeds([".ci/link", str(folder), *sanitizer])

    def folder_for(self, kind):
        return self.folder / "made" / (kind if kind in ("order", "reference") else "any")

    def test(self, kind="any", pattern=None, limit=3600):
        """What notices: a test, a crash, or a time limit; nothing if all tests pass. And what is printed until then."""
        command = [str(self.folder_for(kind) / "tests"), "--testing-library", "swift-testing"]
        if pattern:
            command += ["--filter", pattern]
        # What repeats without end often allocates without end, too: it should not take the whole machine's memory. The
        # suite needs half of this. A sanitizer reserves more than there is.
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
            # Each test may take so long as the limit says.
            timer.cancel()
            timer = watch()
            lines.append(line)
            failed = re.search(r'✘ Test "?(.+?)"? (?:recorded|failed)', line)
            if failed:
                # The others may hang.
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
        """`killed`, `survived`, or `invalid` if it does not compile; and by what."""
        path = self.folder / SOURCES / mutant.file
        original = path.read_text()
        lines = original.split("\n")
        lines[mutant.line - 1] = mutant.after
        try:
            # Weaker memory orders show only there, on a machine that keeps the order.
            if mutant.kind == "order" and not self.folder_for("order").exists():
                self.build("order")
            path.write_text("\n".join(lines))
            if not self.build(mutant.kind)[0]:
                return "invalid", "the compiler"
            for pattern in (FIRST[mutant.file.split("/")[0]], None):
                # What is only slow under the sanitizer has not been noticed.
                by, _ = self.test(mutant.kind, pattern, limit * (10 if mutant.kind == "order" else 1))
                if by:
                    return "killed", by
            return "survived", ""
        finally:
            path.write_text(original)


def accepted():
    """The mutants that may survive, and why: a key and a reason, separated by ` — `, on each line.

    A reason that begins with "equivalent" says that no test can notice: such a mutant does not count.
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
    # So that what is broken is put back, however this ends.
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
        # By what they are: a change elsewhere leaves the choice as it is.
        chosen.sort(key=lambda mutant: hashlib.sha256(f"{options.seed} {mutant.key}".encode()).digest())
        chosen = chosen[: options.sample]
    # Last come those for which the tests are compiled anew: the others are linked with the tests as they were.
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
    # The control: what fails anyway would count every mutant as noticed.
    began = time.time()
    by, output = workshop.test()
    if by:
        print("\n".join(line for line in output.splitlines() if not line.startswith(("✔", "◇")))[-4000:])
        sys.exit("the suite does not pass as it is")
    # A single test that takes half as long as all of them does not end.
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
