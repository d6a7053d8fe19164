"""marey run: programs that are recorded, and behave as they do without."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import marey
from marey import _run

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="torch is not installed")


class Runner:
    """Runs programs in a folder of their own."""

    def __init__(self, command: Path, folder: Path) -> None:
        self.command = command
        self.folder = folder
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(Path(marey.__file__).parent.parent),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for name in ("RANK", "WORLD_SIZE"):
            self.environment.pop(name, None)

    def write(self, name: str, code: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
        return path

    def plain(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=300, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip

    def __call__(self, *words: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        return self.plain(str(self.command), "run", *options, "--", *words)

    def script(
        self, code: str, *words: str, options: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        self.write("script.py", code)
        return self(sys.executable, "script.py", *words, options=options)

    def traces(self) -> list[str]:
        """Names of the files, without process numbers."""
        return sorted(re.sub(r"-\d{2,}", "-PID", path.name) for path in self.folder.glob("*.json*"))

    def names(self) -> list[str | None]:
        """What the one trace has recorded."""
        (path,) = self.folder.glob("*.json*")
        return [event.name for event in marey.load(path).events() if event.kind != "window"]


@pytest.fixture
def run(command: Path, tmp_path: Path) -> Runner:
    return Runner(command, tmp_path)


MARKED = """
import marey, os, signal, sys, time
with marey.record_function("marked"):
    pass
"""

# ---- programs end as they do ----------------------------------------------------------------------------


def test_a_script_is_recorded(run: Runner) -> None:
    done = run.script(MARKED + "print(sys.argv, __name__, __file__, os.getpid())", "-o", "x")
    words, pid = done.stdout.rsplit(" ", 1)
    assert words == f"['script.py', '-o', 'x'] __main__ {run.folder}/script.py"
    assert done.returncode == 0
    assert run.names() == ["marked"]
    assert "marked" in done.stderr
    assert done.stderr.endswith(f"marey: wrote 'marey-script-{pid.strip()}.json.gz'\n")


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("sys.exit(7)", 7),
        ("sys.exit('words')", 1),
        ("raise KeyError('gone')", 1),
        # It may be ignored here: a job in the background.
        ("signal.signal(signal.SIGINT, signal.default_int_handler)\n"
         "os.kill(os.getpid(), signal.SIGINT); time.sleep(10)", -signal.SIGINT),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", -signal.SIGTERM),
        # It may be ignored here: nohup.
        ("signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
         "os.kill(os.getpid(), signal.SIGHUP); time.sleep(10)", -signal.SIGHUP),
        ("signal.raise_signal(signal.SIGTERM); os._exit(0)", -signal.SIGTERM),  # no step further
        ("class Odd:\n"
         "    __eq__ = lambda self, other: 1 / 0\n"
         "    __call__ = lambda self, *_: sys.exit(9)\n"
         "signal.signal(signal.SIGTERM, Odd()); os.kill(os.getpid(), signal.SIGTERM)", 9),
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n"
         "os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", 9),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
         "os.kill(os.getpid(), signal.SIGTERM); sys.exit(8)", 8),
        ("former = signal.signal(signal.SIGTERM, print)\n"
         "assert signal.signal(signal.SIGTERM, former) is print\n"
         "os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", -signal.SIGTERM),
        ("def again(*_):\n"
         "    signal.signal(signal.SIGTERM, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGTERM)\n"
         "signal.signal(signal.SIGTERM, again)\n"
         "os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", -signal.SIGTERM),
        ("import asyncio\n"
         "async def main():\n"
         "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)\n"
         "asyncio.run(main())\n"
         "os.kill(os.getpid(), signal.SIGTERM); time.sleep(10)", -signal.SIGTERM),
        ("import threading; threading.Thread(target=lambda: time.sleep(0.1)).start()", 0),
        ("import atexit; atexit.register(marey.mark, 'late')", 0),
        ("os.close(2)", 0),
        ("sys.stderr = sys.stdout = None", 0),
        ("os.chdir('/')", 0),
        pytest.param("if os.fork() == 0: sys.exit(3)\nassert os.wait()[1] == 3 << 8", 0,
                     marks=pytest.mark.forks),
    ],
)  # fmt: skip
def test_the_trace_is_whole_and_the_end_the_same(run: Runner, end: str, status: int) -> None:
    done = run.script(MARKED + end)
    assert done.returncode == status
    assert done.stdout == ""
    assert run.names() == ["marked"]
    assert run.plain(sys.executable, "script.py").returncode == status


@pytest.mark.parametrize("code", [MARKED + "os._exit(4)", "from os import _exit; _exit(status=4)"])
def test_what_ends_at_once_leaves_no_trace(run: Runner, code: str) -> None:
    done = run.script(code)
    assert done.returncode == 4
    assert done.stderr == "marey: 'script' leaves by os._exit, and there is no trace of it\n"
    assert run.traces() == []


def test_a_termination_without_a_record_is_told(run: Runner) -> None:
    done = run.script("import os, time; os.kill(os.getpid(), 15); time.sleep(10)")
    assert done.returncode == -signal.SIGTERM
    assert done.stderr == (
        "marey: terminated, 'script' recorded nothing itself, and there is no trace of it\n"
    )
    assert run.traces() == []


@pytest.mark.parametrize("end", ["os._exit(0)", "os.kill(os.getpid(), 15); time.sleep(10)"])
def test_of_further_processes_only_a_loss_is_told(run: Runner, end: str) -> None:
    run.write("child.py", "import os, time\n" + end)
    run.write("marked.py", MARKED + end)
    code = "import subprocess, sys; subprocess.run([sys.executable, sys.argv[1]])"
    assert run.script(MARKED + code, "child.py").stderr.count("no trace of it") == 0
    n_lost = run.script(MARKED + code, "marked.py").stderr.count("no trace of it")
    assert n_lost == ("_exit" in end)


@pytest.mark.forks
def test_a_fork_leaves_in_silence(run: Runner) -> None:
    done = run.script(MARKED + "if os.fork() == 0: os._exit(3)\nassert os.wait()[1] == 3 << 8")
    assert done.returncode == 0
    assert "_exit" not in done.stderr


def test_python_sees_the_usual_signals(run: Runner) -> None:
    code = """
