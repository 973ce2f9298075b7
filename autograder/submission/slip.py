"""A slip of writing: what is wrong in a step's text, and how its owner is told.

A slip is read from the syntax tree, and nothing is run for it. It is told only where a check saw
what it would cause. So a student with right results never reads about one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

from autograder.model.sanitize import LONGEST_NAME, clean_line
from autograder.model.signature import Definition
from autograder.model.verdict import CheckVerdict, Finding, Outcome, StepVerdict
from autograder.submission.cells import DefinitionNode

# The nodes of a syntax tree, in the order of `ast.walk`, without its detours.
#
# The texts of a class are read from end to end, and most of a tree are leaves: Python's own walk
# asks every node for its fields by their names. The trees are a parser's own, which sets all
# fields.

# A field in Python's own grammar of its trees, such as `expr* args`, and what holds no nodes.
_FIELD = re.compile(r"(\w+)[*?]? (\w+)")
_PLAIN = ("identifier", "string", "int", "constant")


def _fields(kind: type[ast.AST]) -> tuple[str, ...]:
    """Return the fields of a kind of node that may hold nodes, in their order."""
    plain = {name for what, name in _FIELD.findall(kind.__doc__ or "") if what in _PLAIN}
    return tuple(name for name in kind._fields if name not in plain)


_KINDS = [each for each in vars(ast).values() if isinstance(each, type)]
FIELDS = {kind: _fields(kind) for kind in _KINDS if issubclass(kind, ast.AST)}


def nodes_in(node: ast.AST, most: int | None = None) -> list[ast.AST]:
    """Return a node and all within it, those further out first; of a large tree the first `most`.

    Without recursion: a tree can be deeper than Python's own stack.
    """
    found = [node]
    enough = sys.maxsize if most is None else most
    for each in found:  # it grows meanwhile
        if len(found) >= enough:
            return found[:enough]
        for field in FIELDS[each.__class__]:
            value = getattr(each, field)
            if value.__class__ is list:
                found += filter(None, value)  # a dictionary's keys may be None
            elif value is not None:
                found.append(value)
    return found


def children_of(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly within one, in order."""
    found: list[ast.AST] = []
    for field in FIELDS[node.__class__]:
        value = getattr(node, field)
        if value.__class__ is list:
            found += filter(None, value)
        elif value is not None:
            found.append(value)
    return found


MOST_NODES = 20_000  # of one step that are looked at
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPES = frozenset((*_DEFINITIONS, ast.Lambda))
_IMPORTS = (ast.Import, ast.ImportFrom)
_NAMED = (*_DEFINITIONS, ast.ExceptHandler)
_BINDING = frozenset((ast.Name, ast.arg, *_IMPORTS, *_NAMED))
# What only marks another node: whether its value is read or set, and which operator it is.
_SIGNS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_MARKS = frozenset(kind for kind in FIELDS if issubclass(kind, _SIGNS))


@dataclass(frozen=True)
class Slip:
    """A slip in a step: told where a check ended in one of `outcomes` and says what `seen` matches.

    `seen` is a regular expression for what the check says. Without `fact`, the check's own words
    stay, and only `look` is new; `beside` says that the check's own stays before it. `becomes` is
    the outcome that it really is. With `all_right`, it is the cause only where no step before is
    wrong.
    """

    outcomes: tuple[Outcome, ...]
    seen: str
    fact: str
    look: str = ""
    becomes: Outcome | None = None
    all_right: bool = False
    beside: bool = False

    def explains(self, finding: Finding, wrong: Collection[str]) -> bool:
        """Whether it causes what a check saw, where the steps `wrong` are wrong by themselves."""
        if self.all_right and wrong:
            return False
        seen = "\n".join((finding.message, *finding.details))
        return finding.outcome in self.outcomes and re.search(self.seen, seen) is not None


