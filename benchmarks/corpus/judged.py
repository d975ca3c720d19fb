"""Loud findings about programs of the corpus, each held against what the program does."""

JUDGED = {
    "hogwild": {"data_stall": "true"},
    "gpt_data_parallel": {"rank_zero_evaluation": "true"},
    "pipeline_stages": {"lost_to_serial_waiting": "true"},
    "averaged_gradients": {"data_stall": "true"},
    "restarted_workers": {"exposed_exchange": "true"},
    "transformers_trainer": {
        "exposed_exchange": "true",
        "rank_zero_evaluation": "true, its checkpoint",
    },
    "zero_redundancy": {"data_stall": "true"},
    "accelerate_loop": {
        "straggler": "false, of one run, with other processes on the two cores",
    },
    "lightning_classifier": {
        "data_stall": "true, small",
        "threads_over_cores": "true, on two cores that others use as well",
    },
    "keras_torch": {"frequent_evaluation": "true", "data_stall": "true"},
    "keras_jax": {"lost_to_compiling": "true"},
    "jax_processes": {"frequent_evaluation": "true"},
    "boosted_trees_lightgbm": {"frequent_evaluation": "true"},
    "image_classifier": {"data_stall": "true"},
    "autoencoder": {"frequent_evaluation": "true", "data_stall": "true"},
    "returned_history": {
        "frequent_evaluation": "true",
        "data_stall": "true",
        "lost_to_data_preparation": "true, of the evaluation",
    },
    "fitted_polynomial": {"lost_to_importing": "true", "data_stall": "true"},
    "sine_prediction": {"lost_to_interpreter": "true, the optimizer's own code"},
    "mirrored_workers": {
        "frequent_evaluation": "true, after every 20 steps",
        "lost_to_data_preparation": "true, of the evaluation",
        "lost_to_lock": "true, exchange of the evaluation by a pool of threads",
        "threads_over_cores": "true, on two cores that others use as well",
    },
    "policy_gradient": {"lost_to_importing": "true"},
    "tape_loop": {"frequent_evaluation": "true, small"},
    "mandelbrot_rows": {"lost_to_interpreter": "true"},
}
"""By program and finding: whether what it names is there, and why not."""


def judged(program: str, finding: str) -> str:
    """A finding with whether it is true; one that nobody has looked at says so."""
    return f"`{finding}` ({JUDGED.get(program, {}).get(finding, '**not judged**')})"
