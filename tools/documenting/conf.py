"""Configures Sphinx for the documentation site."""

import tfkit

project = "tfkit"
author = "the tfkit authors"
release = version = tfkit.__version__
extensions = ["myst_parser", "sphinx.ext.viewcode", "sphinx_copybutton", "documenting.extension"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "fieldlist"]
myst_heading_anchors = 4
nitpicky = True
python_maximum_signature_line_length = 72
python_use_unqualified_type_names = True
toc_object_entries = False  # See `extension.list_entries`.
copybutton_prompt_text = ">>> |... "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "tfkit"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
