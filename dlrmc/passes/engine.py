"""The peephole engine: finds rules, checks what no rule has to, and rewrites to a fixpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import MappingProxyType

from dlrmc.errors import DlrmcError, PassError
from dlrmc.ir.graph import Graph, Node
from dlrmc.ir.printer import print_node
from dlrmc.ir.verify import verify
from dlrmc.passes.builder import Builder
from dlrmc.passes.matching import Match, matches
from dlrmc.passes.pass_types import PassResult
from dlrmc.passes.rule import Rule

# A rule set that fires more often than this per node of the graph is taken for one that never ends.
_FIRINGS_PER_NODE = 20
_FIRINGS_SPARE = 200


def apply_rules(graph: Graph, rules: Sequence[Rule], *, checked: bool = False) -> PassResult:
    """Rewrite the graph until no rule fires.

    At each node, in topological order, the first rule of `rules` that fits fires; sweeps go on until one
    changes nothing. The engine checks that types are as the pattern writes them, that no inner value is read
    outside the match, and that the new value has the old one's type; it moves the uses, erases what was
    inside, and keeps the name.

    Args:
        graph: rewritten in place.
        rules: in order of preference.
        checked: verify the graph after every firing, not only at the end.

    Raises:
        PassError: a rule built a value of another type, dead nodes or a cycle, or the rules do not end.
        VerifyError: the graph breaks an invariant.
    """
    by_root = _by_root_op(rules)
    fired: Counter[str] = Counter()
    bound = _FIRINGS_SPARE + _FIRINGS_PER_NODE * len(graph)
    while True:
        before = fired.total()
        for node in graph.nodes:
            while node in graph:
                rule = _fire_first(graph, node, by_root.get(node.op.name, ()))
                if rule is None:
                    break
                fired[rule.name] += 1
                if checked:
                    verify(graph, f"rule {rule.name}")
                if fired.total() > bound:
                    raise _endless(graph, fired, bound)
        if fired.total() == before:
            break
    verify(graph, "peepholes")
    return PassResult(
        fired.total(), MappingProxyType({rule.name: fired[rule.name] for rule in rules if fired[rule.name]})
    )


def _by_root_op(rules: Sequence[Rule]) -> dict[str, list[Rule]]:
    by_root: dict[str, list[Rule]] = {}
    for rule in rules:
        by_root.setdefault(rule.pattern.root_op, []).append(rule)
    return by_root


def _fire_first(graph: Graph, node: Node, rules: Sequence[Rule]) -> Rule | None:
    for rule in rules:
        for match in matches(rule.pattern, graph, node):
            if _is_closed(graph, rule, match) and rule.where(match):
                _rewrite(graph, rule, match)
                return rule
    return None


def _inside(rule: Rule, match: Match) -> tuple[Node, ...]:
    """The nodes that the match computes besides the root, root side first."""
    return tuple(getattr(match, name) for name in rule.pattern.inner)


def _is_closed(graph: Graph, rule: Rule, match: Match) -> bool:
    """Whether no inner value is read outside the match, by a node or by the caller."""
    members = (match.root, *_inside(rule, match))
    for name in rule.pattern.inner:
        inner: Node = getattr(match, name)
        if name in rule.shared:
            continue
        if graph.returns(inner):
            return False
        if any(user not in members for user in graph.users(inner)):
            return False
    return True


def _rewrite(graph: Graph, rule: Rule, match: Match) -> None:
    root = match.root
    builder = Builder(graph, root)
    context = print_node(root).split("\n")
    try:
        new = rule.build(builder, match)
        _check_built(graph, rule, match, new, builder)
    except DlrmcError as error:
        if isinstance(error, PassError):
            raise
        raise PassError(
            f"rule {rule.name} at %{root.name}", found=error.found, expected=error.expected, context=context
        ) from error
    graph.replace(root, new, keep_name=new in builder.created)
    for inner in _inside(rule, match):
        if inner in graph and not graph.use_count(inner):
            graph.erase(inner)


def _check_built(graph: Graph, rule: Rule, match: Match, new: Node, builder: Builder) -> None:
    root, place = match.root, f"rule {rule.name} at %{match.root.name}"
    if new is root:
        raise PassError(place, found="the root itself", expected="a new value")
    if new.result_type != root.result_type:
        raise PassError(
            place, found=f"type {new.result_type}", expected=f"the root's type {root.result_type}"
        )
    if graph.depends_on(new, root):
        raise PassError(place, found="a value that reads the root", expected="a value made from the match")
    for made in builder.created:
        if made is not new and not graph.use_count(made):
            raise PassError(place, found=f"%{made.name}, which nothing reads", expected="no dead values")


def _endless(graph: Graph, fired: Counter[str], bound: int) -> PassError:
    most = [f"{name}: fired {count} times" for name, count in fired.most_common(5)]
    return PassError(
        f"graph @{graph.name}",
        found=f"the peepholes are not done after {bound} firings",
        expected="a fixpoint",
        hint="two rules undo each other; those that fired most stand first",
        context=most,
    )
