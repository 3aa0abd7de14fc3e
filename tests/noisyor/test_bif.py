import re

import numpy as np
import pytest

from latentia import LatentiaError
from latentia.noisyor._bif import write_bif
from latentia.noisyor.inference import Network, posteriors

CAUSES = ["Flu (type A)", "flu_type_a", "portable5", "table", "Grippe é"]
FINDINGS = ["fever > 38", "5 days", "variable", "vegetables|stablee", "", "Flu"]


@pytest.fixture
def network():
    rng = np.random.default_rng(0)
    weights = np.where(rng.random((5, 6)) < 0.6, rng.uniform(0.1, 3, (5, 6)), 0)
    weights[:, 4] = 0
    weights[2, 0] = 1e-7
    return Network(weights, rng.uniform(0.05, 0.4, 5), np.array([0.01, 0.0, 0.2, 1e-9, 0.3, 0.05]))


def test_plain_text(network, tmp_path):
    path = write_bif(tmp_path / "net.bif", network, CAUSES, FINDINGS)
    text = path.read_text()
    names = re.findall(r"^variable (\w+) \{$", text, re.MULTILINE)
    assert len(names) == 11
    assert len({name.lower() for name in names}) == 11
    assert names[:2] == ["Flu_type_A", "flu_type_a_2"]
    assert all(re.fullmatch(r"[A-Za-z]\w*", name) for name in names)
    assert text.count("{ absent, present };") == 11
    table = re.search(rf"probability \( {names[5]} \| ([^)]*) \) \{{\n(.*?)\n\}}", text, re.DOTALL)
    parents = np.flatnonzero(network.weights[:, 0])
    assert table[1].split(", ") == [names[k] for k in parents]
    lines = table[2].splitlines()
    assert len(lines) == 2 ** len(parents)
    for line in lines:
        states, values = re.fullmatch(r"  \((.*)\) (.*);", line).groups()
        on = np.array([state == "present" for state in states.split(", ")])
        off, fires = map(float, values.split(", "))
        np.testing.assert_allclose(off, (1 - 0.01) * np.exp(-network.weights[parents[on], 0].sum()), rtol=1e-12)
        np.testing.assert_allclose(off + fires, 1, rtol=1e-12)
    assert list(tmp_path.iterdir()) == [path]


def test_weak_links_are_left_out(network, tmp_path):
    text = write_bif(tmp_path / "net.bif", network, "abcde", "uvwxyz", threshold=0.5).read_text()
    for i, finding in enumerate("uvwxyz"):
        strong = [name for name, w in zip("abcde", network.weights[:, i], strict=True) if -np.expm1(-w) >= 0.5]
        header = f"{finding} | {', '.join(strong)}" if strong else finding
        assert f"probability ( {header} ) {{" in text


def test_large_tables_are_refused(tmp_path):
    strength = np.linspace(0.1, 0.9, 14)
    network = Network(-np.log1p(-strength)[:, None], np.full(14, 0.1), np.zeros(1))
    names = [f"d{k}" for k in range(14)]
    with pytest.raises(LatentiaError, match=r"Finding 'cough' has 14 causes .* Use a threshold above 0.1615"):
        write_bif(tmp_path / "net.bif", network, names, ["cough"], threshold=0.0)
    assert not list(tmp_path.iterdir())
    write_bif(tmp_path / "net.bif", network, names, ["cough"], threshold=0.162)


def test_what_cannot_be_written(network, tmp_path):
    with pytest.raises(LatentiaError, match="cause_names has 2 names; expected 5"):
        write_bif(tmp_path / "net.bif", network, "ab", FINDINGS)
    with pytest.raises(LatentiaError, match="threshold=2"):
        write_bif(tmp_path / "net.bif", network, CAUSES, FINDINGS, threshold=2)
    with pytest.raises(LatentiaError, match="cannot be written"):
        write_bif(tmp_path / "missing" / "net.bif", network, CAUSES, FINDINGS)


def test_pgmpy_reads_it(network, tmp_path):
    readwrite = pytest.importorskip("pgmpy.readwrite")
    inference = pytest.importorskip("pgmpy.inference")
    path = write_bif(tmp_path / "net.bif", network, CAUSES, FINDINGS)
    reader = readwrite.BIFReader(str(path))
    names, model = reader.variable_names, reader.get_model()
    assert model.check_model()
    for k in range(5):
        np.testing.assert_array_equal(
            reader.variable_cpds[names[k]].ravel(), [1 - network.priors[k], network.priors[k]]
        )
    for i in range(6):
        parents = np.flatnonzero(network.weights[:, i])
        assert reader.variable_parents[names[5 + i]] == [names[k] for k in parents]
        on = np.arange(2 ** len(parents))[:, None] >> np.arange(len(parents))[::-1] & 1
        off = (1 - network.leak[i]) * np.exp(-(on @ network.weights[parents, i]))
        np.testing.assert_array_equal(reader.variable_cpds[names[5 + i]][0], off)
    row, observed = np.array([1, 0, 1, 0, 0, 1]), np.array([1, 1, 1, 0, 1, 1])
    evidence = {names[5 + i]: ["absent", "present"][row[i]] for i in range(6) if observed[i]}
    eliminate = inference.VariableElimination(model)
    found = [eliminate.query([names[k]], evidence, show_progress=False).values[1] for k in range(5)]
    np.testing.assert_allclose(posteriors(network, [row], [observed]).probabilities[0], found, rtol=1e-10)
