"""`SKLearnClassifier`, `SKLearnRegressor`, `SKLearnTransformer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from tfkit.src.base.errors.never_called import Overridable
from tfkit.src.training.models.clone import clone_model
from tfkit.src.training.models.model import Model


class _Estimator(Overridable, BaseEstimator):
    """The common base of the estimators: the model to fit, and its data."""

    def __init__(
        self,
        model: Model | Callable[..., Model],
        warm_start: bool = False,
        model_kwargs: dict[str, Any] | None = None,
        fit_kwargs: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.warm_start = warm_start
        self.model_kwargs = model_kwargs
        self.fit_kwargs = fit_kwargs

    @property
    def epoch_(self) -> int:
        """The number of epochs that the last `fit` has run."""
        return len(self.history_.epoch)

    def fit(self, X: Any, y: Any, **kwargs: Any) -> Self:
        """Fits a model to data, and returns the estimator.

        Args:
            X: inputs, of shape `(samples, features)`.
            y: targets, of shape `(samples,)`.
            **kwargs: arguments of `Model.fit`, which come before those in `fit_kwargs`.

        Returns:
            The estimator.

        Raises:
            ValueError: for data that scikit-learn refuses.
            RuntimeError: for a model that is not compiled.
        """
        X, y = self._checked(X, y)
        targets = self._encoded(y)
        # With `warm_start` the training of the last `fit` continues.
        if not (self.warm_start and hasattr(self, "model_")):
            self.model_ = self._new_model(X, targets)
        arguments = {**(self.fit_kwargs or {}), **kwargs}
        self.history_ = self.model_.fit(X, targets, **arguments)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Returns the model's targets for inputs of shape `(samples, features)`."""
        return self._decoded(self._outputs(X))

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y)
        return X, y

    def _outputs(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "model_")
        return self.model_.predict(validate_data(self, X, reset=False), verbose=0)

    def _new_model(self, X: Any, targets: Any) -> Model:
        """Returns a compiled model with new weights."""
        if isinstance(self.model, Model):
            # scikit-learn requires that `fit` does not change the arguments of the constructor.
            model = clone_model(self.model)
            config = self.model.get_compile_config()
            if config is not None:
                model.compile_from_config(config)
        elif callable(self.model):
            model = self.model(X, targets, **(self.model_kwargs or {}))
        else:
            raise TypeError(
                "`model` must be a compiled model, or a function of `X` and `y` that gives one. "
                f"Received: model={self.model!r} (of type {type(self.model).__name__})"
            )
        if not isinstance(model, Model):
            raise TypeError(
                "The function `model` must give a compiled model. "
                f"Received: {model!r} (of type {type(model).__name__})"
            )
        if not model.compiled or model.loss is None or model.optimizer is None:
            raise RuntimeError(
                "Given model needs to be compiled, and have a loss and an optimizer. Call "
                "`model.compile(optimizer='adam', loss='mse')`, in the function that makes it. "
                f"Received: {model!r}"
            )
        return model

    def _encoded(self, y: Any) -> Any:
        if y is None:
            return None
        type_of_target(y, input_name="y", raise_unknown=True)
        # Models have an axis for their outputs.
        return y.reshape(-1, 1) if y.ndim == 1 else y

    def _decoded(self, outputs: np.ndarray) -> np.ndarray:
        return outputs[:, 0] if outputs.ndim == 2 and outputs.shape[1] == 1 else outputs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class SKLearnClassifier(ClassifierMixin, _Estimator):
    """A model as a classifier of scikit-learn.

    The model is fitted to one-hot vectors, `(samples, classes)`, and must return as many outputs.

    Args:
        model: a compiled model, of which each `fit` trains a copy with new weights; or a function
            `model(X, y, **model_kwargs)` that returns a compiled model for inputs and encoded targets.
        warm_start: whether `fit` continues with the existing model. Default: `False`.
        model_kwargs: further arguments of the function `model`.
        fit_kwargs: arguments of `Model.fit`.

    Attributes:
        model_: the fitted model.
        history_: the `History` of the last `fit`.
        classes_: the labels, sorted.

    Example:
        ```python
        def mlp(X, y, width=8):
            model = keras.Sequential(
                [
                    keras.Input(X.shape[1:]),
                    keras.layers.Dense(width, "relu"),
                    keras.layers.Dense(y.shape[1], "softmax"),
                ]
            )
            model.compile("adam", "categorical_crossentropy")
            return model


        flowers = SKLearnClassifier(mlp, model_kwargs={"width": 16}, fit_kwargs={"epochs": 5})
        flowers.fit(X, y).predict(X)
        ```
    """

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Returns the outputs of the model, of shape `(samples, classes)`."""
        return self._outputs(X)

    def _encoded(self, y: Any) -> Any:
        try:
            check_classification_targets(y)
        except TypeError as error:  # Labels of several types cannot be sorted.
            raise ValueError(
                f"Unknown label type: the labels cannot be compared. {error}"
            ) from None
        if self.warm_start and hasattr(self, "model_"):
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                raise ValueError(
                    f"With `warm_start=True`, `y` must have the classes of the first `fit`: {self.classes_}. "
                    f"Received: {unknown}"
                )
            indices = np.searchsorted(self.classes_, y)
        else:
            self.classes_, indices = np.unique(y, return_inverse=True)
        return np.eye(len(self.classes_))[indices.reshape(-1)]

    def _decoded(self, outputs: np.ndarray) -> np.ndarray:
        return self.classes_[np.argmax(outputs, axis=-1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A model may be too small, or trained too briefly, for the scores that scikit-learn checks.
        tags.classifier_tags.poor_score = True
        return tags


class SKLearnRegressor(RegressorMixin, _Estimator):
    """A model as a regressor of scikit-learn.

    The model is fitted to targets of shape `(samples, 1)`, and must return as many outputs.

    Args:
        model: a compiled model, of which each `fit` trains a copy with new weights; or a function
            `model(X, y, **model_kwargs)` that returns a compiled model for the inputs and the targets.
        warm_start: whether `fit` continues with the existing model. Default: `False`.
        model_kwargs: further arguments of the function `model`.
        fit_kwargs: arguments of `Model.fit`.

    Attributes:
        model_: the fitted model.
        history_: the `History` of the last `fit`.

    Example:
        ```python
        line = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
        line.compile("sgd", "mse")
        SKLearnRegressor(line, fit_kwargs={"epochs": 5, "verbose": 0}).fit(X, y).score(X, y)
        ```
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class SKLearnTransformer(TransformerMixin, _Estimator):
    """A model as a transformer of scikit-learn: its outputs are the new features.

    Args:
        model: a compiled model, of which each `fit` trains a copy with new weights; or a function
            `model(X, y, **model_kwargs)` that returns a compiled model for the inputs and the targets.
        warm_start: whether `fit` continues with the existing model. Default: `False`.
        model_kwargs: further arguments of the function `model`.
        fit_kwargs: arguments of `Model.fit`.

    Attributes:
        model_: the fitted model.
        history_: the `History` of the last `fit`.

    Example:
        ```python
        features = SKLearnTransformer(make_model, fit_kwargs={"verbose": 0})
        features.fit(X, y).transform(X)
        ```
    """

    def fit(self, X: Any, y: Any = None, **kwargs: Any) -> Self:
        """Fits a model to data, like `SKLearnRegressor.fit`, but `y` is optional."""
        return super().fit(X, y, **kwargs)

    def transform(self, X: Any) -> np.ndarray:
        """Returns the outputs of the model for inputs of shape `(samples, features)`."""
        return self._outputs(X)

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        return (validate_data(self, X), None) if y is None else super()._checked(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags
