//! Replies as bytes.

use super::limits::NO_MEMORY;
use std::io::Write;

/// The version of the protocol that a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// The one that connections begin with.
    #[default]
    Two,
    /// Once the client has said `HELLO 3`.
    Three,
}

/// The bytes of some replies, one behind the other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replies {
    bytes: Vec<u8>,
}

impl Replies {
    /// Their bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// A word without line feeds.
    pub fn simple(&mut self, text: &str) {
        self.bytes.push(b'+');
        self.text(text);
    }

    /// Why a command was refused. By convention the first word, in capitals, says what kind of error it is.
    pub fn error(&mut self, reason: &str) {
        self.bytes.push(b'-');
        self.text(reason);
    }

    /// A number.
    pub fn integer(&mut self, number: i64) {
        self.number(b':', number);
    }

    /// Any bytes, or an error if there is no memory for them.
    pub fn bulk_or_error(&mut self, bytes: &[u8]) {
        match self.bytes.try_reserve(bytes.len() + 16) {
            Ok(()) => self.bulk(bytes),
            Err(_) => self.error(NO_MEMORY),
        }
    }

    /// Makes room for so many bytes. Returns false if there is no memory for them.
    pub(in crate::resp) fn make_room(&mut self, bytes: usize) -> bool {
        self.bytes.try_reserve(bytes).is_ok()
    }

    /// Any bytes.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.bytes.reserve(bytes.len() + 16);
        self.number(b'$', bytes.len() as i64);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Begins a value of so many bytes, which follow by [`part`](Self::part).
    pub fn begin_bulk(&mut self, length: usize) {
        self.number(b'$', length as i64);
    }

    /// Some bytes of the value that has begun.
    pub fn part(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Ends the value that has begun.
    pub fn end_bulk(&mut self) {
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// No value.
    pub fn null(&mut self, version: Version) {
        self.bytes.extend_from_slice(match version {
            Version::Two => b"$-1\r\n",
            Version::Three => b"_\r\n",
        });
    }

    /// So many replies, which follow.
    pub fn array(&mut self, length: usize) {
        self.number(b'*', length as i64);
    }

    /// So many keys, each with its value, which follow.
    pub fn map(&mut self, length: usize, version: Version) {
        match version {
            Version::Two => self.array(2 * length),
            Version::Three => self.number(b'%', length as i64),
        }
    }

    fn number(&mut self, kind: u8, number: i64) {
        self.bytes.push(kind);
        match number {
            0..10 => self.bytes.push(b'0' + number as u8),
            // Writing to a vector does not fail.
            _ => drop(write!(self.bytes, "{number}")),
        }
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Text up to the end of the line. A line's end within would begin another reply.
    fn text(&mut self, text: &str) {
        self.bytes.extend(text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte }));
        self.bytes.extend_from_slice(b"\r\n");
    }
}
