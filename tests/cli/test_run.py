"""`fluidio run` behaves as `python` does, with paddle meaning fluidio."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def fluidio_run(
    tmp_path: Path, script: str, *args: str, options: tuple[str, ...] = ()
) -> subprocess.CompletedProcess[str]:
    path = tmp_path / "train.py"
    path.write_text(textwrap.dedent(script))
    return command(tmp_path, *options, str(path), *args)


def command(cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("FLUIDIO_FLUID", None)
    return subprocess.run(
        [sys.executable, "-m", "fluidio", "run", *words],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
    )


def test_a_script_that_says_paddle_fluid_runs(tmp_path: Path) -> None:
    done = fluidio_run(
        tmp_path,
        """
        import paddle.fluid as fluid
        import paddle.fluid.layers as layers
        x = layers.fill_constant([1], 'float32', 3.0)
        exe = fluid.Executor(fluid.CPUPlace())
        print('%.1f' % exe.run(fetch_list=[layers.square(x)])[0])
        """,
    )
    assert (done.returncode, done.stdout) == (0, "9.0\n"), done.stderr


def test_argv_main_and_exit_code_are_as_under_python(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import sys\nprint(__name__, sys.argv[1:])\nsys.exit(7)", "--epochs", "3")
    assert (done.returncode, done.stdout) == (7, "__main__ ['--epochs', '3']\n")


def test_a_traceback_shows_the_scripts_line_and_no_runner(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import paddle\nraise ValueError('here')\n")
    assert done.returncode == 1
    assert 'train.py", line 2' in done.stderr and "ValueError: here" in done.stderr
    assert "runner.py" not in done.stderr


def test_a_missing_paddle_module_is_one_line(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import paddle.fluid.no_such_module\n")
    assert done.returncode == 1
    assert "train.py:1: No module named 'paddle.fluid.no_such_module'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_package_names_the_pip_line(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import no_such_package_anywhere\n")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "train.py:1: No module named 'no_such_package_anywhere' (pip install no_such_package_anywhere)"
    )
    assert "Traceback" not in done.stderr


def test_importing_a_layer_that_is_not_here_says_what_to_use(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "from paddle.fluid.layers import fc, elementwise_add_with_weight\n")
    assert done.returncode == 1
    assert "ImportError: cannot import name 'elementwise_add_with_weight'" in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("fluidio run: ")
    assert "train.py:1: fluid.layers.elementwise_add_with_weight is not supported" in last
    assert "layers.elementwise_add of" in last


def test_importing_a_name_that_others_lack_is_left_to_python(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "from json import nonsense\n")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ImportError: cannot import name 'nonsense' from 'json'")


def test_classes_of_the_script_pickle_to_workers(tmp_path: Path) -> None:
    done = fluidio_run(
        tmp_path,
        """
        import multiprocessing
        import paddle.fluid as fluid

        class Box:
            def __init__(self, value):
                self.value = value

        def double(box):
            import paddle.fluid
            return Box(box.value * 2)

        if __name__ == '__main__':
            with multiprocessing.get_context('spawn').Pool(1) as pool:
                print(pool.map(double, [Box(4)])[0].value)
        """,
    )
    assert done.stdout == "8\n", done.stderr


def test_pythons_started_by_a_command_see_paddle(tmp_path: Path) -> None:
    done = command(tmp_path, "--", sys.executable, "-c", "import paddle.fluid as f; print(f.__name__)")
    assert done.stdout == "fluidio\n", done.stderr


def test_a_module_runs_with_m(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import sys, paddle\nprint(__name__, sys.argv[1:])\n")
    done = command(tmp_path, "-m", "job", "a", "--rate", "0.1", "--stats")
    assert done.stdout == "__main__ ['a', '--rate', '0.1', '--stats']\n", done.stderr


def test_python2_modules_of_the_script_load(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("def show(x):\n    print 'value', x\n")
    done = fluidio_run(tmp_path, "import helper\nhelper.show(3)\n")
    assert done.stdout == "value 3\n", done.stderr
    assert "modernised while loading" in done.stderr


def test_the_era_is_inferred_and_said(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import paddle.fluid as fluid\nfluid.data('x', [None, 3])\n")
    assert "following Fluid 1.8 (" in done.stderr and "train.py:2: fluid.data;" in done.stderr


def test_device_cpu_makes_cuda_places_mean_the_cpu(tmp_path: Path) -> None:
    done = fluidio_run(
        tmp_path,
        """
        import paddle.fluid as fluid
        exe = fluid.Executor(fluid.CUDAPlace(0))
        print(float(exe.run(fetch_list=[fluid.layers.fill_constant([1], 'float32', 1.0)])[0]), fluid.cuda_places())
        """,
        options=("--device", "cpu"),
    )
    assert done.stdout == "1.0 [CPUPlace]\n", done.stderr


def test_stats_end_with_the_number_of_steps(tmp_path: Path) -> None:
    done = fluidio_run(
        tmp_path,
        """
        import paddle.fluid as fluid
        fluid.layers.fill_constant([1], 'float32', 1.0)
        exe = fluid.Executor(fluid.CPUPlace())
        for _ in range(3):
            exe.run()
        """,
        options=("--stats",),
    )
    assert "3 steps" in done.stderr


@pytest.mark.parametrize("words", [(), ("no_such_file.py",)])
def test_no_script_is_a_clear_error(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = command(tmp_path, *words)
    assert done.returncode == 2 and done.stderr.startswith("fluidio run:")
