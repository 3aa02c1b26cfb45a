"""How Sphinx makes the site of `make docs`; antsibull-docs writes its sources."""

from __future__ import annotations

project = "lockstep.kubernetes"
copyright = "The Lockstep authors"  # noqa: A001
html_title = html_short_title = "Lockstep"

extensions = ["sphinx_antsibull_ext"]
html_theme = "sphinx_ansible_theme"
html_show_sphinx = False
html_use_index = False
html_copy_source = False
pygments_style = "ansible"
highlight_language = "YAML+Jinja"
default_role = "any"

# The site is built without a network: what other collections' pages define can't be looked up.
suppress_warnings = ["ref.ref"]
