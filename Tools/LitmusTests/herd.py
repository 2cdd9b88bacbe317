"""Translates the notation of `tests.py` into litmus tests for herd7.

Each test is translated into four languages. In C11, an access has the memory order that the sources name. The other three
use the instructions that clang makes of such an access: for arm64 with single-instruction atomics (`lse`), for arm64 with
pairs of exclusive accesses (`llsc`), and for RISC-V. On arm64, an acquiring load is `ldapr`, as on Apple's processors,
because it is weaker than `ldar`.

In the library, some addresses depend on a loaded pointer. In the tests they don't. That allows more outcomes, never fewer.
"""

import re
import textwrap

MODELS = {"c11": "rc11.cat", "lse": "aarch64.cat", "llsc": "aarch64.cat", "riscv": "riscv.cat"}
MISSING = 9

C_ORDERS = {
    "relaxed": "relaxed",
    "acquiring": "acquire",
    "releasing": "release",
    "acquiringAndReleasing": "acq_rel",
    "sequentiallyConsistent": "seq_cst",
}


def acquires(order):
    return order in ("acquiring", "acquiringAndReleasing", "sequentiallyConsistent")


def releases(order):
    return order in ("releasing", "acquiringAndReleasing", "sequentiallyConsistent")


FORMS = [
    ("fence", re.compile(r"(fence)")),
    ("if", re.compile(r"if (\w+) (==|!=) (\d):")),
    ("add", re.compile(r"(\w+) ([+-])= 1")),
    ("exchange", re.compile(r"(\w+) = (\w+) \? (\d) -> (\d)")),
    ("store", re.compile(r"(\w+) = (\d)")),
    ("load", re.compile(r"(\w+) = ([a-z]\w*)")),
]


def parsed(text):
    """The accesses of a thread, each as a depth of indentation, a form, the parts of the form, and a step."""
    accesses = []
    for line in textwrap.dedent(text).strip().split("\n"):
        if not line.strip():
            continue
        depth = (len(line) - len(line.lstrip())) // 4
        access, _, step = line.strip().partition(" @")
        for form, pattern in FORMS:
            if match := pattern.fullmatch(access):
                accesses.append((depth, form, match.groups(), step or None))
                break
        else:
            raise ValueError(f"what is `{line.strip()}`?")
    return accesses