print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
print(signal.signal(signal.SIGTERM, signal.SIG_DFL) is signal.SIG_DFL)
print(signal.signal(signal.SIGTERM, print) is signal.SIG_DFL, signal.signal(15, signal.SIG_IGN) is print)
print(signal.signal(signal.SIGTERM, signal.SIG_DFL) is signal.SIG_IGN)
try:
    signal.signal(1000, signal.SIG_DFL)
except ValueError as error:
    print(error)
"""
    done = run.script(MARKED + code)
    assert done.stdout == "True\nTrue\nTrue True\nTrue\nsignal number out of range\n"
    assert run.plain(sys.executable, "script.py").stdout == done.stdout


@pytest.mark.parametrize("end", ["", "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)"])
def test_a_terminated_program_has_the_same_table(run: Runner, end: str) -> None:
    """But for the times in it."""
    code = "import marey, os, signal, time\nmarey.mark('m')\n" + "".join(
        f"with marey.record_function('r{i}'): pass\n" for i in range(5))  # fmt: skip
    options = ("--sort=name", "-n2")
    done = run.script(code + end, options=options)
    table, _, place = done.stderr.rstrip("\n").rpartition("\n")
    assert place.startswith("marey: terminated, wrote '" if end else "marey: wrote '")
    assert run.traces() == ["marey-script-PID.json.gz"]
    lines = table.splitlines()
    assert "script" in lines
    assert [line.split()[0] for line in lines if re.match(r"\s*r\d ", line)] == ["r0", "r1"]
    assert "terminated" not in table
    assert "r0" not in run.script(code + end, options=("--no-table",)).stderr


def test_a_program_that_hangs_in_c_is_terminated(run: Runner) -> None:
    code = MARKED + """
