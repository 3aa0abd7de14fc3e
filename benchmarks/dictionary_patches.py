"""Claim: on patches of photographs the dictionary codes as well as those of others in the same time, and evidence says partly.

    python benchmarks/dictionary_patches.py [--data DIR] [--patches 4000] [--quick]

Images of DIR/images (or LATENTIA_DATA): six photographs of 512 x 512 pixels or less, values from 0 to 1, patches without their
mean.

*Coding*: m atoms are learned from 4,000 patches of the upper two thirds of all images, and patches of the lower third are
coded with 4 atoms each; ``psnr`` is that of these patches, in dB, means given back. Ours knows k = 4, without error bars; its
CPU seconds are what the other learners have: K-SVD, and scikit-learn's MiniBatchDictionaryLearning with the best of three
penalties in hindsight, each with that time. All dictionaries are used with the same matching pursuit. Then a table of cosines;
the 4 of n principal directions that suit a patch best; and the 4 leading ones. With error bars the evidence is printed.

*Denoising*: sigma = 20 / 255 is added to an image, 256 atoms are learned from 4,000 of its noisy 8 x 8 patches, all patches
are coded until what is left is noise (1.15 sigma an entry), and overlapping patches are averaged with .1 of the noisy image.
--quick: 1,000 patches, two images.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from _common import DATA, report, timed
from _dictionary import coded, coded_up_to, cosines, ksvd, minibatches, psnr, some_rows
from threadpoolctl import threadpool_limits

from latentia.datasets import image_from_patches, image_patches, read_image
from latentia.dictionary import IncoherentDictionary

K = 4
CODED = ((8, 128), (12, 256))  # size of patches, atoms
DENOISED = ("camera", "coins")
PENALTIES = (0.2, 0.4, 0.8)  # over the mean length of a row
BATCH = 256
SIGMA = 20 / 255
GAIN, KEPT, MOST = 1.15, 0.1, 16  # of sigma that may be left; share of the noisy image; atoms a patch


def learners(
    X: np.ndarray, m: int, rate: Callable[[np.ndarray], float], **told: Any
) -> Iterator[tuple[str, np.ndarray, dict[str, Any]]]:
    """Name, atoms and facts of every learner, all in the time of ours."""
    done = timed(lambda: IncoherentDictionary(m, n_splits=0, n_jobs=1, **told).fit(X))
    model, cpu, begin = done.value, done.cpu, some_rows(X, m, 0)
    yield "ours", model.components_, {"cpu_s": cpu, "start": model.start_, "k": model.sparsity_}
    other = IncoherentDictionary(m, n_splits=0, n_jobs=1, init="random", **told)
    done = timed(lambda: other.fit(X))
    yield 'ours, init="random"', done.value.components_, {"cpu_s": done.cpu, "k": done.value.sparsity_}
    done = timed(lambda: ksvd(X, begin, model.sparsity_, 1000, cpu))
    yield "K-SVD", done.value, {"cpu_s": done.cpu}
    many = {alpha: list(minibatches(X, begin, alpha, BATCH, 1000, cpu))[-1] for alpha in PENALTIES}
    best = max(many, key=lambda alpha: rate(many[alpha][1]))
    yield "scikit-learn MiniBatchDictionaryLearning", many[best][1], {"cpu_s": many[best][0], "alpha": best}


def without_means(patches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    means = patches.mean(axis=1, keepdims=True)
    return patches - means, means


# --- coding ---------------------------------------------------------------------------------------------------------


def coding(images: dict[str, np.ndarray], size: int, m: int, n: int) -> list[dict[str, Any]]:
    cut = {name: 2 * len(image) // 3 for name, image in images.items()}
    train, _ = without_means(image_patches([i[: cut[name]] for name, i in images.items()], size, n_patches=n))
    lower = [i[cut[name] :] for name, i in images.items()]
    test, _ = without_means(image_patches(lower, size, n_patches=n // 2, random_state=1))

    def rate(atoms: np.ndarray) -> float:
        return psnr(coded(test, atoms, K), test)

    rows = []
    for name, atoms, facts in learners(train, m, rate, sparsity=K):
        rows.append({"patches": f"{size} x {size}", "m": m, "method": name, "psnr": rate(atoms), **facts})
        print(rows[-1], flush=True)
    directions = np.linalg.svd(train.T @ train)[0].T
    side = int(np.ceil(m**0.5))
    table = cosines(side * side, size)[1:]
    for name, value in (
        (f"{len(table)} cosines", rate(table)),
        (f"the best {K} of {size * size} principal directions", rate(directions)),
        (f"{K} leading principal directions", psnr(test @ directions[:K].T @ directions[:K], test)),
    ):
        rows.append({"patches": f"{size} x {size}", "m": m, "method": name, "psnr": value})
    return rows


def evidence(images: dict[str, np.ndarray], n: int) -> dict[str, Any]:
    """Of 8 x 8 patches, with error bars."""
    train, _ = without_means(image_patches(list(images.values()), 8, n_patches=n))
    model = IncoherentDictionary(128, sparsity=K, n_jobs=1).fit(train)
    print(model.evidence_)
    checks = {check.name: [check.measured, check.holds] for check in model.evidence_.checks}
    return {"grade": model.evidence_.grade, "expected": model.evidence_.expected_error} | checks


# --- denoising ------------------------------------------------------------------------------------------------------


def denoising(name: str, image: np.ndarray, n: int) -> list[dict[str, Any]]:
    noisy = image + SIGMA * np.random.default_rng(0).standard_normal(image.shape)
    patches, means = without_means(image_patches(noisy, 8))
    train = patches[np.sort(np.random.default_rng(1).permutation(len(patches))[:n])]

    def cleaned(atoms: np.ndarray) -> float:
        found = coded_up_to(patches, atoms, 64 * (GAIN * SIGMA) ** 2, MOST) + means
        whole = image_from_patches(found, image.shape)
        return psnr(np.clip((1 - KEPT) * whole + KEPT * noisy, 0, 1), image)

    rows = [{"image": name, "method": "noisy", "psnr": psnr(np.clip(noisy, 0, 1), image)}]
    for method, atoms, facts in learners(train, 256, cleaned, sparsity=K):
        rows.append({"image": name, "method": method, "psnr": cleaned(atoms), **facts})
        print(rows[-1], flush=True)
    rows.append({"image": name, "method": "255 cosines", "psnr": cleaned(cosines(256, 8)[1:])})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--patches", type=int, default=4000)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    paths = sorted((options.data / "images").glob("*.png"))
    images = {path.stem: read_image(path, grey=True) for path in paths[: 2 if options.quick else None]}
    n, quick = 1000 if options.quick else options.patches, "_quick" * options.quick
    with threadpool_limits(1):
        IncoherentDictionary(4, n_splits=0).fit(np.random.default_rng(0).standard_normal((100, 8)))  # compiled
        ksvd(np.random.default_rng(0).standard_normal((100, 8)), np.eye(8), 2, 1)
        rows: list[dict[str, Any]] = []
        for size, m in CODED:
            rows += coding(images, size, m, n)
            report(f"dictionary_patches_coded{quick}", rows)
        report(f"dictionary_patches_coded{quick}", rows, evidence=evidence(images, n))
        rows = [row for name in DENOISED if name in images for row in denoising(name, images[name], n)]
        report(f"dictionary_patches_denoised{quick}", rows)


if __name__ == "__main__":
    main()