class Program:
    """One variant of a test: its threads' accesses, each with its memory order."""

    def __init__(self, test, variant, orders):
        self.name = re.sub(r"[^\w+-]", "-", f"{test.name}+{variant}")
        self.what, self.bad = test.what, test.bad
        self.start = dict(item.split("=") for item in test.start.split())
        texts = [textwrap.dedent(text).strip() for text in test.threads]
        orders = dict(orders)
        for change in test.variants[variant]:
            if isinstance(change, tuple):
                texts = [exchanged(text, *change) for text in texts]
                continue
            if change == "all relaxed":
                orders = {step: None if step.startswith("fence") else "relaxed" for step in orders}
                continue
            for part in change.split(", "):
                first, second = part.split(" ")
                step, order = (second, None) if first == "without" else (first, second)
                assert any(f"@{step}\n" in text + "\n" for text in texts), f"{test.name}: no step {step}"
                orders[step] = order
        self.threads = []
        for text in texts:
            thread = []
            for depth, form, parts, step in parsed(text):
                order = orders[step] if step else "plain"
                if order:
                    thread.append((depth, form, parts, order))
            self.threads.append(thread)

    def variables(self, thread):
        place = {"add": 0, "store": 0, "exchange": 1, "load": 1}
        return sorted({parts[place[form]] for _, form, parts, _ in thread if form in place})

    def values(self, thread):
        return sorted({parts[0] for _, form, parts, _ in thread if form in ("load", "exchange")})

    def condition(self, named):
        text = re.sub(r"(\d):(\w+)=", lambda match: f"{match[1]}:{named(int(match[1]), match[2])}=", self.bad)
        for word, sign in ((" and ", " /\\ "), (" or ", " \\/ ")):
            text = text.replace(word, sign)
        return re.sub(r"not (\S+)", r"~(\1)", text)

    def litmus(self, model):
        return self.c11() if model == "c11" else Assembly(self, model).text()

    def c11(self):
        atomic = {
            variable
            for thread in self.threads
            for access in thread
            if access[3] != "plain"
            for variable in self.variables([access])
        }
        expected = {}
        bodies = []
        for number, thread in enumerate(self.threads):
            parameters = [f"{'atomic_int' if name in atomic else 'int'}* {name}" for name in self.variables(thread)]
            lines = [f"int {value} = {MISSING};" for value in self.values(thread)]
            open_blocks = []
            for depth, form, parts, order in thread:
                while open_blocks and open_blocks[-1] >= depth:
                    open_blocks.pop()
                    lines.append("}")
                memory_order = f"memory_order_{C_ORDERS.get(order)}"
                if form == "if":
                    lines.append("if (%s %s %s) {" % parts)
                    open_blocks.append(depth)
                elif form == "fence":
                    lines.append(f"atomic_thread_fence({memory_order});")
                elif form == "add":
                    name = "add" if parts[1] == "+" else "sub"
                    lines.append(f"int r{len(lines)} = atomic_fetch_{name}_explicit({parts[0]}, 1, {memory_order});")
                elif form == "exchange":
                    value, variable, old, new = parts
                    here = f"expected{number}"
                    expected[here] = old
                    parameters.append(f"int* {here}")
                    # The order of a failed exchange, as Swift derives it from the one order that is given.
                    failed = {"acquiringAndReleasing": "acquire", "releasing": "relaxed"}.get(order, C_ORDERS[order])
                    lines.append(
                        f"int r{len(lines)} = atomic_compare_exchange_strong_explicit("
                        f"{variable}, {here}, {new}, {memory_order}, memory_order_{failed});")
                    lines.append(f"{value} = *{here};")
                elif order == "plain":
                    lines.append("*%s = %s;" % parts if form == "store" else "%s = *%s;" % parts)
                elif form == "store":
                    lines.append(f"atomic_store_explicit({parts[0]}, {parts[1]}, {memory_order});")
                else:
                    lines.append(f"{parts[0]} = atomic_load_explicit({parts[1]}, {memory_order});")
            lines += ["}"] * len(open_blocks)
            text = "\n".join("  " + line for line in lines)
            bodies.append(f"P{number} ({', '.join(parameters)}) {{\n{text}\n}}")
        start = " ".join(f"{name} = {value};" for name, value in {**self.start, **expected}.items())
        condition = self.condition(lambda _, value: value)
        return "\n".join([f"C {self.name}", f'"{self.what}"', f"{{ {start} }}", *bodies, f"exists ({condition})", ""])


def exchanged(text, old, new):
    """The lines of a text, with one of them replaced by others."""
    lines = []
    for line in text.split("\n"):
        blank = line[: len(line) - len(line.lstrip())]
        lines += [blank + other for other in new.split("\n")] if line.strip() == old else [line]
    return "\n".join(lines)


