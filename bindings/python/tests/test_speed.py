"""The programs that are measured run."""

import subprocess
import sys
import unittest
from pathlib import Path

from support import LONG

SPEED = Path(__file__).resolve().parents[1] / "speed"


class Speed(unittest.TestCase):
    def measure(self, program, way, end, number):
        command = [sys.executable, SPEED / program]
        with subprocess.Popen([*command, "serve", way], stdout=subprocess.PIPE, text=True) as server:
            try:
                address = server.stdout.readline().strip()
                client = [*command, end, way, address, str(number), "0.001"]
                measured = subprocess.run(client, capture_output=True, text=True, timeout=LONG)
            finally:
                server.kill()
        self.assertEqual(measured.stderr, "")
        self.assertGreater(float(measured.stdout), 0)

    def test_each_program_prints_a_rate(self):
        for way in ("bertha", "streams"):
            for end in ("echo", "send"):
                with self.subTest(way=way, end=end):
                    self.measure("messages.py", way, end, 64)
        self.measure("calls.py", "bertha", "call", 2)


if __name__ == "__main__":
    unittest.main()
