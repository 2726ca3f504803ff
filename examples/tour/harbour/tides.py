# SPDX-License-Identifier: Apache-2.0
"""When the gate of the harbour opens."""

BEFORE_HIGH_WATER = 60  # minutes


def gate_opens(high_water):
    """The time at which the gate opens, as HH:MM, when high water is at this time of the same day or the next."""
    hours, minutes = map(int, high_water.split(":"))
    at = (hours * 60 + minutes - BEFORE_HIGH_WATER) % (24 * 60)
    return f"{at // 60:02}:{at % 60:02}"
