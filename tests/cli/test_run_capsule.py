"""`fluidio run` brings scripts of their time to today: their own modules, and the processes they start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_run import command, fluidio_run


def test_explain_lists_what_was_applied_and_where(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import numpy as np\nx = np.int(3)\nprint(x)\n", options=("--explain",))
    assert done.stdout == "3\n", done.stderr
    assert f"{tmp_path}/train.py: Python 3 (nothing older in it)" in done.stderr
    assert f"{tmp_path}/train.py:2: np.int -> int (NumPy 1.24)" in done.stderr


def test_modules_without_signs_follow_a_python_2_program(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def half(n):\n    return n / 2\n")
    done = fluidio_run(tmp_path, "import model\nprint model.half(7)\n")
    assert done.stdout == "3\n", done.stderr
    chosen = fluidio_run(tmp_path, "import model\nprint(model.half(7))\n", options=("--python", "2"))
    assert chosen.stdout == "3\n", chosen.stderr


def test_modules_outside_the_scripts_folder_are_the_users_too(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.py").write_text("print 'from lib'\n")
    (tmp_path / "tools" / "train.py").write_text("import sys\nsys.path.append('lib')\nimport helper\n")
    done = command(tmp_path, "tools/train.py")
    assert done.stdout == "from lib\n", done.stderr


def test_installed_modules_are_never_touched(tmp_path: Path) -> None:
    installed = tmp_path / "lib" / "site-packages"
    installed.mkdir(parents=True)
    (installed / "theirs.py").write_text("half = 7 / 2\nimport numpy\nhas_int = hasattr(numpy, 'int')\n")
    done = fluidio_run(
        tmp_path, f"import sys\nsys.path.append({str(installed)!r})\nimport theirs\nprint theirs.half, theirs.has_int\n"
    )
    assert done.stdout == "3.5 False\n", done.stderr


def test_installed_libraries_on_top_of_paddle_get_it_too(tmp_path: Path) -> None:
    installed = tmp_path / "lib" / "site-packages"
    (installed / "prune").mkdir(parents=True)
    (installed / "prune" / "__init__.py").write_text("from .core import kinds\n")
    (installed / "prune" / "core.py").write_text("import numpy as np\nkinds = np.int(3), 7 / 2\n")
    (installed / "prune-1.0.dist-info").mkdir()
    (installed / "prune-1.0.dist-info" / "METADATA").write_text("Name: prune\nSummary: for PaddlePaddle\n\nText\n")
    done = fluidio_run(tmp_path, f"import sys\nsys.path.append({str(installed)!r})\nimport prune\nprint prune.kinds\n")
    assert done.stdout == "(3, 3.5)\n", done.stderr


def test_print_to_a_file_is_python_2_though_python_3_can_parse_it(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import sys\nprint >> sys.stdout, 'a', 7 / 2\nprint >>sys.stderr, 'b'\n")
    assert done.stdout == "a 3\n" and done.stderr.endswith("b\n"), done.stderr


def test_a_script_started_as_a_process_gets_it_too(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("def half(n):\n    print n / 2\n")
    (tmp_path / "child.py").write_text("import sys, utils\nprint sys.argv[1:], __name__\nutils.half(7)\nsys.exit(3)\n")
    done = fluidio_run(
        tmp_path,
        """
        import os, subprocess, sys
        print(subprocess.call('python -u child.py a "b c"', shell=True))
        print(os.system(sys.executable + ' child.py > out.txt') >> 8, open('out.txt').read().split())
        """,
    )
    assert done.stdout == "['a', 'b c'] __main__\n3\n3\n3 ['[]', '__main__', '3']\n", done.stderr


def test_a_script_started_with_an_environment_of_few_variables_gets_it_too(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("import paddle.fluid\nprint paddle.fluid.__name__, 7 / 2\n")
    done = fluidio_run(
        tmp_path,
        """
        import os, subprocess, sys
        kept = {name: os.getenv(name, "") for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH")}
        subprocess.call([sys.executable, 'child.py'], env=kept)
        """,
    )
    assert done.stdout == "fluidio 3\n", done.stderr


def test_a_forked_worker_and_a_command_line_get_it_too(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(
        "import numpy as np\ndef one():\n    return float(np.ones((1, 1))), np.int(2)\n"
    )
    done = fluidio_run(
        tmp_path,
        """
        import multiprocessing, subprocess, sys
        def work(queue):
            import helper
            queue.put(helper.one())
        queue = multiprocessing.get_context('fork').Queue()
        process = multiprocessing.get_context('fork').Process(target=work, args=(queue,))
        process.start()
        print(queue.get())
        process.join()
        subprocess.call([sys.executable, '-c', 'import helper; print(helper.one())'])
        """,
    )
    assert done.stdout == "(1.0, 2)\n(1.0, 2)\n", done.stderr


def test_the_era_of_a_script_without_signs_is_the_last(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import paddle.fluid as fluid\nprint(fluid.era.era().name)\n")
    assert done.stdout == "1.8\n", done.stderr
    assert "following Fluid 1.8 (it shows no sign of an older one; --fluid VERSION chooses)" in done.stderr


def test_the_era_of_recordio_is_named_with_its_line(tmp_path: Path) -> None:
    text = "import paddle.fluid as fluid\nimport paddle.fluid.recordio_writer as w\nprint(fluid.era.era().name)\n"
    done = fluidio_run(tmp_path, text)
    assert done.stdout == "1.5\n", done.stderr
    assert "train.py:2: fluid.recordio_writer" in done.stderr


def test_numbers_print_as_numbers(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import numpy as np\nprint([np.float32(0.5), np.int64(2)])\n")
    assert done.stdout == "[0.5, 2]\n", done.stderr


def test_an_error_in_rewritten_code_points_to_the_users_line(tmp_path: Path) -> None:
    done = fluidio_run(tmp_path, "import numpy as np\nx = np.int(3)\ny = float(x) / (7 - np.int(7))\n")
    assert 'train.py", line 3, in <module>' in done.stderr
    assert "ZeroDivisionError" in done.stderr and "^" not in done.stderr


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_worker_that_starts_afresh_loads_the_script_through_it_too(tmp_path: Path, method: str) -> None:
    done = fluidio_run(
        tmp_path,
        f"""
        import multiprocessing
        import numpy as np
        def work(queue):
            queue.put([float(np.ones((1, 1))), np.int(2), (np.ones(1, 'float32') * np.float64(2)).dtype.name])
        if __name__ == '__main__':
            context = multiprocessing.get_context({method!r})
            queue = context.Queue()
            process = context.Process(target=work, args=(queue,))
            process.start()
            print(queue.get())
            process.join()
        """,
    )
    assert done.stdout == "[1.0, 2, 'float32']\n", done.stderr
