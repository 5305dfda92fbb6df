"""A script that uses Ray Tune."""

import ray
from ray import tune


def train(config):
    loss = 1.0
    for _ in range(3):
        loss = loss / 2 + (config["lr"] - 0.01) ** 2 + config["layers"] / 100
        tune.report({"loss": loss})


ray.init(num_cpus=1, include_dashboard=False)
tuner = tune.Tuner(
    train,
    param_space={"lr": tune.loguniform(1e-5, 1e-1), "layers": tune.randint(1, 7)},
    tune_config=tune.TuneConfig(
        metric="loss",
        mode="min",
        num_samples=2,
    ),
)
results = tuner.fit()
print(results.get_best_result().config)
ray.shutdown()
