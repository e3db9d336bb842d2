"""The programs of the guide print what it says."""

import re
import unittest
from pathlib import Path

from support import program

GUIDE = Path(__file__).resolve().parents[3] / "src" / "guide" / "python.md"


class Guide(unittest.TestCase):
    def test_programs_print_what_the_guide_says(self):
        found = re.findall(r"```python\n(.*?)```\n+(?:[^`\n]*prints:?\n\n```text\n(.*?)```)?", GUIDE.read_text(), re.S)
        self.assertGreaterEqual(len(found), 2)
        for text, printed in found:
            with self.subTest(text=text):
                self.assertEqual(program(text).stdout, printed)


if __name__ == "__main__":
    unittest.main()
