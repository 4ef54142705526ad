"""One picture of the results: a panel for each workload, bars for peers."""

from __future__ import annotations

from typing import Any

from benchmarks.field.targets import TITLES

__all__ = ["plot"]


def plot(results: list[dict[str, Any]], path: str) -> None:
    """Draw the best speed of each peer, relative to fluidio's best."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    best: dict[str, dict[str, float]] = {}
    for row in results:
        if "error" not in row and row["workload"] in TITLES and row["workload"] not in ("floor", "w8"):
            seconds = row["seconds"] / row["records"]
            peers = best.setdefault(row["workload"], {})
            peers[row["peer"]] = min(seconds, peers.get(row["peer"], seconds))
    figure, axes = plt.subplots(1, max(len(best), 1), figsize=(3 * max(len(best), 1), 3.4), squeeze=False)
    for axis, (workload, peers) in zip(axes[0], sorted(best.items())):
        names = sorted(peers, key=lambda peer: peers[peer], reverse=True)
        speeds = [peers.get("fluidio", min(peers.values())) / peers[name] for name in names]
        axis.barh(names, speeds, color=["#d62728" if name == "fluidio" else "#7f7f7f" for name in names])
        axis.set_title(workload.upper())
        axis.set_xlabel("speed, fluidio = 1")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
