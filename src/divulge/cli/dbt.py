# SPDX-License-Identifier: Apache-2.0
"""`divulge dbt`: requirements as tests of a dbt project, in plain SQL that runs in the database.

The package has one macro, `divulge.classes`, which returns every class of a relation with its
numbers. It also has a generic test for each metric whose formula over the sums of a class is known
(`Metric.sql`). A null is a value of its own, as everywhere; the prior is the relation's own
distribution. Counts are doubles, and differences are taken before they are divided, so that equal
shares differ by exactly 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from divulge import metrics
from divulge.cli import options
from divulge.errors import BadInput
from divulge.policy import Promise
from divulge.version import __version__

app = options.new_app()
_PROJECT = f"""# Written by `divulge dbt`, version {__version__}; write it anew to change it.
name: divulge
version: "{__version__}"
config-version: 2
macro-paths: ["macros"]
require-dbt-version: [">=1.8.0", "<2.0.0"]
"""
_CLASSES = """{#- Written by `divulge dbt`. Every class of people who agree in the quasi-identifiers, with its numbers.
    quasi_identifiers: the columns, as they are written in SQL. sensitive: the column that must not be learnt, if there is one.
    distance: of t-closeness, 'equal', or 'ordered' for numbers and dates. -#}
{% macro classes(relation, quasi_identifiers, sensitive=none, distance='equal') -%}
{%- set double = {'bigquery': 'float64', 'spark': 'double', 'databricks': 'double', 'trino': 'double', 'athena': 'double'}.get(
    target.type, 'double precision') -%}
{%- set keys = [] -%}
{%- for column in quasi_identifiers %}{% do keys.append('divulge_q' ~ loop.index) %}{% endfor -%}
{%- set by = keys | join(', ') -%}
with divulge_cells as (
    select {% for column in quasi_identifiers %}{{ column }} as {{ keys[loop.index0] }}, {% endfor -%}
        {{ sensitive if sensitive else '1' }} as attribute, cast(count(*) as {{ double }}) as n
    from {{ relation }}
    group by {{ quasi_identifiers | join(', ') }}{% if sensitive %}, {{ sensitive }}{% endif %}
),
divulge_masses as (
    select {{ by }}, n,
        sum(n) over (partition by {{ by }}) as class_size,
        sum(n) over (partition by attribute) as value_size,
        sum(n) over () as people,
        dense_rank() over (order by {{ by }}) as class_number,
        dense_rank() over (order by case when attribute is null then 1 else 0 end, attribute) as value_number
    from divulge_cells
),
divulge_totals as (
    select max(people) as people, max(class_number) as classes, max(value_number) as all_values,
        sum(n * ln(people / value_size)) / max(people) / ln(2) as prior_entropy,
        sum(n * value_size) as squares
    from divulge_masses
),
{%- if distance == 'ordered' %}
divulge_gaps as (
    select one.class_number,
        sum(coalesce(cell.n, 0) * totals.people - each_value.value_size * one.class_size) over (
            partition by one.class_number order by each_value.value_number rows between unbounded preceding and current row
        ) / (one.class_size * totals.people * case when totals.all_values > 1 then totals.all_values - 1 else 1 end) as gap
    from (select distinct class_number, class_size from divulge_masses) one
    cross join (select distinct value_number, value_size from divulge_masses) each_value
    cross join divulge_totals totals
    left join divulge_masses cell on cell.class_number = one.class_number and cell.value_number = each_value.value_number
),
divulge_moved as (
    select class_number, sum(abs(gap)) as distance from divulge_gaps group by class_number
),
{%- endif %}
divulge_sums as (
    select {{ by }}, class_number, max(class_size) as class_size, count(*) as distinct_values,
        sum(n * ln(class_size / n)) / max(class_size) / ln(2) as entropy,
        sum(abs(n * people - value_size * class_size)) / max(class_size) + (max(people) - sum(value_size)) as differences,
        sum((n * people - value_size * class_size) * (n * people - value_size * class_size)) / max(class_size) / max(class_size)
            as squared_differences,
        sum(value_size * value_size) as squares
    from divulge_masses
    group by {{ by }}, class_number
),
divulge_classes as (
    select {% for column in quasi_identifiers %}sums.{{ keys[loop.index0] }} as {{ column }}, {% endfor -%}
        sums.class_size, sums.distinct_values, sums.entropy, totals.people, totals.classes, totals.prior_entropy,
        {% if distance == 'ordered' %}moved.distance{% else %}sums.differences / totals.people / 2{% endif %} as distance,
        (sums.squared_differences + (totals.squares - sums.squares)) / totals.people / totals.people as squared_distance
    from divulge_sums sums
    cross join divulge_totals totals
    {%- if distance == 'ordered' %}
    join divulge_moved moved on moved.class_number = sums.class_number
    {%- endif %}
)
select {{ quasi_identifiers | join(', ') }}, class_size"""  # noqa: E501


def package() -> dict[str, str]:
    """Return the files of the package, by their path in it."""
    sql_metrics = [metric for metric in metrics.METRICS if metric.sql]
    columns = "".join(
        f",\n    {metric.sql} as {_name(metric)}\n"
        if metric.scope == "identity"
        else f"{{%- if sensitive %}},\n    {metric.sql} as {_name(metric)}{{% endif %}}\n"
        for metric in sql_metrics
    )
    macro = f"{_CLASSES}{columns}from divulge_classes\n{{%- endmacro %}}\n"
    files = {"dbt_project.yml": _PROJECT, "macros/classes.sql": macro}
    return files | {
        f"macros/{_name(metric)}.sql": "\n".join(_test(metric)) + "\n" for metric in sql_metrics
    }


def _name(metric: metrics.Metric[Any]) -> str:
    """Return the name of a metric in a requirement, with `identity` if attributes have one, too."""
    return Promise.name_of(metric).replace(" ", "_")


def _test(metric: metrics.Metric[Any]) -> Iterator[str]:
    """Yield a generic test that selects the classes beyond the bound, with the usual tolerance."""
    if metric.worse == "high":
        bound = "at_most"
        sign = ">"
    else:
        bound = "at_least"
        sign = "<"
    if metric.worse == "high":
        slack = f"+ {metrics.TOLERANCE}"
    else:
        slack = f"- {metrics.TOLERANCE}"
    if metric.scope == "identity":
        about = ""
    else:
        about = ", sensitive=none"
    if metric.by_distance:
        distance = ", distance='equal'"
    else:
        distance = ""
    if metric.scope == "identity":
        passed = ""
    else:
        passed = ", sensitive or column_name"
    if metric.by_distance:
        passed += ", distance"
    yield (
        f"{{#- Written by `divulge dbt`. {_name(metric)} {metric.sign} {bound}: {metric.plain} "
        f"({metric.source}). -#}}"
    )
    yield (
        f"{{% test {_name(metric)}(model, quasi_identifiers, {bound}{about}, "
        f"column_name=none{distance}) %}}"
    )
    yield (
        f"select * from (\n{{{{ divulge.classes(model, quasi_identifiers{passed}) }}}}\n) "
        "divulge_all"
    )
    yield f"where {_name(metric)} {sign} {{{{ {bound} }}}} {slack}"
    yield "{% endtest %}"


@app.command()
def dbt(folder: Path, force: bool, json_: bool) -> None:
    """Write a dbt package: a generic test for each of the usual promises, in plain SQL that runs where the data are.

    \b
    Examples:
      divulge dbt divulge_dbt
      divulge dbt divulge_dbt --force
    """  # noqa: E501
    files = package()
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is a file", hint="name a folder")
    if (
        folder.exists()
        and any(folder.iterdir())
        and not (force and (folder / "macros" / "classes.sql").is_file())
    ):
        raise BadInput(
            f"{folder} is not empty",
            hint="name another folder, or write a package anew with --force",
        )
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    tests = sorted(
        f"divulge.{Path(name).stem}"
        for name in files
        if name.startswith("macros/") and "classes" not in name
    )
    if json_:
        written = [str(folder / name) for name in files]
        options.emit_json(
            {"written": written, "tests": tests, "settings": {"divulge": __version__}}
        )
        return
    options.show(
        f"Written: {folder}, a dbt package with the tests {', '.join(tests)}.",
        f"Next: name it in packages.yml (- local: {folder}), run dbt deps, and put the tests "
        "beside your models.",
    )
