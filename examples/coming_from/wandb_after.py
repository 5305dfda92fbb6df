"""The script wandb_before.py, with a study on a server."""

import wandb

from adabkb_integrations.wandb import sweep

config = {
    "method": "bayes",
    "metric": {"name": "loss", "goal": "minimize"},
    "parameters": {
        "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-1},
        "layers": {"min": 1, "max": 6},
        "optimizer": {"values": ["sgd", "adam"]},
    },
}


def train(trial):
    with wandb.init(project="from-wandb", config=trial.parameters) as run:
        lr, layers, optimizer = run.config["lr"], run.config["layers"], run.config["optimizer"]
        loss = (lr - 0.01) ** 2 + layers / 10 + (optimizer == "sgd")
        run.log({"loss": loss})
    return loss


sweep(config, "from-wandb").run(train, pass_trial=True, n_trials=4)
