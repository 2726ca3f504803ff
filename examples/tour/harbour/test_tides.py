# SPDX-License-Identifier: Apache-2.0
"""What the harbour office says: the gate opens two hours before high water."""

import unittest

import tides


class Gate(unittest.TestCase):
    def test_two_hours_before_high_water(self):
        self.assertEqual(tides.gate_opens("14:30"), "12:30")

    def test_the_evening_before(self):
        self.assertEqual(tides.gate_opens("01:15"), "23:15")


if __name__ == "__main__":
    unittest.main()
