"""A script that uses Ax."""

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig


def loss(x, n, kind):
    return (x - 0.1) ** 2 + n / 10 + (kind == "plain")


client = Client()
client.configure_experiment(
    name="from-ax",
    parameters=[
        RangeParameterConfig(name="x", bounds=(1e-4, 1), parameter_type="float", scaling="log"),
        RangeParameterConfig(name="n", bounds=(1, 10), parameter_type="int"),
        ChoiceParameterConfig(name="kind", values=["plain", "deep"], parameter_type="str", is_ordered=False),
    ],
)
client.configure_optimization(objective="-loss", outcome_constraints=["latency <= 20"])
for _ in range(4):
    for index, point in client.get_next_trials(max_trials=2).items():
        client.complete_trial(trial_index=index, raw_data={"loss": (loss(**point), 0.0), "latency": 3.0 * point["n"]})
best, prediction, index, name = client.get_best_parameterization()
print(best, prediction)
