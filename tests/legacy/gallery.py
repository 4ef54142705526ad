"""Draw the loss of ten legacy programs beside that of 1.8.5: `python -m tests.legacy.gallery docs/gallery`."""

from __future__ import annotations

import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.legacy.repository import PROGRAMS, checkout, run

_NUMBER = r"(-?\d+\.\d+)"


@dataclass(frozen=True)
class Curve:
    """A program, and the pattern of the lines that hold its training loss."""

    program: str
    title: str
    line: str

    def losses(self, lines: list[str]) -> list[float]:
        """Return the losses in the order in which they were printed."""
        found = (re.search(self.line.replace("LOSS", _NUMBER), line) for line in lines)
        return [float(match[1]) for match in found if match]


CURVES = (
    Curve("image_classification", "ResNet on images", r"^Pass .*trainbatch.* loss LOSS"),
    Curve("ssd", "SSD detector with a MobileNet backbone", r"^Epoc .*, loss LOSS"),
    Curve("ocr_ctc", "CRNN with CTC", r"^Iter.*Avg loss: LOSS"),
    Curve("gan", "CycleGAN, loss of the generator", r"g_loss: LOSS"),
    Curve("video_tsn", "TSN on video clips", r"TRAIN.*loss: LOSS"),
    Curve("sentiment", "sentiment classifier", r"^step: .*ave loss: LOSS"),
    Curve("language_model", "LSTM language model", r"Batch:.*loss: LOSS"),
    Curve("transformer", "Transformer", r"^step_idx.*avg loss: LOSS"),
    Curve("recommender", "recommender", r"^pass .* cost LOSS"),
    Curve("graph", "graph network", r"Train Loss: LOSS"),
)
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 240, 56, 34, 30
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.t{font-size:14px;font-weight:600}.axis{stroke:#999;fill:none}"
    ".old{stroke:#e07b00;stroke-width:5;stroke-opacity:.45;fill:none}.new{stroke:#0b62c4;stroke-width:1.5;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#777}.new{stroke:#6db3ff}.old{stroke:#ffa940}}"
)


def draw(curve: Curve, old: list[float], new: list[float]) -> str:
    """Return a picture of both losses: the original's as a wide line, ours as a thin one on top of it."""
    low, high = min(old + new), max(old + new)
    span = (high - low) or 1.0

    def points(values: list[float]) -> str:
        right = _WIDTH - 12
        return " ".join(
            f"{_LEFT + (right - _LEFT) * step / max(1, len(values) - 1):.1f},"
            f"{_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / span:.1f}"
            for step, value in enumerate(values)
        )

    floor = _HEIGHT - _BOTTOM
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
            f'aria-label="{curve.title}: loss of Fluid 1.8.5 and of fluidio over {len(old)} steps">',
            f"<style>{_STYLE}</style>",
            f'<text class="t" x="{_LEFT}" y="18">{curve.title}</text>',
            f'<text x="{_WIDTH - 12}" y="18" text-anchor="end">wide: Fluid 1.8.5, thin: fluidio</text>',
            f'<path class="axis" d="M{_LEFT} {_TOP}V{floor}H{_WIDTH - 12}"/>',
            f'<text x="{_LEFT - 6}" y="{_TOP + 10}" text-anchor="end">{high:.3g}</text>',
            f'<text x="{_LEFT - 6}" y="{floor}" text-anchor="end">{low:.3g}</text>',
            f'<text x="{_WIDTH - 12}" y="{_HEIGHT - 10}" text-anchor="end">step {len(old)}</text>',
            f'<polyline class="old" points="{points(old)}"/>',
            f'<polyline class="new" points="{points(new)}"/>',
            "</svg>",
            "",
        ]
    )


def expected(curve: Curve) -> list[float]:
    """Return the losses of the real 1.8.5, as they are stored."""
    return curve.losses((PROGRAMS / curve.program / "expected.txt").read_text("utf-8").splitlines())


def main(folder: Path) -> None:
    """Run the ten programs and write their pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for curve in CURVES:
        with tempfile.TemporaryDirectory() as place:
            found = curve.losses(run(checkout(curve.program, Path(place))))
        old = expected(curve)
        (folder / f"{curve.program}.svg").write_text(draw(curve, old, found), "utf-8")
        apart = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(old, found, strict=True))
        print(f"{curve.program}: {len(old)} steps, at most {apart:.1e} apart", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
