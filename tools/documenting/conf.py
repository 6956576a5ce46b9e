"""Configures Sphinx for the documentation site."""

from pathlib import Path

import tfkit

project = "tfkit"
author = "the tfkit authors"
release = version = tfkit.__version__
extensions = [
    *("myst_parser", "sphinx.ext.viewcode", "sphinx_copybutton"),
    *("documenting.extension", "documenting.editing"),
]

myst_enable_extensions = ["attrs_inline", "colon_fence", "fieldlist"]
myst_heading_anchors = 4
nitpicky = True
python_maximum_signature_line_length = 72
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
copybutton_prompt_text = ">>> |... "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "tfkit"
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scripts") / "search.js")
html_sidebars = {
    "**": [
        *(
            "sidebar/brand.html",
            "versions.html",
            "sidebar/search.html",
            "sidebar/scroll-start.html",
        ),
        *("sidebar/navigation.html", "sidebar/scroll-end.html"),
    ]
}
html_theme_options = {"top_of_page_buttons": ["edit"]}  # See `documenting.editing`.
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
