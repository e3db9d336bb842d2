//! Passing over the rest of a command for which there is no memory.

use super::Limits;
use super::number::number;

/// The longest line with the length of an argument.
const LONGEST_LINE: usize = 34;

/// The bytes behind an argument.
const END: usize = 2;

/// The part of a command that has not arrived, as far as it is known.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::resp) struct Skip {
    /// The bytes of the argument that is arriving, its end included.
    rest: usize,
    /// The arguments behind it.
    left: usize,
    /// The beginning of the line with the length of the next argument.
    line: Vec<u8>,
}

impl Skip {
    /// `rest` bytes of an argument are to come, and `left` arguments behind it, the line of whose first has begun.
    pub(super) fn new(rest: usize, left: usize, line: &[u8]) -> Self {
        Self { rest, left, line: line.to_vec() }
    }

    /// Passes over bytes of the command at the front of `bytes`. Returns their number, and true if the command ends behind them.
    ///
    /// # Errors
    /// If the bytes are no command.
    pub(in crate::resp) fn pass(&mut self, bytes: &[u8], limits: &Limits) -> Result<(usize, bool), String> {
        let mut at = 0;
        loop {
            let passed = self.rest.min(bytes.len() - at);
            self.rest -= passed;
            at += passed;
            if self.rest > 0 || self.left == 0 {
                return Ok((at, self.rest == 0));
            }
            let Some(byte) = bytes.get(at) else { return Ok((at, false)) };
            self.line.push(*byte);
            at += 1;
            if *byte == b'\n' {
                let length = self.line.strip_prefix(b"$").and_then(|line| line.strip_suffix(b"\r\n"));
                let length = length.and_then(number).and_then(|length| usize::try_from(length).ok());
                let length = length.filter(|length| *length <= limits.argument);
                self.rest = length.ok_or("invalid bulk length")? + END;
                self.left -= 1;
                self.line.clear();
            } else if self.line.len() >= LONGEST_LINE {
                return Err("too big bulk count string".to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::wire::{Found, Scan};

    const COMMAND: &[u8] = b"*3\r\n$3\r\nSET\r\n$4\r\nname\r\n$10\r\n0123456789\r\n";

    /// Wherever the memory ends, and in whatever pieces the rest comes, the next command is found.
    #[test]
    fn a_command_is_passed_over_to_its_end() {
        for held in 4..COMMAND.len() {
            for piece in [1, 2, 7, 100] {
                let mut scan = Scan::default();
                let (begun, rest) = COMMAND.split_at(held);
                assert_eq!(scan.find(begun, &Limits::ALL), Found::Part);
                let mut skip = scan.skip(begun).unwrap();
                let all = [rest, b"PING\r\n"].concat();
                let mut passed = 0;
                for piece in all.chunks(piece) {
                    let (taken, ends) = skip.pass(piece, &Limits::ALL).unwrap();
                    passed += taken;
                    if ends {
                        break;
                    }
                }
                assert_eq!(&all[passed..], b"PING\r\n", "{held} {piece}");
            }
        }
    }

    #[test]
    fn bytes_that_are_no_command_are_told() {
        for bytes in [&b"x5\r\n"[..], b"$-1\r\n", b"$99999999999\r\n", b"$1111111111111111111111111111111111"]
        {
            assert!(Skip::new(0, 1, b"").pass(bytes, &Limits::ALL).is_err(), "{bytes:?}");
        }
    }
}