@dataclass(frozen=True)
class WrittenStep:
    """One step as it is written: its definition, and the one that was handed out (or None).

    `text` is the cell that holds it. In a `notebook`, lines are counted by cell.
    """

    name: str
    node: DefinitionNode
    given: DefinitionNode | None
    text: str
    notebook: bool

    def line(self, node: ast.AST) -> str:
        """Name the line where a node begins, such as "line 5"."""
        return line_words(node, self.notebook)

    def own_nodes(self, function: Definition) -> tuple[ast.AST, ...]:
        """Return the nodes of one of its functions; see `own_nodes`, which is asked only once."""
        if function not in self._walked:
            self._walked[function] = own_nodes(function)
        return self._walked[function]

    @cached_property
    def _walked(self) -> dict[Definition, tuple[ast.AST, ...]]:
        return {}

    @property
    def functions(self) -> Iterator[tuple[str, Definition]]:
        """The functions of the step that were handed out, each with its name in words."""
        if isinstance(self.node, Definition):
            yield self.name, self.node
            return
        known = methods_of(self.given) if isinstance(self.given, ast.ClassDef) else {}
        for name, method in methods_of(self.node).items():
            if name in known:
                yield f"{self.name}.{name}", method


def line_words(node: ast.AST, notebook: bool) -> str:
    """Name the line where a node begins; a student counts a notebook's lines by cell."""
    number = getattr(node, "lineno", 0)
    return f"line {number} of its cell" if notebook else f"line {number}"


def capitalized(words: str) -> str:
    """Return `words` with a capital letter at the beginning."""
    return words[:1].upper() + words[1:]


def quoted(name: str) -> str:
    """Return a name of the student's as it is shown."""
    return f"`{clean_line(name, LONGEST_NAME)}`"


def methods_of(node: ast.ClassDef) -> dict[str, Definition]:
    """Return the methods of a class, by name."""
    return {item.name: item for item in node.body if isinstance(item, Definition)}


def parameters_of(node: Definition) -> list[str]:
    """Return the names of a function's parameters, in order."""
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [each.arg for each in plain]


def own_nodes(node: ast.AST) -> tuple[ast.AST, ...]:
    """Return what belongs to a function itself, in order: nothing inside functions within it.

    Marks are left out. Without recursion: a tree can be deeper than Python's own stack.
    """
    found: list[ast.AST] = []
    waiting = children_of(node)[::-1]
    for _ in range(MOST_NODES):
        if not waiting:
            break
        child = waiting.pop()
        kind = child.__class__
        if kind in _MARKS:
            continue
        found.append(child)
        if kind not in _SCOPES:
            waiting += reversed(children_of(child))
    return tuple(found)


def names_bound_in(node: ast.AST) -> set[str]:
    """Return the names that a function sets or takes, anywhere in it."""
    return names_bound_by(nodes_in(node))


