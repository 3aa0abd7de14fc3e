"""Claim: on two real tables the model of rich component analysis is not what the tables need, and simpler methods do better.

    python benchmarks/contrastive_real_data.py [--quick] [--only mice|labs] [--data DIR]

Mice: protein expression in the cortex of mice (Higuera, Gardiner and Cios 2015; DIR/mice_protein, or LATENTIA_DATA), the
example of contrastive PCA (Abid et al. 2018). Target: 270 rows of mice with saline that learned in the context of a shock
(C/S), with and without Down syndrome; background: the 135 rows of control mice with saline that did not (S/C); and the
other way round. The question is whether two dimensions tell the genotypes apart: silhouette of the two, and adjusted Rand
index of two-means (20 starts) with them. Proteins are standardised over target and background, missing values are the means of
columns. Contrastive PCA has the leading eigenvectors of C_target - alpha C_background; 40 alphas from .1 to 1000, the best in
hindsight and the three that its own rule proposes (medoids of a spectral clustering of the planes, by the product of the
cosines of their angles). The model here is of two tables of the same rows, so that the background can enter in two ways: not at
all, with U and V the leading 5 components each of two random halves of the proteins (means of 20 halvings); or by V, the
target's coordinates on the 5 leading components of the background, with U the 5 leading ones of what is left. A mouse has 15
rows.

Labs: the simulation of Ge and Zou 2015, section 5, on scikit-learn's breast cancer table in place of theirs: 569 rows, S1 the
ten standard errors, S3 the ten means, columns standardised; rows come from two labs at random, each of which adds a constant
vector, N(0, 1), so that S2 has one dimension. The truth are the coefficients of the logistic regression on S1, with real labels
or with drawn ones (a random unit vector); errors are squared distances over their squared norm, of ten draws, so that
coefficients of zero have 1. ``two-means centring`` finds the labs by two-means on U and V and centres each.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _common import DATA, report
from _contrastive import FIRST_SEED
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from latentia.contrastive import ContrastiveLogisticRegression, ContrastivePCA

KEPT = 5
ALPHAS = np.logspace(-1, 3, 40)
PROPOSED = 3


# --- mice -------------------------------------------------------------------------------------------------------


def mice(folder: Path, target: str, background: str, halvings: int) -> list[dict[str, Any]]:
    rows, others, genotype = tables(folder, target, background)
    out: list[dict[str, Any]] = []

    def add(method: str, scores: list[dict[str, float]], **more: Any) -> None:
        means = {key: float(np.mean([one[key] for one in scores])) for key in scores[0]}
        out.append({"data": f"mice, target {target}", "method": method, **means, **more})

    add("PCA", [score(PCA(2).fit_transform(rows), genotype)])
    planes = [plane(rows, others, alpha) for alpha in ALPHAS]
    scores = [score(rows @ one, genotype) for one in planes]
    for key in ("silhouette", "rand"):
        best = int(np.argmax([one[key] for one in scores]))
        add(f"contrastive PCA, best {key}", [scores[best]], alpha=ALPHAS[best])
    for i in proposed(planes):
        add("contrastive PCA, proposed", [scores[i]], alpha=ALPHAS[i])
    rng = np.random.default_rng(FIRST_SEED)
    found: dict[str, list[Any]] = {"halves": [], "halves, V covariates": []}
    for _ in range(halvings):
        columns = rng.permutation(rows.shape[1])
        half = len(columns) // 2
        u, v = (PCA(KEPT).fit_transform(rows[:, some]) for some in (columns[:half], columns[half:]))
        ours(found, "halves", u, v, genotype)
    ours(found, "background in V", *views(rows, others), genotype)
    for method, many in found.items():
        add(method, many, grade=counted([one.pop("grade") for one in many]))
    return out


def tables(folder: Path, target: str, background: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of the target and of the background, standardised, and the genotypes of the target."""
    table = pd.read_csv(folder / "Data_Cortex_Nuclear.csv.gz", encoding="utf-8-sig")
    saline = table["Treatment"] == "Saline"
    chosen = [
        table[saline & (table["Behavior"] == target)],
        table[saline & (table["Behavior"] == background) & (table["Genotype"] == "Control")],
    ]
    proteins = [name for name in table.columns if name.endswith("_N")]
    values = pd.concat(chosen)[proteins].to_numpy(dtype=float)
    values = StandardScaler().fit_transform(np.where(np.isnan(values), np.nanmean(values, axis=0), values))
    n = len(chosen[0])
    rows, others = values[:n], values[n:]
    return rows - rows.mean(axis=0), others - others.mean(axis=0), (chosen[0]["Genotype"] == "Control").to_numpy()


def score(points: np.ndarray, genotype: np.ndarray) -> dict[str, float]:
    """Of the first two dimensions."""
    found = KMeans(2, n_init=20, random_state=0).fit_predict(points[:, :2])
    return {
        "silhouette": float(silhouette_score(points[:, :2], genotype)),
        "rand": float(adjusted_rand_score(genotype, found)),
    }


