from __future__ import annotations

from dlrmc.ir.graph import Graph
from dlrmc.passes.form_kernels import POINTERS_MAX
from dlrmc.passes.row_runs import LARGEST_ROW_BYTES, peak_row_bytes, runs_with_room
from tests.passes.rule_case import graph_of


def lookups(count: int, group: int) -> Graph:
    """Lookups in tables of their own, `group` of which are always put side by side before the next come."""
    lines = [f"input %i_{n} : i64[4]" for n in range(count)]
    lines += [f'weight %w_{n} : f32[5,2] = "w_{n}"' for n in range(count)]
    cats: list[str] = []
    for begin in range(0, count, group):
        numbers = range(begin, min(begin + group, count))
        lines += [f"%e_{n} = embedding(%w_{n}, %i_{n}) : f32[4,2]" for n in numbers]
        lines.append(
            f"%c_{begin} = cat({', '.join(f'%e_{n}' for n in numbers)}) {{dim=1}} : f32[4,{2 * len(numbers)}]"
        )
        cats.append(f"%c_{begin}")
    lines.append(f"%y = cat({', '.join(cats)}) {{dim=1}} : f32[4,{2 * count}]")
    return graph_of("\n".join([*lines, "return %y"]))


def runs_of(graph: Graph) -> list[list[str]]:
    nodes = [node for node in graph.nodes if not node.is_op("input", "weight")]
    return [[node.name for node in run] for run in runs_with_room(graph, nodes, 4)]


def test_what_fits_is_one_run() -> None:
    assert len(runs_of(lookups(200, 50))) == 1


def test_runs_end_where_the_fewest_values_are_to_be_read() -> None:
    graph = lookups(600, 50)
    runs = runs_of(graph)
    assert [name for run in runs for name in run] == [
        node.name for node in graph.nodes if not node.is_op("input", "weight")
    ]
    assert all(run[-1].startswith(("c_", "y")) for run in runs)
    assert 3 <= len(runs) <= 5
    assert all(2 * sum(name.startswith("e_") for name in run) < POINTERS_MAX for run in runs)


def test_one_op_that_reads_too_much_is_a_run_of_its_own() -> None:
    values = [f"%x_{n}" for n in range(POINTERS_MAX + 1)]
    lines = [f"input {value} : f32[4,1]" for value in values]
    graph = graph_of(
        "\n".join(
            [
                *lines,
                f"%y = cat({', '.join(values)}) {{dim=1}} : f32[4,{len(values)}]",
                f"%z = exp(%y) : f32[4,{len(values)}]",
                "return %z",
            ]
        )
    )
    assert runs_of(graph) == [["y"], ["z"]]


def peak(text: str) -> int:
    graph = graph_of(text)
    nodes = [node for node in graph.nodes if not node.is_op("input", "weight", "const")]
    return peak_row_bytes(graph, nodes, 4)


def test_values_share_memory_that_do_not_live_at_one_time() -> None:
    chain = """
        input %x : f32[4,10]
        %a = exp(%x) : f32[4,10]
        %v = view(%a) {shape=[4,2,5]} : f32[4,2,5]
        %b = sin(%v) : f32[4,2,5]
        %c = abs(%b) : f32[4,2,5]
        %d = neg(%c) : f32[4,2,5]
        return %d
    """
    assert peak(chain) == 2 * 40
    assert peak(chain.replace("return %d", "return %d, %a")) == 3 * 40


def test_scores_take_no_memory() -> None:
    attention = """
        input %x : f32[4,9,2]
        %e = exp(%x) : f32[4,9,2]
        %z = bmm(%e, %e) {trans_b=true} : f32[4,9,9]
        %p = softmax(%z) {dim=2} : f32[4,9,9]
        %o = bmm(%p, %e) : f32[4,9,2]
        return %o
    """
    assert peak(attention) == 2 * 72
    assert peak(attention.replace("return %o", "return %o, %z")) > 2 * 324


def test_a_product_has_a_copy_of_what_it_reads_from_outside() -> None:
    width = LARGEST_ROW_BYTES // 4 + 4
    graph = graph_of(f"""
        input %x : f32[4,{width}]
        weight %w : f32[3,{width}] = "w"
        %a = exp(%x) : f32[4,{width}]
        %b = linear(%a, %w) : f32[4,3]
        %c = sin(%b) : f32[4,3]
        return %c
    """)
    assert runs_of(graph) == [["a"], ["b"], ["c"]]


def test_scores_count_where_their_readers_are_in_another_program() -> None:
    size, width = 64, LARGEST_ROW_BYTES // 4 // 64
    graph = graph_of(f"""
        input %x : f32[4,{size},2]
        input %v : f32[4,{size},{width}]
        %e = exp(%x) : f32[4,{size},2]
        %z = bmm(%e, %e) {{trans_b=true}} : f32[4,{size},{size}]
        %s = sin(%z) : f32[4,{size},{size}]
        %p = softmax(%s) {{dim=2}} : f32[4,{size},{size}]
        %o = bmm(%p, %v) : f32[4,{size},{width}]
        return %o
    """)
    # The last product, whose results and copy of %v do not fit beside the queries, is a run of its own.
    assert runs_of(graph)[-1] == ["o"]
    assert runs_of(graph)[0][:2] == ["e", "z"]
    nodes = [node for node in graph.nodes if not node.is_op("input")]
    assert peak_row_bytes(graph, nodes[:-1], 4) >= 2 * 4 * size * size
