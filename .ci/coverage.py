"""Counts the library's functions, lines and regions that no test has run. `.ci/coverage` runs this program."""

import json
import sys
from pathlib import Path

exclusions, *profile = sys.argv[1:]
root = Path("Sources/ObserverSet").resolve()

# Each line has the form FILE: TEXT — REASON. It excludes the line with that text, and the lines after it until the
# parentheses are closed. If the reason begins with "by chance:", the tests may or may not run the line.
excluded, used = [], set()
for entry in Path(exclusions).read_text().splitlines():
    if entry and not entry.startswith("#"):
        place, _, reason = entry.partition(" — ")
        file, _, text = place.partition(": ")
        excluded.append((root / file, text))
        assert reason, f"no reason: {entry}"
        if reason.startswith("by chance:"):
            used.add((root / file, text))

sources = {}


def line_of(file, number):
    if file not in sources:
        sources[file] = Path(file).read_text().split("\n")
    return sources[file][number - 1]


left_out = {}
for place, text in excluded:
    assert text in place.read_text(), f"{place.name} has no `{text}`"
    depth = 0
    for number, line in enumerate(place.read_text().split("\n"), 1):
        if depth > 0 or text in line:
            left_out[str(place), number] = (place, text)
            depth = max(0, depth + line.count("(") - line.count(")"))


# Without a profile, the program only checks that the excluded lines are still in the sources.
if not profile:
    sys.exit()
lcov, exported = profile


def is_excluded(file, first, last):
    """Whether one of the lines is excluded, or none of them has a letter or a digit, such as a closing brace."""
    for number in range(first, last + 1):
        if (file, number) in left_out:
            used.add(left_out[file, number])
            return True
    code = [line_of(file, number).split("//")[0] for number in range(first, last + 1)]
    return not any(c.isalnum() for c in "".join(code))


# Regions and functions. All specialisations of a generic function count as one function.
regions, functions = {}, {}
for function in json.load(open(exported))["data"][0]["functions"]:
    file = function["filenames"][0]
    if not file.startswith(str(root)):
        continue
    for l1, c1, l2, c2, count, _, _, kind in function["regions"]:
        if kind == 0:
            place = (file, l1, c1, l2, c2)
            regions[place] = max(regions.get(place, 0), count)
    place = (file, *function["regions"][0][:4])
    functions[place] = max(functions.get(place, 0), function["count"])

lines, file = {}, ""
for entry in open(lcov):
    kind, _, rest = entry.strip().partition(":")
    if kind == "SF":
        file = rest
    elif kind == "DA":
        number, count = map(int, rest.split(",")[:2])
        lines[file, number, 0, number] = count

failed = False
for name, counts, least in (("functions", functions, 100), ("lines", lines, 100), ("regions", regions, 99)):
    missed = [p for p, count in counts.items() if count == 0]
    unexplained = [p for p in missed if not is_excluded(p[0], p[1], p[3])]
    share = 100 * (1 - len(unexplained) / len(counts))
    print(f"coverage: {share:.2f} % of {len(counts)} {name}, {len(missed) - len(unexplained)} left out with a reason")
    for place in unexplained:
        print(f"  {Path(place[0]).relative_to(root)}:{place[1]}: {line_of(place[0], place[1]).strip()}")
    failed |= share < least

for place, text in excluded:
    if (place, text) not in used:
        print(f"coverage: nothing is left out by `{place.relative_to(root)}: {text}`")
        failed = True
sys.exit(failed)