def plane(rows: np.ndarray, others: np.ndarray, alpha: float) -> np.ndarray:
    """Abid et al. 2018: two leading eigenvectors of C_target - alpha C_background."""
    return np.linalg.eigh(np.cov(rows.T) - alpha * np.cov(others.T))[1][:, :-3:-1]


def proposed(planes: list[np.ndarray]) -> list[int]:
    """Their choice of alphas: medoids of clusters of the planes, with products of cosines of their angles as affinity."""
    near = np.array([[np.prod(np.linalg.svd(a.T @ b, compute_uv=False)) for b in planes] for a in planes])
    found = SpectralClustering(PROPOSED, affinity="precomputed", random_state=0).fit_predict(np.clip(near, 0, 1))
    members = [np.flatnonzero(found == cluster) for cluster in range(PROPOSED)]
    return sorted(int(some[near[np.ix_(some, some)].sum(axis=0).argmax()]) for some in members)


def views(rows: np.ndarray, others: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """U and V from the target: V along the background's leading directions, U the leading ones of the rest."""
    frame = np.linalg.svd(others, full_matrices=False)[2][:KEPT].T
    return PCA(KEPT).fit_transform(rows - rows @ frame @ frame.T), rows @ frame


def ours(found: dict[str, list[Any]], name: str, u: np.ndarray, v: np.ndarray, genotype: np.ndarray) -> None:
    """Scores of `ContrastivePCA` and of the principal components of the residuals of U on V."""
    model = ContrastivePCA(2).fit(u, v)
    found.setdefault(name, []).append(score(model.transform(u, v), genotype) | {"grade": model.evidence_.grade})
    left = u - v @ np.linalg.lstsq(v, u, rcond=None)[0]
    covariates = found.setdefault(f"{name}, V covariates", [])
    covariates.append(score(PCA(2).fit_transform(left), genotype) | {"grade": ""})


# --- labs -------------------------------------------------------------------------------------------------------


def labs(labels: str, seeds: int) -> list[dict[str, Any]]:
    table, classes = load_breast_cancer(return_X_y=True)
    table = StandardScaler().fit_transform(table)
    own, other = table[:, 10:20], table[:, :10]
    errors: dict[str, list[float]] = {}
    grades: dict[str, list[str]] = {}
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        rng = np.random.default_rng(seed)
        lab, bias = rng.integers(2, size=len(table)), rng.standard_normal((2, 20))
        u, v, y = own + bias[lab, :10], other + bias[lab, 10:], classes
        if labels == "drawn":
            beta = rng.standard_normal(10)
            y = (rng.random(len(table)) < 1 / (1 + np.exp(-own @ beta / np.linalg.norm(beta)))).astype(int)
        truth = coefficients(own, y)
        models = {
            name: ContrastiveLogisticRegression(n_shared=n_shared).fit(u, v, y)
            for name, n_shared in (("default", None), ("default, n_shared=1", 1))
        }
        for name, found in {
            "naive": coefficients(u, y), "V covariates": coefficients(np.hstack([u, v]), y),
            "two-means centring": coefficients(centred(u, v), y), **{name: one.coef_[0] for name, one in models.items()},
        }.items():  # fmt: skip
            errors.setdefault(name, []).append(float(((found - truth) ** 2).sum() / (truth**2).sum()))
        for name, model in models.items():
            grades.setdefault(name, []).append(model.evidence_.grade)
    row = {"data": f"labs, {labels} labels"}
    return [
        {**row, "method": name, "error": np.mean(values), "median": np.median(values), "worst": max(values)}
        | {"grade": counted(grades.get(name, []))}
        for name, values in errors.items()
    ]


def counted(grades: list[str]) -> str:
    """How often each was given."""
    return ", ".join(f"{grade}: {many}" for grade, many in sorted(Counter(grades).items()) if grade)


def coefficients(rows: np.ndarray, y: np.ndarray) -> np.ndarray:
    return LogisticRegression(C=np.inf, max_iter=5000).fit(rows, y).coef_[0, :10]


def centred(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    lab = KMeans(2, n_init=10, random_state=0).fit_predict(np.hstack([u, v]))
    return u - np.array([u[lab == k].mean(axis=0) for k in (0, 1)])[lab]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 halvings and 3 draws")
    parser.add_argument("--only", choices=["mice", "labs"])
    parser.add_argument("--data", type=Path, default=DATA, help="folder with mice_protein")
    options = parser.parse_args()
    few, rows, facts = options.quick, [], {}
    if options.only != "labs":
        folder = options.data / "mice_protein"
        if folder.exists():
            for target, background in (("C/S", "S/C"), ("S/C", "C/S")):
                rows += mice(folder, target, background, 3 if few else 20)
        else:
            facts["mice"] = f"left out: {folder} is not there"
    if options.only != "mice":
        for labels in ("real", "drawn"):
            rows += labs(labels, 3 if few else 10)
    report("contrastive_real_data" + ("_quick" if few else ""), rows, **facts)


if __name__ == "__main__":
    main()
