"""How the documentation site is made: pages that follow from the code, typeset equations, and curves of real runs."""