def names_bound_by(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that these nodes, each by itself, set or take."""
    bound = set()
    for child in nodes:
        if type(child) not in _BINDING:  # as most are
            continue
        if isinstance(child, ast.Name):
            if not isinstance(child.ctx, ast.Load):
                bound.add(child.id)
        elif isinstance(child, ast.arg):
            bound.add(child.arg)
        elif isinstance(child, _IMPORTS):
            bound |= {(each.asname or each.name).split(".")[0] for each in child.names}
        elif isinstance(child, _NAMED):
            bound.add(child.name or "")
    return bound


def explained(
    checks: Iterable[CheckVerdict], slips: Sequence[Slip], wrong: Collection[str] = ()
) -> tuple[CheckVerdict, ...]:
    """Return the verdicts of a step's checks, with every finding told by the slip behind it.

    `wrong` are the steps that are known to be wrong by themselves.
    """
    return tuple(_explained(check, slips, wrong) for check in checks)


def explained_step(
    step: StepVerdict, slips: Mapping[str, Sequence[Slip]], wrong: Collection[str] = ()
) -> StepVerdict:
    """Return the verdict on a step with its slips told; `slips` are those of all steps.

    `wrong` are the steps that may be wrong by themselves: none in class, where a step is judged
    with right answers of the steps before it.
    """
    checks = explained(step.checks, slips.get(step.name, ()), wrong)
    failed = next((check for check in checks if not check.passes), None)
    outcome = failed.outcome if failed and checks != step.checks else step.outcome
    return replace(step, checks=checks, outcome=outcome)


def _explained(check: CheckVerdict, slips: Sequence[Slip], wrong: Collection[str]) -> CheckVerdict:
    finding = check.finding
    slip = next((slip for slip in slips if finding and slip.explains(finding, wrong)), None)
    if finding is None or slip is None:
        return check
    if not slip.fact:
        before = finding.look if slip.beside else ""
        told = replace(finding, look=f"{before} {slip.look}".strip())
    else:
        outcome = slip.becomes or finding.outcome
        bare = f"{finding.fact} {finding.look}".strip()
        details = finding.details if slip.becomes else (*finding.details, bare)
        told = Finding(outcome, slip.fact, finding.right, slip.look, details=details)
    return CheckVerdict.of(check.name, check.title, told)


# What each statement at the left margin of a text does with names: read once, asked for twice.
#
# From that, it is told whether a step may call another, and which names a hand-in makes known.

_STATEMENT_NAMES_IMPORTS, _PARTS = (ast.Import, ast.ImportFrom), (ast.Attribute, ast.Subscript)
# The kinds of nodes that tell more than a name: most are of none of them.
_TELLING = frozenset((ast.Global, ast.Call, *_STATEMENT_NAMES_IMPORTS, *_PARTS))


@dataclass(frozen=True)
class StatementNames:
    """The names in one statement: those that it sets or takes, and those that it mentions.

    shared: what it declares `global`. stored: what changed attributes and items begin with, and
    these attributes. touched: what calls of methods, and what changed attributes and items begin
    with. Of a statement with too many nodes, nothing is told: it is not `whole`.
    """

    bound: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    shared: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    touched: frozenset[str] = frozenset()
    whole: bool = True


_NOT_WHOLE = StatementNames(whole=False)
_READ: WeakKeyDictionary[ast.Module, tuple[StatementNames, ...]] = WeakKeyDictionary()


def names_of_statements(tree: ast.Module) -> tuple[StatementNames, ...]:
    """Return the names in each statement of a tree, in order; they are kept as long as it is."""
    if tree not in _READ:
        _READ[tree] = tuple(map(_names_in, tree.body))
    return _READ[tree]


def _names_in(node: ast.stmt) -> StatementNames:
    inside = nodes_in(node, MOST_NODES)
    if len(inside) == MOST_NODES:
        return _NOT_WHOLE
    bound = frozenset(names_bound_by(inside))
    mentioned = {each.id for each in inside if isinstance(each, ast.Name)}
    shared, stored, touched = set[str](), set[str](), set[str]()
    for each in inside:
        if each.__class__ not in _TELLING:
            continue
        if isinstance(each, ast.Call) and isinstance(each.func, _PARTS):
            touched.add(_root(each.func))
        elif isinstance(each, ast.Attribute):
            mentioned.add(each.attr)
            if not isinstance(each.ctx, ast.Load):
                stored.update((_root(each), each.attr))
                touched.add(_root(each))
        elif isinstance(each, ast.Subscript):
            if not isinstance(each.ctx, ast.Load):
                stored.add(_root(each))
                touched.add(_root(each))
        elif isinstance(each, ast.Global):
            shared.update(each.names)
        elif isinstance(each, _STATEMENT_NAMES_IMPORTS):
            mentioned.update(alias.name for alias in each.names)
    return StatementNames(
        bound,
        frozenset(mentioned),
        frozenset(shared),
        frozenset(stored),
        frozenset(touched),
    )


def _root(node: ast.AST) -> str:
    """Return the name that an expression such as `table.entries[0]` begins with, or ""."""
    for _ in range(MOST_NODES):
        if not isinstance(node, _PARTS):
            break
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
