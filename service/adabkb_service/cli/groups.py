"""Groups of commands, and commands that take the global options before their name or after it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from textwrap import fill
from typing import Any

from typer.core import TyperCommand, TyperGroup

GLOBAL = {"url": "--url", "token": "--token", "local": "--local", "retry_for": "--retry-for", "as_json": "--json"}
"""The global options by parameter. The root command declares them, and each command declares them again."""
NEGATIVE = re.compile(r"-(\.?[0-9].*|inf|infinity|nan)", re.IGNORECASE)
"""A negative number, which is a value, not an option."""
PROGRAM = "adabkb"
MOST = 3
"""The maximum number of commands that an error suggests."""
NEAR = 0.7
"""Similarity, from 0 to 1, above which one name is suggested in place of another."""

# Contexts and commands are click's; depending on its version, typer bundles a copy of click.


class Command(TyperCommand):
    """A command. Global options may stand before its name, and negative numbers among its arguments."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. A global option after the command overrides one before it."""
        given = [] if ctx.ignore_unknown_options else list(self._given(args))
        unknown = next((name for name, option in given if option is None), None)
        if unknown is None:
            _check_once(ctx, given)
            ctx.ignore_unknown_options = True  # negative numbers look like options
        else:
            args = [unknown, *args]  # click then reports this one, not a negative number
        rest: list[str] = super().parse_args(ctx, args)
        root = ctx.find_root()
        taken = self.global_options()
        for name, option in GLOBAL.items():
            if root is ctx or _source(root, name) in ("DEFAULT", ""):
                continue
            if option in taken:
                if _source(ctx, name) != "COMMANDLINE":
                    ctx.params[name] = root.params[name]
            elif _source(root, name) == "COMMANDLINE":
                ctx.fail(f"{ctx.command_path} does not take {option}; leave it out.")
        return rest

    def global_options(self) -> list[str]:
        """Return the global options that the command takes."""
        own = {option for parameter in self.params for option in parameter.opts}
        return [option for option in GLOBAL.values() if option in own]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options with their help. Those of a panel follow in a short list below its title, without help."""
        params = self.params
        panels: dict[str, list[Any]] = {}
        for option in params:
            if title := getattr(option, "rich_help_panel", None):
                panels.setdefault(title, []).append(option)
        self.params = [option for option in params if not any(option in panel for panel in panels.values())]
        try:
            super().format_options(ctx, formatter)
        finally:
            self.params = params
        for title, options in panels.items():
            with formatter.section(title):
                indent = " " * formatter.current_indent
                text = ", ".join(map(_in_short, options))
                lines = fill(
                    text, formatter.width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
                )
                formatter.write(f"{lines}\n")

    def _given(self, args: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """Yield the names of the options among the arguments, each with the option; None if the command does not have
        it."""
        known = {name: option for option in self.params for name in option.opts if name.startswith("-")}
        words = iter(args)
        for word in words:
            if word == "--":
                break
            name, equals, _ = word.partition("=")
            if name in known:
                yield name, known[name]
                if not (equals or getattr(known[name], "is_flag", False)):
                    next(words, None)
            elif word.startswith("-") and word not in ("-", "--help") and NEGATIVE.fullmatch(word) is None:
                yield word, None


class Group(TyperGroup):
    """A group that imports a command only when it is used, since importing all commands takes seconds.

    Args:
        members: functions that make the commands, by name.
        group: the group's name; empty for the program itself.
        sections: the names below each heading of the help; empty for a single list.
        elsewhere: what to do instead, by names that are not commands.
        summaries: one-line descriptions, so that the help need not import the commands.
        paths: the paths of all commands by their last word, to suggest one for an unknown name.
        options: the options of ``TyperGroup``.
    """

    def __init__(
        self,
        *,
        members: Mapping[str, Callable[[], Any]],
        paths: Mapping[str, Sequence[str]],
        elsewhere: Mapping[str, str],
        group: str = "",
        sections: Mapping[str, Sequence[str]] | None = None,
        summaries: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        names: Any = dict.fromkeys(members)
        self.commands = names
        self._members = members
        self._paths = paths
        self._elsewhere = elsewhere
        self._group = group
        self._sections = sections or {"Commands": list(members)}
        self._summaries = summaries or {}

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 (click's)
        """Return the command with this name, or None."""
        return self._members[cmd_name]() if cmd_name in self._members else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the arguments name. An error suggests similar ones."""
        name = args[0]
        if not (name in self._members or name.startswith("-") or ctx.resilient_parsing):
            ctx.fail(f"No such command {name!r}. {self._hint(name.replace('_', '-'))}".rstrip())
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below their headings."""
        width = formatter.width - 6 - max(map(len, self._members))
        for heading, names in self._sections.items():
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, self._summaries.get(name) or self.get_command(ctx, name).get_short_help_str(width))
                        for name in names
                    ]
                )

    def _hint(self, name: str) -> str:
        """Return what to do instead of a command that does not exist; empty if that is unknown."""
        if name in self._elsewhere:
            return self._elsewhere[name]
        meant = " or ".join(f"{PROGRAM} {path}" for path in self._meant(name)[:MOST])
        return f"Did you mean {meant}?" if meant else ""

    def _meant(self, name: str) -> list[str]:
        """Return the paths of commands to suggest: of the same name in other groups, of the same two words in another
        order, as in add-result, or of a similar name."""
        if name in self._paths:
            return list(self._paths[name])
        words = name.split("-")
        both = [f"{first.removesuffix('s')} {last}" for first, last in (words, words[::-1])] if len(words) == 2 else []
        if found := [path for path in both if path in self._paths.get(path.partition(" ")[2], ())]:
            return found
        here = [f"{self._group} {each}".strip() for each in get_close_matches(name, self._members, MOST, NEAR)]
        anywhere = [path for each in get_close_matches(name, self._paths, MOST, NEAR) for path in self._paths[each]]
        return here or anywhere


def _check_once(ctx: Any, given: Sequence[tuple[str, Any]]) -> None:
    """Refuse an option that has one value and is given twice, since the first value would be ignored."""
    found = set[str]()
    for name, option in given:
        if name in found:
            ctx.fail(f"{name} is given twice; give it once.")
        if not (option.multiple or option.is_flag):
            found.add(name)


def _in_short(option: Any) -> str:
    """Return an option as in a list of options; "--prior NAME=JSON..." may be repeated."""
    value = "" if option.is_flag else f" {option.metavar}"
    return f"{option.opts[0]}{value}{'...' if option.multiple else ''}"


def _source(context: Any, name: str) -> str:
    """Return the source of an option's value: COMMANDLINE, ENVIRONMENT or DEFAULT; empty without such an option."""
    return getattr(context.get_parameter_source(name), "name", "")
