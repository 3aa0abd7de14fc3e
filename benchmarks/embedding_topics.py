"""Claim: topics of embeddings agree better with known groups than k-means and BERTopic's recipe, and are the same in every run.

    python benchmarks/embedding_topics.py [--quick] [--seeds 3] [--only groups errors scripts]

*groups*: the training documents of 20 Newsgroups and the titles of CiteSeerX, with embeddings by latent semantic analysis in
100 dimensions (tf-idf with logarithmic counts, scikit-learn). Normalised mutual information with the groups of:
`EmbeddingTopics` with as many topics as groups; k-means of scikit-learn with ten starts on directions, and on embeddings as
they are; BERTopic's recipe, UMAP to five dimensions (15 neighbours, cosine) and HDBSCAN of 10 and 50 documents at least, whose
outliers count as a group. Each with three seeds; the recipe of `EmbeddingTopics` was chosen on the test documents of 20
Newsgroups. Between seeds is the agreement of the first run with the others. CPU seconds, one BLAS thread.

*errors*: planted embeddings with 3 to 10 topics, 12 to 200 columns; the expected error beside the true one.

*scripts*: corpora of 60 Chinese and of 60 Japanese words, given with blanks and without; l1 distance of the topics of
`SingleTopicModel`. Words whose repetition holds another one, as a company in Japanese holds a society, are not among them.
Needs icu4py; *groups* needs umap-learn and hdbscan for its peer, which is left out otherwise.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from _common import report, timed, verdict
from _topics import DATA, counts_of, newsgroups_words
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from latentia.datasets import planted
from latentia.topics import EmbeddingTopics, SingleTopicModel
from latentia.words import WordVectorizer

OURS, SETTINGS = "EmbeddingTopics", ((3, 12), (5, 48), (8, 48), (8, 200), (10, 100))
CHINESE = """
经济 市场 银行 投资 股票 贸易 价格 公司 资金 利率 企业 消费 足球 比赛 球员 冠军 教练 球迷 奥运 运动
篮球 训练 决赛 队员 医院 医生 病人 药物 治疗 手术 健康 疾病 疫苗 护士 症状 营养 学校 教师 学生 考试
课程 大学 教育 老师 知识 毕业 教室 语文 音乐 电影 导演 演员 歌曲 舞蹈 戏剧 艺术 画家 小说 诗歌 作家
""".split()  # noqa: SIM905
JAPANESE = """
経済 市場 銀行 投資 株式 貿易 価格 産業 資金 金利 企業 消費 野球 試合 選手 優勝 監督 応援 運動 練習
決勝 球場 体操 水泳 病院 医者 患者 治療 手術 健康 病気 看護 症状 栄養 検査 診察 学校 教師 学生 試験
授業 大学 教育 先生 知識 卒業 教室 国語 音楽 映画 俳優 歌手 舞台 演劇 芸術 画家 小説 詩人 作家 絵画
""".split()  # noqa: SIM905


# --- groups -------------------------------------------------------------------------------------------------------


def corpora(quick: bool) -> Iterator[tuple[str, sparse.csr_array, np.ndarray]]:
    """Counts and groups."""
    yield "titles", counts_of("m10", "-train"), np.loadtxt(DATA / "m10" / "labels-train.txt", dtype=int)
    if not quick:
        groups = np.loadtxt(DATA / "newsgroups20" / "labels-train.txt", dtype=int)
        yield "20 Newsgroups", counts_of("newsgroups20", "-train")[:, newsgroups_words()], groups


def embedded(counts: sparse.csr_array, seed: int = 0) -> np.ndarray:
    weights = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    return np.asarray(TruncatedSVD(100, random_state=seed).fit_transform(weights))


def methods(counts: sparse.csr_array, table: np.ndarray, k: int) -> Iterator[tuple[str, Callable[[int], np.ndarray]]]:
    """From a seed to the group of every document."""
    yield OURS, lambda seed: EmbeddingTopics(k, random_state=seed).fit_predict(counts, table)
    rows = normalize(table)
    yield "k-means of directions", lambda seed: KMeans(k, n_init=10, random_state=seed).fit_predict(rows)
    yield "k-means", lambda seed: KMeans(k, n_init=10, random_state=seed).fit_predict(table)
    try:
        import umap
        from hdbscan import HDBSCAN
    except ImportError:
        return

    @cache  # the seconds of the second one are those of HDBSCAN alone
    def flat(seed: int) -> np.ndarray:
        reducer = umap.UMAP(n_neighbors=15, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)
        return np.asarray(reducer.fit_transform(table))

    for least in (10, 50):
        name = f"UMAP and HDBSCAN of {least}"
        yield name, lambda seed, least=least: HDBSCAN(min_cluster_size=least).fit_predict(flat(seed))  # type: ignore[misc]


def of_groups(seeds: int, quick: bool) -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows, facts = [], {}
    for corpus, counts, groups in corpora(quick):
        kept = counts.sum(axis=1) > 0
        counts, groups = counts[kept], groups[kept]
        table, k = embedded(counts), len(np.unique(groups))
        for name, method in methods(counts, table, k):
            runs = [timed(lambda seed=seed, method=method: method(seed)) for seed in range(seeds)]
            nmi = [normalized_mutual_info_score(groups, run.value) for run in runs]
            same = [normalized_mutual_info_score(runs[0].value, run.value) for run in runs[1:]]
            rows.append({
                "corpus": corpus, "method": name, "nmi": float(np.median(nmi)), "best": max(nmi),
                "between seeds": float(np.mean(same)) if same else None, "groups": len(np.unique(runs[0].value)),
                "left out": float(np.mean(runs[0].value < 0)), "cpu_s": float(np.median([run.cpu for run in runs])),
            })  # fmt: skip
        ours, *peers = [row for row in rows if row["corpus"] == corpus]
        gain = ours["nmi"] - max(peer["nmi"] for peer in peers)
        facts[f"{corpus}: NMI above the best peer's median"] = verdict(gain, gain >= 0)
        facts[f"{corpus}: agreement of seeds"] = verdict(
            ours["between seeds"] or 1.0, (ours["between seeds"] or 1.0) == 1.0
        )
    return rows, facts


# --- expected errors ----------------------------------------------------------------------------------------------


def of_errors(seeds: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows = []
    for k, width in SETTINGS:
        for n in (500, 2000):
            for seed in range(200, 200 + seeds):
                options: Any = {"n_topics": k, "n_words": 200, "n_features": width, "random_state": seed}
                data, many = planted.embedded_corpus(n, **options), planted.embedded_corpus(20_000, **options)
                model = EmbeddingTopics(k).fit(data.counts, data.embeddings)
                found = model.directions(None, many.embeddings)
                true = np.array([found[many.labels == j].mean(axis=0) for j in range(k)])
                error, expected = cdist(model.means_, true).min(axis=1).mean(), model.evidence_.expected_error
                row = {"topics": k, "columns": width, "documents": n, "seed": seed, "grade": model.evidence_.grade}
                rows.append(row | {"true": float(error), "expected": expected, "ratio": float(error / expected)})
    within = float(np.mean([0.5 <= row["ratio"] <= 2 for row in rows]))
    return rows, {"expected errors within a factor 2": verdict(within, within >= 0.75)}


# --- scripts without blanks ---------------------------------------------------------------------------------------


def of_scripts(seeds: int) -> tuple[list[dict[str, Any]], dict[str, str]]:
    rows = []
    for name, words in (("Chinese", CHINESE), ("Japanese", JAPANESE)):
        for seed in range(seeds):
            corpus = planted.topic_corpus(
                2000, n_topics=5, n_words=len(words), length=30, proportions="single", random_state=seed
            )
            rng = np.random.default_rng(seed)
            documents = [list(rng.permutation(np.repeat(words, row))) for row in corpus.counts.toarray()]
            given, joined = (
                SingleTopicModel(5, vectorizer=WordVectorizer(None, segment=joined), n_splits=0).fit(
                    [("" if joined else " ").join(document) for document in documents]
                )
                for joined in (False, True)
            )
            shared = dict.fromkeys([*given.vectorizer_.vocabulary_, *joined.vectorizer_.vocabulary_])
            tables = [aligned(model, list(shared)) for model in (given, joined)]
            apart = cdist(*tables, "cityblock").min(axis=1)
            rows.append({"script": name, "seed": seed, "l1": float(apart.mean()), "largest": float(apart.max())})
    most = max(row["l1"] for row in rows)
    return rows, {"l1 of topics with and without blanks": verdict(most, most <= 0.1)}


def aligned(model: SingleTopicModel, words: list[str]) -> np.ndarray:
    """Topics over these words."""
    columns = model.vectorizer_.vocabulary_
    return np.column_stack([
        model.components_[:, columns[word]] if word in columns else np.zeros(len(model.components_)) for word in words
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["groups", "errors", "scripts"])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = 2 if options.quick else options.seeds
    tasks = {
        "groups": lambda: of_groups(seeds, options.quick), "errors": lambda: of_errors(seeds),
        "scripts": lambda: of_scripts(seeds),
    }  # fmt: skip
    with threadpool_limits(1, user_api="blas"):
        for name in options.only:
            rows, facts = tasks[name]()
            report(f"embedding_topics_{name}", rows, **facts)
            print()


if __name__ == "__main__":
    main()
