"""Targets for tfkit relative to its peers."""

from dataclasses import dataclass

from benchmarks.frameworks import FRAMEWORKS
from benchmarks.workloads import TITLES, TRAINED


@dataclass(frozen=True)
class Target:
    """tfkit's number is at most `factor` times that of a peer, and `extra` seconds.

    Attributes:
        peer: framework to compare with.
        factor: below 1 if tfkit must be faster.
        extra: seconds.
        measure: the number of the peer, the same one unless given.
    """

    peer: str
    factor: float
    extra: float = 0.0
    measure: str | None = None

    def text(self):
        if self.measure:
            return f"<= {self.factor:g}x {self.measure}"
        title = FRAMEWORKS[self.peer].title
        if self.extra:
            return f"<= {title} + {self.extra:g} s"
        if self.factor < 1:
            return f">= {1 / self.factor:g}x as fast as {title}"
        return f"<= {self.factor:g}x {title}"

    def reached(self, mine, peer):
        return mine <= self.factor * peer + self.extra

    def actual(self, mine, peer):
        """Returns the actual ratio, in the form of `text`."""
        if self.extra:
            return f"+ {mine - peer:.2f} s"
        return f"{peer / mine:.2f}x" if self.factor < 1 else f"{mine / peer:.2f}x"


def faster(ratio):
    return Target("keras", 1 / ratio)


def by_hand(factor):
    return Target("plain", factor)


# By workload and measure.
TARGETS = {
    ("mlp", "step"): [faster(25), by_hand(1.3)],
    ("vae", "step"): [faster(3), by_hand(1.15)],
    ("cnn", "step"): [faster(1.1), by_hand(1.1)],
    ("resnet", "step"): [Target("keras", 1), by_hand(1.1)],
    ("lstm", "step"): [faster(1.2)],
    ("transformer", "step"): [faster(1.25)],
    ("embedding", "step"): [faster(2)],
    ("dropout", "step"): [faster(1.5)],
    ("predict", "one row"): [faster(100)],
    ("predict", "10,000 rows"): [faster(10), by_hand(2)],
    ("call", "MLP 64-32-32-1"): [faster(5)],
    ("call", "MLP, jit_compile=True"): [by_hand(1.3)],
    ("call", "transformer, 4 blocks"): [faster(8)],
    ("loop", "MLP step"): [faster(4), by_hand(1)],
    ("loop", "CNN step"): [Target("keras", 1)],
    ("mirrored", "MLP step"): [by_hand(1.2)],
    ("mirrored", "CNN step"): [by_hand(1.2)],
    ("workers", "MLP step"): [by_hand(1.2)],
    ("workers", "CNN step"): [by_hand(1.2)],
    ("files", "save"): [Target("keras", 1)],
    ("files", "load"): [Target("keras", 1)],
    ("export", "export"): [Target("keras", 1)],
    ("export", "load"): [Target("keras", 1)],
    ("export", "first call"): [Target("keras", 1)],
    ("images", "image in map"): [Target("keras", 1)],
    ("images", "image in parallel map"): [Target("keras", 1)],
    ("images", "image in batches"): [Target("keras", 1)],
    ("images", "image in fit"): [Target("keras", 1)],
    ("texts", "adapt"): [Target("keras", 1)],
    ("imports", "import"): [Target("plain", 1, extra=0.2)],
}
for _name in TRAINED:
    TARGETS[_name, "first"] = [Target("keras", 1)]
    TARGETS[_name, "dataset step"] = [Target("tfkit", 1.3, measure="step")]
for _name in TITLES:
    TARGETS[_name, "memory"] = [Target("keras", 1)]

# The kind that `jit_compile="auto"` chooses may take this many times as long as the best one.
AUTO_FACTOR = 1.1
