"""Spectrogram pictures against drawing them as figures: ``python -m benchmarks.spectrogram``.

Generates five-second clips (noise, chirps, hum), then measures, one thread, one run:

- the picture from the same matrix of decibels: ours against a matplotlib figure of 500 x 500 pixels, as the authors
  drew theirs; and in how many pixels the two differ;
- the picture from the waveform: ours against librosa and that figure;
- a picture whose spectrogram is kept on disk, against reading a PNG of it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import librosa
import librosa.display
import numpy as np
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

from benchmarks._timing import best, interleaved, promise, ratio
from wilds_targeted.audio.axes import CLIP_SECONDS, MELS, SAMPLE_RATE, SIZE
from wilds_targeted.audio.mel import decibels, draw_waveform, mel_power
from wilds_targeted.audio.picture import Floats, color_indices, draw_colors
from wilds_targeted.audio.store import SpectrogramStore


def main() -> None:
    """Generate, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=8, help="Clips a round.")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    waveforms = [clip(rng) for _ in range(arguments.clips)]
    levels = [librosa_decibels(waveform) for waveform in waveforms]
    report_differences(waveforms, levels)
    held = [
        *measure_drawing(waveforms, levels, arguments.rounds),
        measure_kept(levels, arguments.rounds),
    ]
    print(f"{sum(held)} of {len(held)} promises hold in this run")


def clip(rng: np.random.Generator) -> Floats:
    """Noise that grows, a hum, and chirps."""
    time = np.arange(int(CLIP_SECONDS * SAMPLE_RATE)) / SAMPLE_RATE
    waveform = rng.normal(0, rng.uniform(0.001, 0.1), len(time)) * np.linspace(0.2, 1, len(time))
    waveform += rng.uniform(0, 0.1) * np.sin(2 * np.pi * 50 * time)
    for start in rng.uniform(0, 4, 4):
        low, sweep = rng.uniform(1000, 6000), rng.uniform(-2000, 4000)
        waveform += np.exp(-(((time - start - 0.3) / 0.1) ** 2)) * np.sin(2 * np.pi * (low + sweep * time) * time)
    return waveform.astype(np.float32)


def librosa_decibels(waveform: Floats) -> Floats:
    """The matrix of decibels, by librosa."""
    power = librosa.feature.melspectrogram(y=librosa.util.normalize(waveform), sr=SAMPLE_RATE, n_mels=MELS)
    level: Floats = librosa.power_to_db(power, ref=np.max)
    return level


def drawn(level_db: Floats, sample_rate: int = SAMPLE_RATE) -> NDArray[np.uint8]:
    """The pixels of a figure that shows nothing but the spectrogram, in librosa's mel axis and matplotlib's colours."""
    figure = Figure(figsize=(SIZE / 100, SIZE / 100), dpi=100)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    librosa.display.specshow(level_db, x_axis="time", y_axis="mel", sr=sample_rate, ax=axes, cmap=None)
    axes.set_axis_off()
    canvas.draw()  # type: ignore[no-untyped-call]
    pixels: NDArray[np.uint8] = np.asarray(canvas.buffer_rgba())[..., :3].copy()  # type: ignore[no-untyped-call]
    return pixels


def report_differences(waveforms: list[Floats], levels: list[Floats]) -> None:
    """In how many pixels our pictures differ from the drawn ones."""
    figures = [drawn(level) for level in levels]
    from_levels = [np.asarray(draw_colors(color_indices(level))) for level in levels]
    from_waveforms = [np.asarray(draw_waveform(waveform)) for waveform in waveforms]
    decibel_gap = max(
        float(np.abs(decibels(mel_power(waveform, SAMPLE_RATE)) - level).max())
        for waveform, level in zip(waveforms, levels, strict=True)
    )
    print(f"from the same decibels: {_differing(from_levels, figures)} of {len(figures) * SIZE * SIZE} pixels differ")
    print(
        f"from the waveform: {_differing(from_waveforms, figures)} pixels differ; decibels by {decibel_gap:.1e} at most"
    )


def _differing(ours: list[Any], figures: list[Any]) -> int:
    return sum(int((one != other).any(-1).sum()) for one, other in zip(ours, figures, strict=True))


def measure_drawing(waveforms: list[Floats], levels: list[Floats], rounds: int) -> list[bool]:
    """Ours and the figure, from decibels and from the waveform."""
    work: dict[str, Callable[[int], object]] = {
        "ours, from decibels": lambda item: draw_colors(color_indices(levels[item])),
        "figure, from decibels": lambda item: drawn(levels[item]),
        "ours, from the waveform": lambda item: draw_waveform(waveforms[item]),
        "librosa and figure": lambda item: drawn(librosa_decibels(waveforms[item])),
    }
    spent = interleaved(work, range(len(levels)), rounds)
    for name, values in spent.items():
        print(f"{name:>24}: {best(values):.2f} ms a picture")
    held = []
    for one, other, most in (
        ("ours, from decibels", "figure, from decibels", 1 / 15),
        ("ours, from the waveform", "librosa and figure", 1 / 10),
    ):
        print(f"{one} / {other}: {ratio(spent[one], spent[other], digits=3)}")
        held.append(promise(f"at most 1/{1 / most:.0f}", best(spent[one]) <= most * best(spent[other])))
    return held


def measure_kept(levels: list[Floats], rounds: int) -> bool:
    """What a loader does for an untouched clip, against decoding a PNG of the picture, as in the authors' bundle."""
    with tempfile.TemporaryDirectory() as folder:
        store = SpectrogramStore(Path(folder) / "kept.bin", len(levels))
        store.prepare()
        files = []
        for row, level in enumerate(levels):
            store.put(row, color_indices(level))
            files.append(Path(folder) / f"{row}.png")
            draw_colors(color_indices(level)).save(files[-1])

        def from_store(row: int) -> Image.Image:
            kept = store.get(row)
            assert kept is not None
            return draw_colors(kept)

        spent = interleaved(
            {"kept": from_store, "PNG": lambda row: Image.open(files[row]).convert("RGB")}, range(len(levels)), rounds
        )
        print(f"kept spectrogram / PNG: {ratio(spent['kept'], spent['PNG'])}; {best(spent['kept']):.2f} ms a picture")
    return promise("faster than a PNG", best(spent["kept"]) < best(spent["PNG"]))


if __name__ == "__main__":
    main()
