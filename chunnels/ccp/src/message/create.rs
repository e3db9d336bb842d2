//! The beginning of a flow, and of a datapath.

use super::header::{Header, Kind};
use super::{Malformed, Reader};
use std::fmt;

/// The size of a name, of which the last byte is zero.
const NAME: usize = 64;

/// The name of the algorithm that a flow requests; empty for the agent's default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AlgorithmName([u8; NAME]);

impl AlgorithmName {
    /// No name: the agent chooses.
    pub const DEFAULT: Self = Self([0; NAME]);

    /// Makes a name.
    ///
    /// # Errors
    /// [`Malformed::Name`] if the name has more than 63 bytes, or contains a zero.
    pub fn new(name: &str) -> Result<Self, Malformed> {
        if name.len() >= NAME || name.bytes().any(|byte| byte == 0) {
            return Err(Malformed::Name);
        }
        let mut bytes = [0; NAME];
        bytes.iter_mut().zip(name.bytes()).for_each(|(into, byte)| *into = byte);
        Ok(Self(bytes))
    }

    /// Returns the name, unless it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(NAME);
        std::str::from_utf8(&self.0[..end]).ok()
    }
}

impl fmt::Debug for AlgorithmName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(name) => name.fmt(f),
            None => self.0.fmt(f),
        }
    }
}

/// The beginning of a flow. The agent may answer with [`Change`](super::Change).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Create {
    /// The number of the flow, unique within the datapath while the flow lasts, and not 0.
    pub flow: u32,
    /// The window at the start, in bytes.
    pub initial_window: u32,
    /// The size of the largest packet, in bytes.
    pub packet: u32,
    /// The IPv4 address of this end as a number, its first byte highest; or 0.
    pub source_address: u32,
    /// The port of this end, or 0.
    pub source_port: u32,
    /// The IPv4 address of the peer, or 0.
    pub destination_address: u32,
    /// The port of the peer, or 0.
    pub destination_port: u32,
    /// The algorithm that the flow requests.
    pub algorithm: AlgorithmName,
}

impl Create {
    const BODY: usize = 6 * 4 + NAME;

    pub(super) fn decode(flow: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            flow,
            initial_window: reader.u32()?,
            packet: reader.u32()?,
            source_address: reader.u32()?,
            source_port: reader.u32()?,
            destination_address: reader.u32()?,
            destination_port: reader.u32()?,
            algorithm: AlgorithmName(reader.take()?),
        })
    }

    /// Appends the message to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        Header::encode(Kind::Create, self.flow, Self::BODY, into);
        let numbers = [
            self.initial_window,
            self.packet,
            self.source_address,
            self.source_port,
            self.destination_address,
            self.destination_port,
        ];
        numbers.iter().for_each(|number| into.extend(number.to_le_bytes()));
        into.extend(self.algorithm.0);
    }
}

/// The beginning of a datapath. The agent answers with its programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ready {
    /// The id of the datapath.
    pub id: u32,
}

impl Ready {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { id: reader.u32()? })
    }

    /// Appends the message to `into`.
    pub fn encode(&self, into: &mut Vec<u8>) {
        Header::encode(Kind::Ready, 0, 4, into);
        into.extend(self.id.to_le_bytes());
    }
}
