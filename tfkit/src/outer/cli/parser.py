"""The commands and their arguments: without NumPy and TensorFlow, so that help and errors take no time."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tfkit.src.base.names import did_you_mean
from tfkit.src.base.version import __version__
from tfkit.src.outer.launch import arguments as launch
from tfkit.src.outer.serving import arguments as serve

# The formats of `tfkit export` by its names; `tflite` is `litert`.
FORMATS = ("tf_saved_model", "onnx", "litert", "tflite", "openvino", "torch", "stablehlo")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that knows its arguments.

    Attributes:
        arguments: the arguments and options that were added.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.arguments: list[argparse.Action] = []
        super().__init__(*args, **kwargs)

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        """Adds an argument or option."""
        action: argparse.Action = super().add_argument(*args, **kwargs)
        self.arguments.append(action)
        return action

    def error(self, message: str) -> NoReturn:
        """Prints what is wrong in one line, without the usage, and exits with status 2."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{end} See {self.prog} --help\n")

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Prints which words are not arguments, with the option that is most similar to the first."""
        options = [option for each in self.arguments for option in each.option_strings]
        close = did_you_mean(words[0], options) if words[0].startswith("-") else ""
        self.error(f"unrecognized arguments: {' '.join(words)}.{close}")


class Command(NamedTuple):
    """A command.

    Attributes:
        summary: what it does, for the help.
        add_arguments: a function that adds its arguments to a parser.
        needs_tensorflow: whether it needs the package `tfkit` as a whole, and so TensorFlow.
        module: the module whose `run` receives the parsed arguments; `None` for the one next to this file
            that has the command's name.
    """

    summary: str
    add_arguments: Callable[[Parser], None]
    needs_tensorflow: bool = True
    module: str | None = None


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Returns the arguments of a command: its own, `command`, and `traceback`. Exits if they are wrong."""
    parser, commands = make_parsers()
    first = next((word for word in words if not word.startswith("-")), None)
    if first == "run":  # What follows belongs to the program, options too.
        before, after = words[: words.index(first)], words[words.index(first) + 1 :]
        traceback = "--traceback" in before
        return argparse.Namespace(command=first, program=[*after], traceback=traceback)
    if first is not None and first not in COMMANDS:
        expected = f" Expected one of: {', '.join(COMMANDS)}."
        close = did_you_mean(first, COMMANDS) or expected
        parser.error(f"there is no command {first!r}.{close}")
    args, rest = parser.parse_known_args(words)
    if rest:
        commands[args.command].refuse(rest)
    return args


def make_parsers() -> tuple[Parser, dict[str, Parser]]:
    """Returns the parser of the whole line, and those of the commands."""
    parser = Parser(
        prog="tfkit",
        description="Inspects, converts, exports and serves models of tfkit and Keras.",
        epilog="`tfkit COMMAND --help` lists the options of a command.",
    )
    parser.add_argument("--version", action="version", version=f"tfkit {__version__}")
    _add_traceback(parser, False)
    below = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    parsers: dict[str, Parser] = {}
    for name, command in COMMANDS.items():
        parsers[name] = below.add_parser(name, help=command.summary)
        parsers[name].description = f"{command.summary[0].upper()}{command.summary[1:]}."
        command.add_arguments(parsers[name])
        # Accepted on both sides of the command; without a default, the one in front of it stays.
        _add_traceback(parsers[name], argparse.SUPPRESS)
    return parser, parsers


def _add_traceback(parser: Parser, default: Any) -> None:
    parser.add_argument(
        "--traceback",
        action="store_true",
        default=default,
        help="show where an error comes from, with Python's traceback",
    )


def _add_file(parser: Parser) -> None:
    parser.add_argument("file", type=Path, help="a model or weights file")


def _add_inspect(parser: Parser) -> None:
    _add_file(parser)
    parser.add_argument("--config", action="store_true", help="print the configuration as JSON")


def _add_diff(parser: Parser) -> None:
    parser.add_argument("old", type=Path, help="a model or weights file")
    parser.add_argument("new", type=Path, help="another model or weights file")


def _add_source(parser: Parser) -> None:
    parser.add_argument("source", type=Path, help="a model of tfkit or Keras")
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="first import a Python module that registers your own classes",
    )


def _add_target(parser: Parser, what: str) -> None:
    parser.add_argument("target", type=Path, help=what)
    parser.add_argument("--overwrite", action="store_true", help="replace an existing target")


def _add_convert(parser: Parser) -> None:
    _add_source(parser)
    _add_target(parser, "the file to write; its extension determines the format: .h5 or .keras")
    parser.add_argument(
        "--no-compile", action="store_true", help="leave out the optimizer, its state and the loss"
    )


def _add_export(parser: Parser) -> None:
    _add_source(parser)
    _add_target(
        parser,
        "what to write; its extension determines the format: .onnx, .tflite, .xml (OpenVINO), .pt2 "
        "(PyTorch) or .mlir (StableHLO); without one it is the folder of a SavedModel",
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="the format, for a target without an extension"
    )
    parser.add_argument(
        "--select-tf-ops",
        action="store_true",
        help="for .tflite: use TensorFlow operations where LiteRT has no counterpart",
    )


def _add_plot(parser: Parser) -> None:
    _add_source(parser)
    _add_target(parser, "the picture; its extension determines the format, such as .svg or .png")


def _add_program(parser: Parser) -> None:
    parser.add_argument(
        "program", nargs="+", help="a script, -m MODULE, -c CODE or a program, with its arguments"
    )


def _add_completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="your shell")
    parser.epilog = (
        "bash: `source <(tfkit completion bash)` in ~/.bashrc. zsh: `source <(tfkit completion zsh)` in "
        "~/.zshrc, after compinit. fish: `tfkit completion fish > ~/.config/fish/completions/tfkit.fish`."
    )


COMMANDS = {
    "inspect": Command(
        "show what a file contains: configuration, weights, sizes; runs nothing",
        _add_inspect,
        needs_tensorflow=False,
    ),
    "verify": Command("verify all checksums of a file", _add_file, needs_tensorflow=False),
    "diff": Command("show the differences between two files", _add_diff, needs_tensorflow=False),
    "convert": Command("read a model and save it in a different format", _add_convert),
    "export": Command(
        "write a model for inference: SavedModel, ONNX, LiteRT, OpenVINO, PyTorch, StableHLO",
        _add_export,
    ),
    "summary": Command("print a table of a model's layers", _add_source),
    "plot": Command("draw a picture of a model's layers", _add_plot),
    "serve": Command(
        "serve exported models for a try: answers TF Serving's requests",
        serve.add_arguments,
        module="tfkit.src.outer.serving.command",
    ),
    "run": Command(
        "run a program written for Keras on tfkit", _add_program, needs_tensorflow=False
    ),
    "launch": Command(
        "run a script in all processes of a local cluster, to try distributed training",
        launch.add_arguments,
        module="tfkit.src.outer.launch.command",
    ),
    "completion": Command(
        "print a script that completes commands and options in your shell",
        _add_completion,
        needs_tensorflow=False,
    ),
}
