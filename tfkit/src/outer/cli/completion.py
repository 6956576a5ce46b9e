"""`tfkit completion SHELL`: prints a script with which a shell completes commands, options and their values.

The script contains all of them, so that completion starts no Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from tfkit.src.base.terminal import say
from tfkit.src.outer.cli.parser import COMMANDS, Parser, make_parsers


def run(args: argparse.Namespace) -> int:
    """Prints the script."""
    parser, commands = make_parsers()
    say("\n".join(_SCRIPTS[args.shell](parser, commands)))
    return 0


def _bash(parser: Parser, commands: dict[str, Parser]) -> Iterator[str]:
    words = [*commands, *_options(parser)]
    yield "_tfkit() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" words="" values=""'
    yield '  case "$COMP_CWORD ${COMP_WORDS[1]} ${COMP_WORDS[COMP_CWORD-1]}" in'
    yield f'    1\\ *) values="{" ".join(words)}" ;;'
    for name, command in commands.items():
        for action in command.arguments:
            # After the option, or for an argument after the command itself.
            for before in action.option_strings or [name] if action.choices else ():
                yield f'    *\\ {name}\\ {before}) values="{_values(action)}" ;;'
    yield "  esac"
    yield '  case "${COMP_WORDS[1]}" in'
    for name, command in commands.items():
        yield f'    {name}) words="{" ".join(_options(command))}" ;;'
    yield "  esac"
    yield '  [[ $word == -* ]] && values="$values $words"'
    yield '  COMPREPLY=($(compgen -W "$values" -- "$word"))'
    yield "}"
    # Without a match, names of files.
    yield "complete -o default -F _tfkit tfkit"


def _zsh(parser: Parser, commands: dict[str, Parser]) -> Iterator[str]:
    yield "#compdef tfkit"
    yield "_tfkit() {"
    yield "  if (( CURRENT == 2 )); then"
    yield "    local -a commands=("
    for name in commands:
        yield f"      {_quoted(f'{name}:{COMMANDS[name].summary}')}"
    yield "    )"
    yield f"    _describe command commands; compadd -- {' '.join(_options(parser))}; return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  shift words; (( CURRENT-- ))"
    yield "  case $command in"
    for name, command in commands.items():
        rules = [_quoted(rule) for action in command.arguments for rule in _zsh_rules(action)]
        yield f"    {name}) _arguments {' '.join(rules)} ;;"
    yield "  esac"
    yield "}"
    yield "compdef _tfkit tfkit"


def _zsh_rules(action: argparse.Action) -> Iterator[str]:
    # In its rules, brackets and colons have a meaning.
    about = "".join({"[": "(", "]": ")", ":": ","}.get(each, each) for each in _summary(action))
    values = f"({_values(action)})" if action.choices else "_files"
    if not action.option_strings:
        yield f"*:{action.dest}:{values}"
    for option in action.option_strings:
        yield f"{option}[{about}]{f':{action.dest}:{values}' if action.nargs != 0 else ''}"


def _fish(parser: Parser, commands: dict[str, Parser]) -> Iterator[str]:
    for name in commands:
        summary = _quoted(COMMANDS[name].summary)
        yield f"complete -c tfkit -n __fish_use_subcommand -f -a {name} -d {summary}"
    for name, each in [("", parser), *commands.items()]:
        seen = f"'__fish_seen_subcommand_from {name}'" if name else "__fish_use_subcommand"
        for action in each.arguments:
            values = f" -x -a '{_values(action)}'" if action.choices else ""
            needs = values or (" -r" if action.option_strings and action.nargs != 0 else "")
            names = [
                f" -l {it[2:]}" if it.startswith("--") else f" -s {it[1:]}"
                for it in action.option_strings
            ]
            if names or values:
                about = f" -d {_quoted(_summary(action))}" if names else ""
                yield f"complete -c tfkit -n {seen}{''.join(names)}{needs}{about}"


def _options(parser: Parser) -> list[str]:
    return [option for each in parser.arguments for option in each.option_strings]


def _values(action: argparse.Action) -> str:
    return " ".join(map(str, action.choices or ()))


def _summary(action: argparse.Action) -> str:
    """Returns the help of an argument, as far as it is short, without its default."""
    return (action.help or "").partition(" (default")[0].partition(";")[0]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "") + "'"


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
