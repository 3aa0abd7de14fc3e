"""The package: what the wheel and the source archive hold, versions that agree, and commands without optional packages."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import import_module
from pathlib import Path

import pytest
from contract import CASES
from try_package import COMMANDS, readme_code, write_files

import latentia

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
KINDS = {".py", ".html", ".css", ".js", ".gz", ".json", ".typed"}
"""Suffixes of the files of the package: code, templates of reports, the Bible, defaults of options, the mark of types."""
OPTIONAL = (
    "dask", "distributed", "flint", "matplotlib", "networkx", "openpyxl", "pandas", "PIL", "pyarrow", "stopwordsiso",
)  # fmt: skip


# --- files ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """``built(kind)``: names of the files of the wheel or of the source archive, as they would be published."""
    pytest.importorskip("hatchling", reason="building the package needs hatchling")
    folder = tmp_path_factory.mktemp("dist")

    def names(kind):
        command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        if kind == "wheel":
            (path,) = folder.glob("*.whl")
            return zipfile.ZipFile(path).namelist()
        (path,) = folder.glob("*.tar.gz")
        with tarfile.open(path) as archive:
            return [name.partition("/")[2] for name in archive.getnames()]

    return names


def test_the_wheel_holds_the_package_and_nothing_else(built):
    names = built("wheel")
    package = {name for name in names if name.startswith("latentia/")}
    assert "latentia/py.typed" in package
    source = Path(latentia.__file__).parent
    expected = {f"latentia/{path.relative_to(source)}" for path in source.rglob("*") if path.suffix in KINDS}
    assert package == {name.replace("\\", "/") for name in expected}
    described = f"latentia-{latentia.__version__}.dist-info/"
    assert all(name.startswith(described) for name in set(names) - package)
    assert f"{described}licenses/LICENSE" in names


def test_the_source_archive_holds_what_packagers_need(built):
    names = built("sdist")
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml", "tests/conftest.py"} <= set(names)
    stray = r"(^|/)(__pycache__|\.[^/]*|_build|out|dist)/|\.(pyc|log|npz|latentia-cache)$|^benchmarks/results/.*json$"
    assert [name for name in names if re.search(stray, name) and not name.startswith("tests/")] == []
    assert not any("__pycache__" in name or name.endswith(".pyc") for name in names)


# --- what it says of itself -----------------------------------------------------------------------------------------


def test_versions_agree():
    version = latentia.__version__
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(rf"^version: {re.escape(version)}$", citation, re.MULTILINE)
    first = re.search(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE).group(1)
    assert re.fullmatch(rf"{re.escape(version)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", first)
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_all_extras_are_in_all():
    extras = PROJECT["optional-dependencies"]
    assert extras["all"] == [f"latentia[{','.join(name for name in extras if name != 'all')}]"]
    assert {"report", "data", "exact", "dask"} <= set(extras)


def test_the_workflow_tests_the_versions_that_are_promised():
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert PROJECT["requires-python"] == f">={promised[0]}"
    workflow = ROOT / ".github" / "workflows" / "checks.yml"
    if not workflow.exists():
        pytest.skip("the source archive has no workflows")
    text = workflow.read_text("utf-8")
    versions = ", ".join(f'"{version}"' for version in promised)
    assert f"python: [{versions}]" in text
    assert "make oldest" in text


def test_modules_are_attributes_without_being_imported():
    code = (
        "import latentia, sys; assert 'sklearn' not in sys.modules; latentia.save; "
        "print(latentia.mixtures.SphericalGaussianMixture)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "SphericalGaussianMixture" in done.stdout
    for name in latentia.__all__:
        assert getattr(latentia, name) is not None
    assert set(latentia.__all__) <= set(dir(latentia))
    with pytest.raises(AttributeError, match="no attribute 'topic'"):
        latentia.topic  # noqa: B018
    assert import_module("latentia.topics") is latentia.topics


def test_all_documented_modules_and_families_are_public():
    documented = re.findall(r"^\| `latentia\.(\w+)` \|", (ROOT / "docs" / "api.md").read_text("utf-8"), re.MULTILINE)
    families = {type(case.estimator).__module__.split(".")[1] for case in CASES}
    assert {*documented, *families} <= set(latentia.__all__)


# --- without optional packages --------------------------------------------------------------------------------------


def test_the_readme_and_every_command_work_without_optional_packages(tmp_path):
    write_files(tmp_path)
    code = f"""
import sys
class Missing:
    def find_spec(name, *_):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing)
exec(compile({readme_code()!r}, "README.md", "exec"), {{}})
from latentia.cli.commands import app
for name, arguments in {COMMANDS!r}.items():
    app([*arguments, "--out", f"out/{{name}}", "--quiet"], standalone_mode=False)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for name in COMMANDS:
        assert name == "apply" or (tmp_path / "out" / name / "report.html").exists()


def test_what_the_core_lacks_is_said_with_its_extra(tmp_path):
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    code = "import sys; sys.modules['openpyxl'] = None; from latentia.cli import main; main()"
    command = [sys.executable, "-c", code, "mixture", str(tmp_path / "table.xlsx")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install openpyxl" in " ".join(done.stderr.split())
    assert "pip install 'latentia" not in done.stderr  # nothing of that name is published