import ctypes
c, semaphore = ctypes.PyDLL(None), ctypes.create_string_buffer(64)
c.sem_init(semaphore, 0, 0)
print("ready", flush=True)
c.sem_wait(semaphore)
"""
    run.write("script.py", code)
    process = subprocess.Popen(
        [run.command, "run", "--", sys.executable, "script.py"],
        cwd=run.folder, env=run.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert time.monotonic() - begin < 30
    assert process.returncode == -signal.SIGTERM
    assert "marey: terminated, wrote" in said
    assert run.names() == ["marked"]


def test_a_file_that_gets_the_number_of_standard_error_stays_the_programs(run: Runner) -> None:
    done = run.script(MARKED + """
os.close(2)
assert os.open("data.out", os.O_CREAT | os.O_WRONLY) == 2
os.write(2, b"DATA")
""")
    assert done.returncode == 0
    assert (run.folder / "data.out").read_text() == "DATA"
    assert "marey: wrote" in done.stderr


def test_a_program_may_close_all_descriptors(run: Runner) -> None:
    done = run.script(MARKED + """
os.closerange(0, 256)
for number in range(256):
    os.open("data.out", os.O_CREAT | os.O_WRONLY)
""")
    assert done.returncode == 0
    assert (run.folder / "data.out").read_text() == ""
    assert run.names() == ["marked"]


def test_a_trace_that_cannot_be_written_goes_elsewhere(run: Runner, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    run.environment["TMPDIR"] = str(elsewhere)
    (run.folder / "gone").mkdir()
    done = run.script(MARKED + "os.rmdir('gone')", options=("-o", "gone/trace.json"))
    assert done.returncode == 0
    assert "marey: cannot write '" in done.stderr
    (path,) = elsewhere.glob("marey-script-*.json.gz")
    assert f"marey: wrote '{path.relative_to(run.folder)}'" in done.stderr
    assert marey.load(path).events()[0].name == "marked"


@pytest.mark.forks
def test_a_forked_child_is_terminated(run: Runner) -> None:
    done = run.script(MARKED + """
pid = os.fork()
if pid == 0:
    time.sleep(60)
os.kill(pid, signal.SIGTERM)
assert os.waitpid(pid, 0)[1] == signal.SIGTERM
""")
    assert done.returncode == 0
    assert run.names() == ["marked"]


# ---- kinds of programs -------------------------------------------------------------------------------------


def test_modules_and_commands(run: Runner) -> None:
    run.write("package/__init__.py", "")
    run.write("package/__main__.py", MARKED + "print(__spec__.name, sys.argv[1:])")
    run.write("package/part.py", MARKED + "print(__spec__.name, sys.argv[1:])")
    assert run(sys.executable, "-m", "package", "-x").stdout == "package.__main__ ['-x']\n"
    assert run(sys.executable, "-m", "package.part").stdout == "package.part []\n"
    assert run(sys.executable, "-c", MARKED).returncode == 0
    assert set(run.traces()) >= {
        "marey-c-PID.json.gz", "marey-package-PID.json.gz", "marey-part-PID.json.gz",
    }  # fmt: skip


def test_a_folder_with_a_main(run: Runner) -> None:
    run.write("package/__main__.py", MARKED + "print(sys.argv)")
    done = run.plain(str(run.command), "run", "package", "x")
    assert (done.returncode, done.stdout) == (0, "['package', 'x']\n")
    assert run.traces() == ["marey-package-PID.json.gz"]


def test_a_console_script(run: Runner) -> None:
    tool = run.write("tool", f"#!{sys.executable}\n{MARKED}print(sys.argv)")
    tool.chmod(0o755)
    assert run("./tool", "x").stdout == "['./tool', 'x']\n"
    assert run.traces() == ["marey-tool-PID.json.gz"]


def test_what_a_shell_starts_is_recorded(run: Runner) -> None:
    run.write("one.py", MARKED)
    run.write("two.py", MARKED)
    python = sys.executable
    assert run("sh", "-c", f"{python} one.py; {python} two.py; exit 5").returncode == 5
    assert run.traces() == ["marey-one-PID.json.gz", "marey-two-PID.json.gz"]


def test_python_runs_marey_run(run: Runner) -> None:
    run.write("script.py", MARKED)
    done = run.plain(sys.executable, "-m", "marey", "run", "script.py")
    assert done.returncode == 0
    assert run.traces() == ["marey-script-PID.json.gz"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python"], "python"),
        (["python", "-"], "python"),
        (["python", "-u", "-W", "ignore", "-Xdev", "a/train.py", "b.py"], "train"),
        (["python", "-uc", "code"], "c"),
        (["python", "-m", "package.__main__"], "package"),
        (["python", "-Bmpackage.part"], "part"),
        (["python", "package/__main__.py"], "package"),
        (["python", "--check-hash-based-pycs", "never", "x"], "x"),
    ],
)
def test_the_name_of_a_program(words: list[str], name: str) -> None:
    assert _run._script_name(words) == name


def test_a_module_is_named_in_full(run: Runner) -> None:
    (run.folder / "package").mkdir()
    run.write("package/run.py", "")
    done = run(sys.executable, "-m", "package.run")
    assert done.stderr.startswith("marey: 'package.run' recorded nothing itself")
    run.write("package/run.py", MARKED)
    done = run(sys.executable, "-m", "package.run")
    assert "package.run" in done.stderr.splitlines()
    assert run.traces() == ["marey-run-PID.json.gz"]


def test_nothing_recorded_is_told(run: Runner) -> None:
    done = run.script("")
    assert (done.returncode, done.stdout) == (0, "")
    assert "recorded nothing itself" in done.stderr
    assert run.traces() == []


# ---- customisation of the site ------------------------------------------------------------------------------------


def test_the_programs_own_customisation_stays(run: Runner) -> None:
    run.write("site/sitecustomize.py", "print('own', __name__, __file__)")
    run.environment["PYTHONPATH"] += f":{run.folder}/site"
    code = MARKED + "import sitecustomize; print(sitecustomize.__file__, sys.path[1:])"
    done = run.script(code)
    assert done.stdout == run.plain(sys.executable, "script.py").stdout
    assert done.stdout.startswith("own sitecustomize")
    assert run.names() == ["marked"]


def test_without_a_customisation_there_is_none(run: Runner) -> None:
    code = MARKED + """
