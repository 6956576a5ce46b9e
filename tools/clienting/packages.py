"""The packages, and what each needs to be installed and tested."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """A package of the index, with its tests.

    Args:
        name: the name on the index.
        version: the version that is tested.
        kind: what it is, for the table.
        tests: files and folders of tests in its source distribution; without any, `uses` is run.
        uses: a file of programs in the folder `uses`, for a package whose distributions have no tests.
        needs: what else is installed. The package itself is installed without its requirements, for
            many exclude the newest TensorFlow.
        source: `"sdist"`, or `"wheel"` where only the wheel has the tests.
        options: further arguments of pytest.
        settings: environment variables.
        passengers: files that its tests would download, of the table of the Titanic's passengers: random
            rows take their place.
        together: whether all files run in one process, not each in its own: for many small ones.
    """

    name: str
    version: str
    kind: str
    tests: tuple[str, ...] = ()
    uses: str = ""
    needs: tuple[str, ...] = ()
    source: str = "sdist"
    options: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    passengers: tuple[str, ...] = ()
    together: bool = False

    @property
    def module(self) -> str:
        """Returns its name as a file name."""
        return self.name.replace("-", "_").lower()


PACKAGES = (
    Package(
        "keras-hub",
        "0.32.0",
        "models for text and images",
        uses="test_keras_hub.py",
        needs=("kagglehub", "tokenizers", "sentencepiece", "regex"),
    ),
    Package(
        "keras-rs", "0.4.0", "recommender systems", uses="test_keras_rs.py", needs=("ml-dtypes",)
    ),
    Package(
        "scikeras",
        "0.13.0",
        "scikit-learn estimators",
        uses="test_scikeras.py",
        needs=("scikit-learn",),
    ),
    Package(
        "keras-tuner",
        "1.3.5",
        "hyperparameter search",
        tests=("keras_tuner",),
        needs=("kt-legacy", "requests", "tensorboard", "scikit-learn"),
    ),
    Package(
        "HGQ2",
        "0.2.0",
        "quantized networks",
        tests=("tests",),
        needs=("quantizers", "tqdm", "alkaid"),
        # A part of its 9,094 tests: each layer with one setting of its quantizers, in a file.
        options=(
            "--skip-slow",
            "-kserialization and keras and True and kif and SAT and RND or behavior",
        ),
        together=True,
    ),
    Package("deel-lip", "1.5.0", "Lipschitz layers", tests=("tests",)),
    Package(
        "keras-lmu",
        "0.9.0",
        "Legendre memory units",
        tests=("keras_lmu/tests",),
        needs=("scipy", "pytest-rng"),
    ),
    Package(
        "autokeras",
        "3.0.0",
        "architecture search",
        tests=("autokeras",),
        needs=("keras-tuner", "tensorboard", "dm-tree", "pandas", "scikit-learn"),
        passengers=("train.csv", "eval.csv"),
        together=True,
    ),
    Package(
        "kgcnn",
        "4.0.2",
        "graph networks",
        tests=("test",),
        needs=(
            "scikit-learn",
            "pandas",
            "scipy",
            "networkx",
            "pyyaml",
            "matplotlib",
            "requests",
            "dm-tree",
        ),
    ),
    Package(
        "tf-keras-vis",
        "0.8.7",
        "saliency maps",
        tests=("tests",),
        source="wheel",
        needs=("scipy", "pillow", "deprecated", "imageio", "packaging"),
    ),
    Package(
        "bayesflow",
        "2.0.12",
        "Bayesian inference",
        uses="test_bayesflow.py",
        needs=("scipy", "pandas", "seaborn", "networkx", "tqdm", "matplotlib"),
    ),
    Package(
        "kapre",
        "0.4.1",
        "audio layers",
        uses="test_kapre.py",
        needs=("librosa",),
    ),
    Package("ncps", "1.0.1", "neural circuit policies", uses="test_ncps.py", needs=("future",)),
    Package(
        "deepxde",
        "1.15.0",
        "differential equations",
        uses="test_deepxde.py",
        needs=(
            "scikit-learn",
            "scikit-optimize",
            "scipy",
            "matplotlib",
            "tensorflow-probability",
            "tf-keras",
        ),
        settings=(("DDE_BACKEND", "tensorflow"),),
    ),
    Package(
        "optuna-integration",
        "4.9.0",
        "hyperparameter search",
        uses="test_optuna.py",
        needs=("optuna",),
    ),
    Package(
        "wandb",
        "0.31.0",
        "callbacks",
        uses="test_wandb.py",
        needs=(
            "click",
            "platformdirs",
            "sentry-sdk",
            "gitpython",
            "pydantic",
            "requests",
            "xxhash",
            "opentelemetry-sdk",
            "opentelemetry-exporter-otlp-proto-http",
        ),
        settings=(("WANDB_MODE", "offline"), ("WANDB_SILENT", "true")),
    ),
    Package(
        "mlflow",
        "3.18.0",
        "experiment tracking",
        uses="test_mlflow.py",
        needs=(
            "cachetools",
            "click",
            "cloudpickle",
            "databricks-sdk",
            "fastapi",
            "gitpython",
            "importlib_metadata",
            "opentelemetry-sdk",
            "opentelemetry-proto",
            "pyarrow",
            "python-dotenv",
            "pyyaml",
            "sqlparse",
            "sqlalchemy",
            "tensorboard",
            "uvicorn",
        ),
        settings=(("MLFLOW_ALLOW_FILE_STORE", "true"),),
    ),
    Package(
        "shap",
        "0.51.0",
        "explanations",
        uses="test_shap.py",
        needs=("scikit-learn", "numba", "slicer", "tqdm", "pandas"),
    ),
    Package(
        "keras-cv",
        "0.9.0",
        "models for images",
        uses="test_keras_cv.py",
        needs=("packaging", "absl-py", "regex", "dm-tree", "kagglehub", "tensorflow-datasets"),
    ),
    Package("keras-tcn", "3.5.7", "temporal convolutional networks", uses="test_keras_tcn.py"),
    Package(
        "deepctr", "0.9.4", "click-through prediction", uses="test_deepctr.py", needs=("requests",)
    ),
)
