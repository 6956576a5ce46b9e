"""What a notebook shows, in a real one."""

import importlib.util
import json
from pathlib import Path

import tfkit as keras
from tfkit.src.training.models.summary import html_summary

_spec = importlib.util.spec_from_file_location(
    "environments", Path(__file__).with_name("environments.py")
)
environments = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(environments)

NOTEBOOK = """
import json, nbclient, nbformat
cells = [
    "import tfkit as keras; model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3)])",
    "model.summary()",
    "model",
    "bar = keras.utils.Progbar(80); bar.update(1); bar.update(80)",
    "model.compile('sgd', 'mse'); model.fit(keras.ops.ones((2, 4)), keras.ops.ones((2, 3)), verbose=0)",
    "print(get_ipython().object_inspect('keras.layers.Dense')['init_definition'] or "
    "get_ipython().object_inspect('keras.layers.Dense')['definition'])",
    "print([name for name in dir(keras.wrappers) + dir(model) if name.startswith(('SKL', 'fit'))])",
]
book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
nbclient.NotebookClient(book, kernel_name="python3", timeout=200).execute()
kept = [[o for o in cell.outputs if o.get("name") != "stderr"] for cell in book.cells]
shown = [[o.get("text") or o.get("data") for o in outputs] for outputs in kept]
print(json.dumps(shown))
"""


def test_a_notebook(tmp_path):
    environments.needs("nbclient", "tools")
    environments.needs("ipykernel", "tools")
    _, summary, model, bar, history, asked, names = json.loads(
        environments.run(NOTEBOOK, tmp_path).splitlines()[-1]
    )
    assert len(summary) == 1
    assert "<table>" in summary[0]["text/html"]
    assert "Total params" in summary[0]["text/plain"]
    assert "<table>" in model[0]["text/html"]
    # One bar, drawn twice in the same place.
    (bar,) = bar
    assert '<progress value="80" max="80">' in bar["text/html"]
    assert bar["text/plain"].startswith("80/80 ")
    (history,) = history
    assert "<th>loss</th>" in history["text/html"]
    assert "activation" in asked[0]
    assert "SKLearnClassifier" in names[0]
    assert "'fit'" in names[0]


def test_the_table_is_safe_html():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="<b>")], name="a&b")
    table = html_summary(model)
    assert "<b>Model: &quot;a&amp;b&quot;</b><table>" in table
    assert "<td>&lt;b&gt; (Dense)</td><td>(None, 3)</td><td>15</td>" in table
    assert model._repr_html_() == table