try:
    import sitecustomize
    print(sitecustomize.__file__)
except ImportError as error:
    print(error)
print(sys.path[1:], sorted(sys.path_importer_cache))
"""
    done = run.script(code)
    assert done.stdout == run.plain(sys.executable, "script.py").stdout


def test_an_error_in_a_customisation_is_told_as_ever(run: Runner) -> None:
    run.write("site/sitecustomize.py", "1 / 0")
    run.environment["PYTHONPATH"] += f":{run.folder}/site"
    done = run.script(MARKED)
    assert done.stderr.startswith("Error in sitecustomize; set PYTHONVERBOSE for traceback:\nZero")
    assert run.names() == ["marked"]


def test_the_program_finds_its_own_modules(run: Runner) -> None:
    """Also those that are called as modules of the standard library that Marey uses."""
    for name in ("dataclasses", "inspect", "json", "re", "signal", "typing", "warnings"):
        run.write(f"{name}.py", "OWN = True")
    done = run.script("""
import sys
loaded = set(sys.modules)
import dataclasses, json, marey, signal, typing
assert dataclasses.OWN and json.OWN and signal.OWN and typing.OWN
with marey.record_function("marked"):
    print(*loaded)
""")
    assert (done.returncode, run.names()) == (0, ["marked"]), done.stderr
    plain = run.plain(sys.executable, "script.py")
    ours = {name for name in done.stdout.split() if name.partition(".")[0] != "marey"}
    assert ours - set(plain.stdout.split()) <= {"__future__", "atexit"}


# ---- files ---------------------------------------------------------------------------------------------------------


def test_the_trace_goes_where_it_is_asked_to(run: Runner) -> None:
    assert run.script(MARKED, options=("-o", "own.json")).returncode == 0
    assert run.traces() == ["own.json"]
    done = run.script(MARKED, options=("-o", "own.json"))
    assert done.returncode == 3
    assert "use --force to overwrite it" in done.stderr
    (run.folder / "own.json").write_text("old")
    assert run.script(MARKED, options=("-o", "own.json", "--force")).returncode == 0
    assert run.names() == ["marked"]
    (run.folder / "folder").mkdir()
    assert run.script(MARKED, options=("-o", "folder")).returncode == 0
    assert len(list((run.folder / "folder").glob("marey-script-*.json.gz"))) == 1


@pytest.mark.parametrize("name", ["new/", "folder/new//"])
def test_a_folder_is_made_if_its_name_says_that_it_is_one(run: Runner, name: str) -> None:
    (run.folder / "folder").mkdir()
    for _ in range(2):
        assert run.script(MARKED, options=("-o", name)).returncode == 0
    assert len(list((run.folder / name).glob("marey-script-*.json.gz"))) == 2


def test_a_folder_is_not_made_in_vain(run: Runner) -> None:
    done = run("no-such-program", options=("-o", "new/"))
    assert (done.returncode, list(run.folder.iterdir())) == (3, [])
    done = run.script(MARKED, options=("-o", "not/there/"))
    assert done.returncode == 3
    assert done.stderr.startswith("marey: cannot write to 'not': no such file")
    done = run.script(MARKED, options=("-o", "script.py/"))
    assert done.returncode == 3
    assert done.stderr.startswith("marey: cannot make the folder 'script.py/': ")


def test_a_file_that_appears_meanwhile_is_kept(run: Runner) -> None:
    done = run.script(MARKED + "open('own.json', 'w').write('theirs')", options=("-o", "own.json"))
    assert done.returncode == 0
    assert (run.folder / "own.json").read_text() == "theirs"
    assert run.traces() == ["own-2.json", "own.json"]


def test_a_trace_that_cannot_be_written_is_told(run: Runner) -> None:
    code = MARKED + "os.mkdir('gone'); os.rmdir('gone'); os.rmdir('folder'); sys.exit(6)"
    (run.folder / "folder").mkdir()
    run.environment["TMPDIR"] = str(run.folder / "nowhere")
    done = run.script(code, options=("-o", "folder/x.json"))
    assert done.returncode == 6
    assert "marey: cannot write the trace of 'script'" in done.stderr


def test_a_gpu_in_use_is_told(run: Runner) -> None:
    code = """
