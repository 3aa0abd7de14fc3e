"""Run every benchmark: ``python benchmarks/run_all.py [--quick]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
COMMANDS = [
    ["simplex_and_reanchor.py"],
    ["topics_recover_planted.py"],
    ["topics_real_corpora.py"],
    ["topics_against_gibbs.py"],
    ["topics_without_seed.py"],
    ["topics_refined_planted.py"],
    ["topics_clusters.py"],
    ["topics_prevalence.py"],
    ["evidence_predicts_error.py"],
    ["evidence_predicts_error.py", "--refine", "3"],
    ["thesis_section_4_3.py"],
    ["topics_at_scale.py"],
    ["tensor_decomposition.py"],
    ["third_moment_speed.py"],
    ["sparse_whitening.py"],
    ["tensor_topics.py"],
    ["tensor_mixtures.py"],
    ["mixtures_real_data.py"],
    ["series_errors.py"],
    ["hmm_ten_seeds.py"],
    ["hmm_words.py"],
    ["hmm_bad_optima.py"],
    ["series_errors_chains.py"],
    ["ica_speed.py"],
    ["tensor_real_data.py"],
    ["evidence_of_tensor_models.py"],
    ["evidence_on_wrong_models.py", "--refine", "both", "--report"],
    ["evidence_on_other_corpora.py"],
    ["em_that_settles.py"],
    ["passes_on_cluster.py"],
    ["checkpoints.py"],
    ["killed_workers.py"],
    ["out_of_core.py"],
    ["noisy_or_posteriors.py"],
    ["noisy_or_tables.py"],
    ["noisy_or_baskets.py"],
    ["multilabel_real_data.py"],
    ["multilabel_heads.py"],
    ["multilabel_at_scale.py", "--shape", "amazoncat"],
    ["multilabel_at_scale.py", "--shape", "wikilshtc"],
    ["multilabel_linear_in_rows.py"],
    ["multilabel_figure_2.py"],
    ["noisy_or_recovery.py"],
    ["noisy_or_at_scale.py"],
    ["noisy_or_against_em.py"],
    ["matrices_against_svd.py"],
    ["matrices_at_scale.py"],
    ["matrices_real_data.py"],
    ["matrices_ordered.py"],
    ["binned_trend.py"],
    ["two_state_hmm.py"],
    ["two_state_detection.py"],
    ["blocks_at_low_degree.py"],
    ["contrastive_recovery.py"],
    ["contrastive_weak_directions.py"],
    ["contrastive_figure_1.py"],
    ["contrastive_gram.py"],
    ["contrastive_rich.py"],
    ["contrastive_real_data.py"],
    ["communities_labels.py"],
    ["communities_picture.py"],
    ["communities_recovery.py"],
    ["communities_kinds.py"],
    ["communities_real.py"],
    ["communities_partitioned.py"],
    ["communities_large.py"],
    ["dictionary_picture.py"],
    ["dictionary_recovery.py"],
    ["dictionary_patches.py"],
    ["network_picture.py"],
    ["network_recovery.py"],
    ["network_layers.py"],
    ["network_real_data.py"],
    ["nmf_separable.py"],
    ["nmf_picture.py"],
    ["nmf_samson.py"],
    ["nmf_real.py"],
    ["nmf_least_squares.py"],
    ["nmf_loners.py"],
    ["nmf_exact.py"],
    ["readme_figures.py"],
]
WITH_QUICK = (
    "evidence",
    "thesis",
    "tensor",
    "third",
    "sparse",
    "hmm",
    "ica",
    "multilabel",
    "noisy",
    "matrices",
    "binned",
    "passes",
    "checkpoints",
    "killed",
    "out_of_core",
    "two_state",
    "blocks",
    "contrastive",
    "communities",
    "dictionary",
    "network",
)
QUICK = {
    "nmf_separable.py": ["--quick"],
    "nmf_exact.py": ["--quick"],
    "nmf_loners.py": ["--quick"],
    "topics_recover_planted.py": ["--quick", "--seeds", "1"],
    "topics_at_scale.py": ["--documents", "10000"],
    "topics_against_gibbs.py": ["--quick"],
    "topics_without_seed.py": ["--quick"],
    "topics_refined_planted.py": ["--quick"],
    "topics_clusters.py": ["--quick"],
    "topics_prevalence.py": ["--quick"],
}


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    for name, *options in COMMANDS:
        shorter = QUICK.get(name, ["--quick"] if name.startswith(WITH_QUICK) else []) if quick else []
        print(f"\n== {name} {' '.join(options + shorter)}", flush=True)
        subprocess.run([sys.executable, HERE / name, *options, *shorter], check=True)


if __name__ == "__main__":
    main()
