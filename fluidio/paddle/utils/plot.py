"""`Ploter`: loss curves in a notebook, or a line of text where nothing can be drawn."""

from __future__ import annotations

import os

__all__ = ["PlotData", "Ploter"]


class PlotData:
    """The points of one curve."""

    def __init__(self) -> None:
        self.step: list[float] = []
        self.value: list[float] = []

    def append(self, step: float, value: float) -> None:
        self.step.append(step)
        self.value.append(value)

    def reset(self) -> None:
        self.step = []
        self.value = []


class Ploter:
    """Named curves: `append` points, `plot` them to a file.

    Drawing needs matplotlib; with DISABLE_PLOT=True in the environment, or without it, `plot` does nothing.
    """

    def __init__(self, *args: str) -> None:
        self.__args__ = args
        self.__plot_data__ = {title: PlotData() for title in args}

    def append(self, title: str, step: float, value: float) -> None:
        if title not in self.__plot_data__:
            raise AssertionError(f"there is no curve {title!r}; the plotter was created for {list(self.__args__)}")
        self.__plot_data__[title].append(step, float(value))

    def plot(self, path: str | None = None) -> None:
        """Draw all curves, to the file `path` if given."""
        if os.environ.get("DISABLE_PLOT") == "True":
            return
        try:
            import matplotlib
        except ImportError:
            return
        if path is not None:
            matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.cla()
        drawn = [title for title in self.__args__ if self.__plot_data__[title].step]
        for title in drawn:
            data = self.__plot_data__[title]
            plt.plot(data.step, data.value)
        plt.legend(drawn, loc="upper left")
        if path is None:
            plt.show()
        else:
            plt.savefig(path)

    def reset(self) -> None:
        for data in self.__plot_data__.values():
            data.reset()
