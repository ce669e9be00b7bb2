"""How an architecture is declared: once per name, with an option or without one."""

from __future__ import annotations

import pytest

from fl_config.errors import ConfigError
from fl_models import declaration
from fl_models.architectures.dense import linear_body
from fl_models.declaration import Inputs, architecture, no_option, one_option
from fl_models.model import Body


def test_a_model_of_ones_own_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declaration, "ARCHITECTURES", {})

    @architecture("twin", "linear again", takes="numbers", chosen_for={"moons": "twin"})
    def twin_body(inputs: Inputs, option: None) -> Body:
        return linear_body(inputs, option)

    found = declaration.ARCHITECTURES["twin"]
    assert (found.written, found.takes, found.chosen_for) == ("twin", "numbers", {"moons": "twin"})
    assert found.body is twin_body and found.body(Inputs((2, 3)), None).width == 6
    with pytest.raises(AssertionError, match="'twin' is declared twice"):
        architecture("twin", "once more", takes="numbers")(twin_body)


def test_what_follows_the_colon() -> None:
    no_option("linear", None)
    with pytest.raises(ConfigError, match="'linear:big' has the option 'big' after the colon, but 'linear' takes none"):
        no_option("linear:big", "big")
    read = one_option("bn")
    assert read("net", None) is False and read("net:bn", "bn") is True
    with pytest.raises(ConfigError, match="takes only 'bn', as in net:bn"):
        read("net:", "")
