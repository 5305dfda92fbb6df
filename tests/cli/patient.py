"""``adabkb`` as a process that waits for the server and for its programs as long as that takes."""

from adabkb_client import trial_calls, worker
from adabkb_service.cli import main, processes
from tests.waiting import PATIENCE

for module, name in ((trial_calls, "RELEASE_PATIENCE"), (worker, "RELEASE_PATIENCE"), (processes, "DRAIN_PATIENCE")):
    setattr(module, name, PATIENCE)
main()
