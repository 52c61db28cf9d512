"""Completion scripts: `eval "$(recollect completion bash)"`."""

from __future__ import annotations

import click


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash   eval "$(recollect completion bash)"   in ~/.bashrc
    zsh    eval "$(recollect completion zsh)"    in ~/.zshrc
    fish   recollect completion fish | source    in config.fish
    """
    from click.shell_completion import get_completion_class

    from recollect.cli.main import program

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"No completion is known for {shell!r}.")
    click.echo(found(program, {}, "recollect", "_RECOLLECT_COMPLETE").source())
