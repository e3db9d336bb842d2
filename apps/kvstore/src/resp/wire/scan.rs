//! Finding the end of a command.

use super::inline::Words;
use super::number::number;
use super::{CommandArguments, Limits, Skip};
use std::ops::Range;

/// The longest command in bytes.
const LONGEST_COMMAND: usize = 64 << 20;

/// The longest line with a number.
const LONGEST_NUMBER: usize = 32;

/// The longest command on one line.
const LONGEST_INLINE: usize = 64 << 10;

/// The room for places of arguments, and for bytes of words, that is kept from one command to the next.
const KEPT: usize = 1 << 10;

/// The front of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::resp) enum Found {
    /// A whole command of so many bytes.
    Command(usize),
    /// So many bytes that mean nothing: an empty line, or a command without arguments.
    Nothing(usize),
    /// The beginning of a command.
    Part,
    /// No command. The reason, as clients are told.
    Malformed(String),
}

/// How far a command has been read. It goes on where it stopped when more bytes have arrived, so that a command in many pieces is
/// read once.
#[derive(Debug, Default)]
pub(in crate::resp) struct Scan {
    /// The bytes that were read.
    at: usize,
    /// The arguments that are still to come, once it is known.
    left: Option<usize>,
    /// The length of the argument at `at`, once it is known.
    length: Option<usize>,
    /// Where the arguments are.
    places: Vec<Range<usize>>,
    /// The words of a command on one line, in which its arguments lie.
    words: Words,
    is_inline: bool,
}

impl Scan {
    /// The arguments of a [`Found::Command`] in the `bytes` that it was found in, until they are [released](Self::release).
    pub(in crate::resp) fn arguments<'a>(&'a self, bytes: &'a [u8]) -> CommandArguments<'a> {
        let bytes = if self.is_inline { self.words.bytes() } else { bytes };
        CommandArguments::new(bytes, &self.places)
    }

    /// Forgets the arguments, and gives back the memory of many.
    pub(in crate::resp) fn release(&mut self) {
        self.places.clear();
        self.places.shrink_to(KEPT);
        self.words.release(KEPT);
    }

    /// The memory that the places of arguments take, in bytes.
    pub(in crate::resp) fn memory(&self) -> usize {
        self.places.capacity() * size_of::<Range<usize>>()
    }

    /// Gives up a command of which `begun` has arrived, and returns what is left to come of it. `None` if too little of it is known.
    pub(in crate::resp) fn skip(&mut self, begun: &[u8]) -> Option<Skip> {
        let (at, left, length) = (self.at, self.left.filter(|_| !self.is_inline)?, self.length);
        (self.at, self.left, self.length) = (0, None, None);
        self.release();
        Some(match length {
            Some(length) => {
                Skip::new((at + length + 2).saturating_sub(begun.len()), left.saturating_sub(1), b"")
            }
            None => Skip::new(0, left, begun.get(at..).unwrap_or_default()),
        })
    }

    /// Looks for the end of the command at the front of `bytes`, which begin with those of the calls before that found a part.
    pub(in crate::resp) fn find(&mut self, bytes: &[u8], limits: &Limits) -> Found {
        let found = self.go_on(bytes, limits).unwrap_or_else(Found::Malformed);
        if found != Found::Part {
            (self.at, self.left, self.length) = (0, None, None);
        }
        found
    }

    fn go_on(&mut self, bytes: &[u8], limits: &Limits) -> Result<Found, String> {
        let mut left = match self.left {
            Some(left) => left,
            None => match bytes.first() {
                None => return Ok(Found::Part),
                Some(b'*') => {
                    let Some(line) = line(bytes, 0, "multibulk")? else { return Ok(Found::Part) };
                    let count = number(line.number).ok_or("invalid multibulk length")?;
                    let Ok(left @ 1..) = usize::try_from(count) else { return Ok(Found::Nothing(line.end)) };
                    if left > limits.arguments {
                        return Err(format!("{} multibulk length", limits.whose));
                    }
                    (self.at, self.left, self.is_inline) = (line.end, Some(left), false);
                    left
                }
                Some(_) => return self.inline(bytes),
            },
        };
        while left > 0 {
            let length = match self.length {
                Some(length) => length,
                None => {
                    match bytes.get(self.at) {
                        None => return Ok(Found::Part),
                        Some(b'$') => {}
                        Some(other) => return Err(format!("expected '$', got '{}'", other.escape_ascii())),
                    }
                    let Some(line) = line(bytes, self.at, "bulk")? else { return Ok(Found::Part) };
                    let length = number(line.number).and_then(|length| usize::try_from(length).ok());
                    let length = length.ok_or("invalid bulk length")?;
                    if length > limits.argument {
                        return Err(format!("{} bulk length", limits.whose));
                    }
                    if line.end + length > LONGEST_COMMAND {
                        return Err(format!("command of more than {LONGEST_COMMAND} bytes"));
                    }
                    (self.at, self.length) = (line.end, Some(length));
                    length
                }
            };
            let place = self.at..self.at + length;
            match bytes.get(place.end..place.end + 2) {
                None => return Ok(Found::Part),
                Some(b"\r\n") => {}
                Some(_) => return Err("argument is longer than its length says".to_owned()),
            }
            self.at = place.end + 2;
            self.places.push(place);
            left -= 1;
            (self.left, self.length) = (Some(left), None);
        }
        Ok(Found::Command(self.at))
    }

    /// A command on one line.
    fn inline(&mut self, bytes: &[u8]) -> Result<Found, String> {
        let end = bytes.iter().skip(self.at).position(|byte| *byte == b'\n').map(|further| self.at + further);
        if end.unwrap_or(bytes.len()) > LONGEST_INLINE {
            return Err("too big inline request".to_owned());
        }
        let Some(end) = end else {
            self.at = bytes.len();
            return Ok(Found::Part);
        };
        self.is_inline = true;
        let line = bytes.get(..end).unwrap_or_default();
        self.words.divide(line, &mut self.places).map_err(|_| "unbalanced quotes in request")?;
        Ok(if self.places.is_empty() { Found::Nothing(end + 1) } else { Found::Command(end + 1) })
    }
}

struct Line<'a> {
    /// Between the first byte, which says its kind, and the line's end.
    number: &'a [u8],
    /// Where the next line begins.
    end: usize,
}

/// The line that begins at `from`, if it is whole.
fn line<'a>(bytes: &'a [u8], from: usize, kind: &str) -> Result<Option<Line<'a>>, String> {
    let rest = bytes.get(from + 1..).unwrap_or_default();
    match rest.iter().take(LONGEST_NUMBER).position(|byte| *byte == b'\r') {
        Some(length) => match rest.get(length + 1) {
            None => Ok(None),
            Some(b'\n') => Ok(Some(Line { number: &rest[..length], end: from + 1 + length + 2 })),
            Some(_) => Err(format!("invalid {kind} length")),
        },
        None if rest.len() >= LONGEST_NUMBER => Err(format!("too big {kind} count string")),
        None => Ok(None),
    }
}