class Assembly:
    """A program for a processor, with a column of instructions for each thread."""

    def __init__(self, program, model):
        self.program, self.model = program, model
        self.riscv = model == "riscv"
        self.columns, self.start, self.finished = [], [f"{k}={v};" for k, v in program.start.items()], []
        self.places = []
        for number, thread in enumerate(program.threads):
            first_place, first_value = (20, 0) if not self.riscv else (18, 10)
            self.address = {name: first_place + i for i, name in enumerate(program.variables(thread))}
            self.value = {name: first_value + i for i, name in enumerate(program.values(thread))}
            self.places.append(self.value)
            self.start += [f"{number}:{self.x(place)}={name};" for name, place in self.address.items()]
            self.end, self.labels = f"END{number}", 0
            self.column(number, thread)

    def x(self, number):
        return f"x{number}" if self.riscv else f"X{number}"

    def w(self, number):
        return f"x{number}" if self.riscv else f"W{number}"

    def set(self, register, value):
        return f"ori {self.w(register)},x0,{value}" if self.riscv else f"MOV {self.w(register)},#{value}"

    def column(self, number, thread):
        lines = [self.set(place, MISSING) for place in self.value.values()]
        blocks = []
        for depth, form, parts, order in thread:
            while blocks and blocks[-1][0] >= depth:
                lines.append(f"{blocks.pop()[1]}:")
            if form == "if":
                self.labels += 1
                label = f"L{number}{self.labels}"
                blocks.append((depth, label))
                lines += self.jump(self.value[parts[0]], parts[1], parts[2], label)
            else:
                lines += getattr(self, form)(parts, order)
        lines += [f"{label}:" for _, label in reversed(blocks)]
        if any(self.end in line for line in lines):
            # An exclusive store may fail. Only outcomes in which no store failed count.
            done = 9 if self.riscv else 14
            lines += [self.set(done, 1), f"{self.end}:"]
            self.finished.append(f"{number}:{self.x(done)}=1")
        self.columns.append(lines)

    def text(self):
        rows = max(map(len, self.columns))
        columns = [[f"P{i}"] + lines + [""] * (rows - len(lines)) for i, lines in enumerate(self.columns)]
        widths = [max(map(len, column)) for column in columns]
        condition = self.program.condition(lambda thread, value: self.x(self.places[thread][value]))
        condition = " /\\ ".join([f"({condition})", *self.finished])
        return "\n".join(
            [f"{'RISCV' if self.riscv else 'AArch64'} {self.program.name}", f'"{self.program.what}"']
            + [f"{{ {' '.join(self.start)} }}"]
            + [" | ".join(map(str.ljust, row, widths)) + " ;" for row in zip(*columns)]
            + [f"exists ({condition})", ""])

    def jump(self, register, sign, value, label):
        """Jumps to the label unless the comparison holds."""
        if self.riscv:
            return [self.set(5, value), f"{'bne' if sign == '==' else 'beq'} {self.x(register)},x5,{label}"]
        return [f"CMP {self.w(register)},#{value}", f"{'B.NE' if sign == '==' else 'B.EQ'} {label}"]

    def fence(self, parts, order):
        if self.riscv:
            return ["fence rw,rw" if order == "sequentiallyConsistent" else "fence.tso"]
        return ["DMB ISH"]

    def load(self, parts, order):
        value, place = self.w(self.value[parts[0]]), self.x(self.address[parts[1]])
        if not self.riscv:
            name = "LDAR" if order == "sequentiallyConsistent" else "LDAPR" if order == "acquiring" else "LDR"
            return [f"{name} {value},[{place}]"]
        before = ["fence rw,rw"] if order == "sequentiallyConsistent" else []
        after = ["fence r,rw"] if acquires(order) else []
        return before + [f"lw {value},0({place})"] + after

    def store(self, parts, order):
        place = self.x(self.address[parts[0]])
        if not self.riscv:
            return [self.set(15, parts[1]), f"{'STLR' if releases(order) else 'STR'} W15,[{place}]"]
        before = ["fence rw,w"] if releases(order) else []
        after = ["fence rw,rw"] if order == "sequentiallyConsistent" else []
        return [self.set(5, parts[1])] + before + [f"sw x5,0({place})"] + after

    def add(self, parts, order):
        place, sign = self.x(self.address[parts[0]]), parts[1]
        a, l = acquires(order), releases(order)
        if self.riscv:
            suffix = (".aq" if a else "") + (".rl" if l else "")
            return [f"addi x5,x0,{sign.strip('+')}1", f"amoadd.w{suffix} x6,x5,({place})"]
        if self.model == "lse":
            return [f"MOV W15,#{sign.strip('+')}1", f"LDADD{'A' * a}{'L' * l} W15,W16,[{place}]"]
        return [f"LD{'A' * a}XR W15,[{place}]", f"{'ADD' if sign == '+' else 'SUB'} W15,W15,#1",
                f"ST{'L' * l}XR W16,W15,[{place}]", f"CBNZ W16,{self.end}"]

    def exchange(self, parts, order):
        value, place = self.w(self.value[parts[0]]), self.x(self.address[parts[1]])
        old, new = parts[2:]
        a, l = acquires(order), releases(order)
        if self.model == "lse":
            name = f"CAS{'A' * a}{'L' * l}"
            return [self.set(self.value[parts[0]], old), self.set(15, new), f"{name} {value},W15,[{place}]"]
        self.labels += 1
        label = f"F{self.end}{self.labels}"
        compare = self.jump(self.value[parts[0]], "==", old, label)
        if self.riscv:
            load = ".aq.rl" if order == "sequentiallyConsistent" else ".aq" if a else ""
            return [self.set(7, new), f"lr.w{load} {value},({place})", *compare,
                    f"sc.w{'.rl' if l else ''} x6,x7,({place})", f"bne x6,x0,{self.end}", f"{label}:"]
        return [self.set(15, new), f"LD{'A' * a}XR {value},[{place}]", *compare,
                f"ST{'L' * l}XR W16,W15,[{place}]", f"CBNZ W16,{self.end}", f"{label}:"]
