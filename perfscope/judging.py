"""What counts as the main part, as alone and as sure, for all parts that judge: declared once."""

MAIN = 0.5
"""Of a whole: what is more is its main part, of which there is one at most."""

ALONE = 0.8
"""Of what all ranks do: who does more of it does it alone; the rest is what samples mistake."""

SURE = 1.96
"""Standard errors on each side of an interval of 95 %."""

FEWEST_SAMPLES = 3
"""In which something is seen: fewer are chance."""

NEGLIGIBLE = 1e-3
"""Of a whole: what is less changes no figure that is shown."""
