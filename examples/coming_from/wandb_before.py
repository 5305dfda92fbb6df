"""A script that runs a sweep of Weights & Biases."""

import wandb

config = {
    "method": "bayes",
    "metric": {"name": "loss", "goal": "minimize"},
    "parameters": {
        "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-1},
        "layers": {"min": 1, "max": 6},
        "optimizer": {"values": ["sgd", "adam"]},
    },
}


def train():
    with wandb.init(project="from-wandb") as run:
        lr, layers, optimizer = run.config["lr"], run.config["layers"], run.config["optimizer"]
        loss = (lr - 0.01) ** 2 + layers / 10 + (optimizer == "sgd")
        run.log({"loss": loss})


sweep_id = wandb.sweep(config, project="from-wandb")
wandb.agent(sweep_id, function=train, count=4)
