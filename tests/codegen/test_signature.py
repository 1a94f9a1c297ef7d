from dlrmc.codegen.signature import as_array, build_signature, ir_comment
from dlrmc.codegen.source import KernelContext
from dlrmc.schedule.limits import DeviceLimits
from tests.codegen.kernel_cases import Case, body_of


def signature_of(types, indirect_operands, indirect_results, *, has_faults=False):
    body = body_of(lambda g, *inputs: [g.add("relu", (x,)) for x in inputs[:1]], *types)
    names = tuple(node.name for node in body.inputs)
    context = KernelContext("k", (), (), indirect_operands, indirect_results, names, 0, DeviceLimits())
    return build_signature(body, context, has_faults=has_faults)


def test_pointers_have_the_storage_type_and_slots_are_read_first():
    signature = signature_of(("bf16[4]",), (True,), (False,))
    assert signature.declarations == (
        "const bf16* const* __restrict__ a_in_slot",
        "bf16* __restrict__ relu_out",
    )
    assert signature.slot_reads == ("const bf16* const __restrict__ a_in = *a_in_slot;",)
    assert [(param.name, param.indirect) for param in signature.params] == [
        ("a_in", True),
        ("relu_out", False),
    ]


def test_faults_come_last():
    signature = signature_of(("f32[4]",), (False,), (False,), has_faults=True)
    assert signature.declarations[-1] == "Faults* __restrict__ faults"
    assert signature.params[-1].name == "faults"
    assert not signature.params[-1].indirect


def test_many_parameters_stand_one_a_line():
    short = signature_of(("f16[4]",), (False,), (False,)).head("k", 64)
    assert short == (
        'extern "C" __global__ void __launch_bounds__(64) k(const f16* __restrict__ a_in, '
        "f16* __restrict__ relu_out) {"
    )
    long = signature_of(("f32[4]",) * 6, (False,) * 6, (False,)).head("k", 64).splitlines()
    assert long[0] == 'extern "C" __global__ void __launch_bounds__(64) k('
    assert len(long) == 8
    assert long[-1] == "        float* __restrict__ relu_out) {"


def test_the_comment_is_the_kernels_ir():
    kernel = Case(body_of(lambda g, a: g.add("relu", (a,)), "f32[4]"), {}).launch().kernel
    assert ir_comment(kernel) == (
        "// %kernel = kernel map(%a) {\n//   %relu = relu(%a) : f32[4]\n//   yield %relu\n// } : f32[4]"
    )


def test_all_pointers_in_one_parameter_keep_their_places_and_names():
    flat = signature_of(("f32[4]", "i64[4]"), (False, True), (False,), has_faults=True)
    array = as_array(flat)
    assert array.params == flat.params
    assert array.declarations == ("const __grid_constant__ KernelPointers<4> pointers",)
    assert array.pointer_reads == (
        ("a_in", "const float* const __restrict__ a_in = static_cast<const float*>(pointers.at[0]);"),
        (
            "b_in_slot",
            "const long long* const* const __restrict__ b_in_slot = "
            "static_cast<const long long* const*>(pointers.at[1]);",
        ),
        ("relu_out", "float* const __restrict__ relu_out = static_cast<float*>(pointers.at[2]);"),
        ("faults", "Faults* const __restrict__ faults = static_cast<Faults*>(pointers.at[3]);"),
    )
