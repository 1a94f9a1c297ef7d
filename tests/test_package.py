from __future__ import annotations

import subprocess
import sys

import dlrmc


def run_python(code: str) -> str:
    """What a fresh interpreter prints for `code`."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_neither_torch_nor_cupy() -> None:
    code = "import sys, dlrmc; print([m for m in ('torch', 'cupy', 'networkx', 'numpy') if m in sys.modules])"
    assert run_python(code) == "[]"


def test_compile_stays_the_function_after_its_module_is_imported() -> None:
    code = "import dlrmc.compile, dlrmc; print(callable(dlrmc.compile), dlrmc.compile.__module__)"
    assert run_python(code) == "True dlrmc.compile"


def test_the_public_names_exist() -> None:
    for name in dlrmc.__all__:
        assert getattr(dlrmc, name) is not None


def test_the_compiler_loads_no_bf16_for_programs_without_any() -> None:
    """ml_dtypes alone would take longer than the passes of a large model."""
    code = (
        "import sys, torch, dlrmc\n"
        "program = torch.export.export(torch.nn.Linear(3, 2).eval(), (torch.ones(4, 3),))\n"
        "dlrmc.compile(program, target='reference')(torch.ones(4, 3))\n"
        "print('ml_dtypes' in sys.modules)\n"
    )
    assert run_python(code) == "False"
