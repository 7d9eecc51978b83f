"""``wilds-targeted recipes``."""

from __future__ import annotations

import json

import click


@click.command("recipes")
@click.argument("name", required=False)
@click.option("-d", "--dataset", metavar="NAME", help="Only those of this data set: iwildcam, camelyon17 or birdcalls.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
def command(name: str | None, dataset: str | None, as_json: bool) -> None:
    """List the rows of the paper's tables, or tell all of the one called NAME.

    For each row: what is trained, what is tuned and over which range, with how many runs, and what the paper found.
    NAME may also be a file of your own, in the form that docs/recipes.md describes.

    \b
      wilds-targeted recipes
      wilds-targeted recipes --dataset camelyon17
      wilds-targeted recipes iwildcam/copypaste_samey
      wilds-targeted reproduce iwildcam/copypaste_samey --root_dir data
    """
    from wilds_targeted.errors import ConfigError, UnknownNameError, closest
    from wilds_targeted.experiments.recipes import get_recipe, load_recipes
    from wilds_targeted.experiments.recipes.telling import as_data, page, table

    if name is not None:
        if dataset is not None:
            raise ConfigError("--dataset shortens the list, and NAME asks for one recipe: give one of the two.")
        recipe = get_recipe(name)
        click.echo(json.dumps(as_data(recipe), indent=2) if as_json else page(recipe))
        return
    recipes = [recipe for recipe in load_recipes().values() if dataset in (None, recipe.dataset)]
    if not recipes:
        known = dict.fromkeys(recipe.dataset for recipe in load_recipes().values())
        raise UnknownNameError(
            f"there is no recipe for data set {dataset!r}{closest(str(dataset), known)}; "
            f"there are some for {', '.join(known)}."
        )
    if as_json:
        click.echo(json.dumps([as_data(recipe) for recipe in recipes], indent=2))
        return
    click.echo(table(recipes))
    click.echo("\nAll of one: wilds-targeted recipes NAME\nTo run it:  wilds-targeted reproduce NAME --root_dir data")