import types
sys.modules["torch.cuda"] = types.SimpleNamespace(is_initialized=lambda: True)
"""
    assert "uses a GPU, whose kernels and copies cannot" in run.script(MARKED + code).stderr
    assert "GPU" not in run.script(MARKED).stderr


def test_the_table_is_as_asked(run: Runner) -> None:
    code = MARKED + "marey.record_function('a').__enter__(); time.sleep(0.01)"
    assert "1 row not shown" in run.script(code, options=("-n", "1")).stderr
    quiet = run.script(code, options=("--no-table",)).stderr
    assert quiet.count("\n") == 1
    refused = run.script(code, options=("--sort", "nothing"))
    assert refused.returncode == 2
    assert "'nothing' is no key of the table, use one of torch's" in refused.stderr
    assert "device_operations, shapes, stack\n" in refused.stderr


# ---- other processes ------------------------------------------------------------------------------------------------


SPAWN = """
import multiprocessing, os, sys, marey
def work(rank):
    if rank is not None:
        os.environ["RANK"] = str(rank)
    with marey.record_function("in child"):
        pass
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    children = [context.Process(target=work, args=(rank,)) for rank in (0, 1)]
    for child in children:
        child.start()
    for child in children:
        child.join()
        assert child.exitcode == 0
    marey.mark("end")
"""


def test_spawned_ranks_have_files(run: Runner) -> None:
    done = run.script(SPAWN, "spawn")
    assert done.returncode == 0
    assert run.traces() == [
        "marey-script-PID-rank0.json.gz", "marey-script-PID-rank1.json.gz",
        "marey-script-PID.json.gz",
    ]  # fmt: skip
    assert "script, rank 0\n" in done.stderr
    assert "script, rank 1\n" not in done.stderr


@pytest.mark.parametrize("method", [pytest.param("fork", marks=pytest.mark.forks), "forkserver"])
def test_forked_children_are_left_alone(run: Runner, method: str) -> None:
    assert run.script(SPAWN, method).returncode == 0
    assert run.traces() == ["marey-script-PID.json.gz"]


def test_a_program_may_use_marey_itself(run: Runner) -> None:
    done = run.script(MARKED + """
