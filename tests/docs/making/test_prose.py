"""Docstrings as Markdown: what is indented stays as it is, the rest is prose without marks."""

from __future__ import annotations

from docs.making.prose import as_markdown, escaped

TEXT = """\
A weighting: w_i grows with n_i.

Doe et al., eq. (3):
    w_i = n_i / sum_j n_j,
        j in S
Chosen here, with `w_i` as code:

- one choice that takes
  two lines
- a second
And so on.

    w = 1

The end."""

PAGE = """\
A weighting: w\\_i grows with n\\_i.

Doe et al., eq. (3):

```text
w_i = n_i / sum_j n_j,
    j in S
```

Chosen here, with `w_i` as code:

- one choice that takes
  two lines
- a second

And so on.

```text
w = 1
```

The end."""


def test_paragraphs_equations_and_lists() -> None:
    assert "\n".join(as_markdown(TEXT)) == PAGE
    assert list(as_markdown("    x = 1")) == ["", "```text", "x = 1", "```", ""]


def test_no_sign_means_something_but_in_code() -> None:
    assert escaped("a*b <c> [d] $5 `e_f|g` |h|") == r"a\*b \<c\> \[d\] \$5 `e_f|g` \|h\|"
