//! Commands on one line, as people type them.

use std::ops::Range;

/// The words of a line, without their quotes.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// All words, one behind the other.
    bytes: Vec<u8>,
}

/// A quote has no other one, or a word goes on right behind its closing quote.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unbalanced;

impl Words {
    /// The bytes in which the places of words lie.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives back the memory beyond `kept` bytes.
    pub(super) fn release(&mut self, kept: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(kept);
    }

    /// Divides `line` into words as Redis does, and appends their places to `places`. Blanks separate words. Within `"..."` a backslash
    /// escapes: `\n`, `\r`, `\t`, `\b`, `\a`, `\xHH`, and any other byte for itself. Within `'...'`, `\'` is a quote.
    ///
    /// # Errors
    /// [`Unbalanced`]; the places mean nothing then.
    pub(super) fn divide(&mut self, line: &[u8], places: &mut Vec<Range<usize>>) -> Result<(), Unbalanced> {
        self.bytes.clear();
        let mut rest = line;
        loop {
            while let [blank, behind @ ..] = rest
                && is_blank(*blank)
            {
                rest = behind;
            }
            if rest.is_empty() {
                return Ok(());
            }
            let begin = self.bytes.len();
            rest = self.word(rest)?;
            places.push(begin..self.bytes.len());
        }
    }

    /// Takes one word off the front. What is left.
    fn word<'a>(&mut self, mut rest: &'a [u8]) -> Result<&'a [u8], Unbalanced> {
        loop {
            rest = match rest {
                [] => return Ok(rest),
                [b' ' | b'\n' | b'\r' | b'\t', behind @ ..] => return Ok(behind),
                [b'"', behind @ ..] => return end_of_word(self.double_quoted(behind)?),
                [b'\'', behind @ ..] => return end_of_word(self.single_quoted(behind)?),
                [byte, behind @ ..] => {
                    self.bytes.push(*byte);
                    behind
                }
            }
        }
    }

    fn double_quoted<'a>(&mut self, mut rest: &'a [u8]) -> Result<&'a [u8], Unbalanced> {
        loop {
            let (byte, behind) = match rest {
                [] => return Err(Unbalanced),
                [b'"', behind @ ..] => return Ok(behind),
                [b'\\', b'x', high, low, behind @ ..] if is_hexadecimal(*high, *low) => {
                    (16 * digit(*high) + digit(*low), behind)
                }
                [b'\\', escaped, behind @ ..] => (unescaped(*escaped), behind),
                [byte, behind @ ..] => (*byte, behind),
            };
            self.bytes.push(byte);
            rest = behind;
        }
    }

    fn single_quoted<'a>(&mut self, mut rest: &'a [u8]) -> Result<&'a [u8], Unbalanced> {
        loop {
            let (byte, behind) = match rest {
                [] => return Err(Unbalanced),
                [b'\\', b'\'', behind @ ..] => (b'\'', behind),
                [b'\'', behind @ ..] => return Ok(behind),
                [byte, behind @ ..] => (*byte, behind),
            };
            self.bytes.push(byte);
            rest = behind;
        }
    }
}

/// A blank has to follow a closing quote, or nothing.
fn end_of_word(rest: &[u8]) -> Result<&[u8], Unbalanced> {
    match rest {
        [] => Ok(rest),
        [blank, ..] if is_blank(*blank) => Ok(rest),
        _ => Err(Unbalanced),
    }
}

/// The blanks of C: those of ASCII in Rust, and the vertical tabulator.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b'\x0b'
}

fn is_hexadecimal(high: u8, low: u8) -> bool {
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
}

/// The value of a hexadecimal digit.
fn digit(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => 10 + ((digit | 0x20) - b'a') % 16,
    }
}

fn unescaped(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => b'\x08',
        b'a' => b'\x07',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &[u8]) -> Option<Vec<Vec<u8>>> {
        let (mut words, mut places) = (Words::default(), Vec::new());
        words.divide(line, &mut places).ok()?;
        Some(places.into_iter().map(|place| words.bytes()[place].to_vec()).collect())
    }

    #[test]
    fn quotes_and_escapes_are_those_of_redis() {
        for (line, expected) in [
            (&b"set q \"a b\"\r\n"[..], &[&b"set"[..], b"q", b"a b"][..]),
            (b"\"\" ''", &[b"", b""]),
            (b" a\"b c\" 'd e'\t", &[b"ab c", b"d e"]),
            (b"\"\\x41\\xfF\\xZ1\\n\\r\\t\\b\\a\\\\\\\"\"", &[b"A\xffxZ1\n\r\t\x08\x07\\\""]),
            (b"'it\\'s \\n'", &[b"it's \\n"]),
            (b"\x0b a\x0bb", &[b"a\x0bb"]),
            (b" \r\n", &[]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{}", line.escape_ascii());
        }
        for line in [&b"\"a"[..], b"'a", b"a\\'b", b"\"a\"b", b"'it''s'", b"a\"b\"c", b"\"\\", b"\"\\\""] {
            assert_eq!(words(line), None, "{}", line.escape_ascii());
        }
    }
}