with marey.profile() as prof:
    marey.mark("x")
    with marey.record_function("inside"):
        pass
print([event.name for event in prof.events()])
""")
    assert done.stdout == "['inside']\n"
    assert run.names() == ["marked", "inside"]


def test_a_run_in_a_run(run: Runner) -> None:
    run.write("inner.py", MARKED)
    code = MARKED + f"""
import subprocess
command = [{str(run.command)!r}, "run", "--no-table", "--", sys.executable, "inner.py"]
sys.exit(subprocess.run(command).returncode)
"""
    assert run.script(code).returncode == 0
    assert run.traces() == ["marey-inner-PID.json.gz", "marey-script-PID.json.gz"]


# ---- torch ---------------------------------------------------------------------------------------------------------------


@needs_torch
def test_torch_is_recorded_from_its_import_on(run: Runner) -> None:
    done = run.script("""
import sys
assert "torch" not in sys.modules
import torch
assert torch.__spec__.loader is torch.__loader__
assert type(torch.__loader__).__name__ == "SourceFileLoader"
network = torch.nn.Linear(3, 4)
with torch.profiler.record_function("forward"):
    network(torch.ones(2, 3)).sum().backward()
""", options=("--record-shapes",))
    assert done.returncode == 0, done.stderr
    names = run.names()
    for name in ("forward", "aten::linear", "AddmmBackward0", "aten::uniform_"):
        assert name in names
    (path,) = run.folder.glob("*.json.gz")
    linear = next(e for e in marey.load(path).events() if e.name == "aten::linear")
    assert linear.input_shapes == [[2, 3], [4, 3], [4]]


@needs_torch
@pytest.mark.parametrize("end", ["", "import os, time; os.kill(os.getpid(), 15); time.sleep(10)"])
def test_a_trace_says_which_torch_it_is_of(run: Runner, end: str) -> None:
    run.script("import torch; print(torch.__version__); torch.ones(3)\n" + end)
    (path,) = run.folder.glob("*.json.gz")
    trace = marey.load(path)
    version = run.plain(sys.executable, "-c", "import torch; print(torch.__version__)").stdout.strip()
    assert trace.metadata["marey"]["torch"] == version
    assert trace.view(compat="torch").options.version == ".".join(version.split(".")[:2])


def test_without_torch_a_trace_says_nothing_of_it(run: Runner) -> None:
    run.script(MARKED)
    (path,) = run.folder.glob("*.json.gz")
    assert "torch" not in marey.load(path).metadata["marey"]


@needs_torch
def test_torchs_own_profiler_works_inside(run: Runner) -> None:
    done = run.script("""
import torch
from torch.profiler import ProfilerActivity, profile
torch.ones(3).add(1)
with profile(activities=[ProfilerActivity.CPU]) as prof:
    torch.ones(3).mul(2)
print(sorted(event.key for event in prof.key_averages() if event.key in ("aten::add", "aten::mul")))
""")
    assert done.stdout == "['aten::mul']\n", done.stderr
    assert {"aten::add", "aten::mul"} <= set(run.names())


@needs_torch
def test_every_rank_of_torchrun_has_a_file(run: Runner) -> None:
    run.write("ranks.py", """
import torch, torch.distributed as dist
dist.init_process_group("gloo")
kept = torch.ones(3)  # for torch 2.4 waits with the GIL for the thread that would free it
dist.all_reduce(kept)
dist.destroy_process_group()
""")
    done = run(sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
               "--master-port", "0", "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0",
               "ranks.py")  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert run.traces() == ["marey-ranks-PID-rank0.json.gz", "marey-ranks-PID-rank1.json.gz"]
    for path in run.folder.glob("*.json.gz"):
        (source,) = marey.load(path).sources
        assert f"rank{source.rank}." in path.name
        assert source.world_size == 2
