//! The messages between a datapath and an agent, byte for byte as in libccp 1.2 and portus 0.9.
//!
//! | message | type | from | body |
//! |---|---|---|---|
//! | [`Create`] | 0 | datapath | six `u32`, then 64 bytes: the name of an algorithm, padded with zeros |
//! | [`Measure`] | 1 | datapath | program and number of fields as `u32`, then each field as `u64` |
//! | [`Install`] | 2 | agent | program, numbers of clauses and instructions as `u32`; 16 bytes for each clause, then for each instruction |
//! | [`Update`] | 3 | agent | number of fields as `u32`, then 13 bytes for each field: kind and index of a register, value as `u64` |
//! | [`Change`] | 4 | agent | program and number of fields as `u32`, then fields as in `Update` |
//! | [`Ready`] | 5 | datapath | the id of the datapath as `u32` |
//!
//! A header of eight bytes comes first: type and length of the whole message as `u16`, then the number of the flow as `u32`, which is
//! 0 where the message concerns all flows. Numbers are little-endian.

mod create;
mod header;
mod install;
mod malformed;
mod measure;
mod reader;
mod register;
mod update;

pub use create::{AlgorithmName, Create, Ready};
pub use install::{Clause, Install, Instruction, MAX_CLAUSES, MAX_INSTRUCTIONS, Operation};
pub use malformed::Malformed;
pub use measure::{MAX_FIELDS, Measure};
pub use register::Register;
pub use update::{Change, Field, MAX_UPDATES, Update};

use header::{Header, Kind};
use reader::Reader;

/// The size of the largest message that is decoded or encoded, in bytes.
pub const MAX_MESSAGE: usize = 32_678;

/// A message of either side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// A flow has begun.
    Create(Create),
    /// A report of a flow, or its end.
    Measure(Measure),
    /// A program for all flows.
    Install(Install),
    /// New values for registers of a flow.
    Update(Update),
    /// Another program for a flow.
    Change(Change),
    /// A datapath has begun.
    Ready(Ready),
}

impl Message {
    /// Decodes the message at the start of `bytes`. Returns it with its length. Never panics; allocates at
    /// most the limits of this module, and only for a message that is as long as it claims.
    ///
    /// # Errors
    /// [`Malformed`] for a message that no agent and no datapath sends.
    pub fn decode(bytes: &[u8]) -> Result<(Self, usize), Malformed> {
        let header = Header::decode(bytes)?;
        let length = usize::from(header.length);
        let body = bytes.get(Header::SIZE..length).ok_or(Malformed::Truncated)?;
        let flow = header.flow;
        let mut reader = Reader::new(body);
        let message = match header.kind {
            Kind::Create => Self::Create(Create::decode(flow, &mut reader)?),
            Kind::Measure => Self::Measure(Measure::decode(flow, &mut reader)?),
            Kind::Install => Self::Install(Install::decode(flow, &mut reader)?),
            Kind::Update => Self::Update(Update::decode(flow, &mut reader)?),
            Kind::Change => Self::Change(Change::decode(flow, &mut reader)?),
            Kind::Ready => Self::Ready(Ready::decode(&mut reader)?),
        };
        if reader.is_empty() { Ok((message, length)) } else { Err(Malformed::TrailingBytes) }
    }

    /// Appends the message to `into`.
    ///
    /// # Errors
    /// [`Malformed`] if a count exceeds its limit, which [`decode`](Self::decode) would refuse. Nothing is
    /// then appended.
    pub fn encode(&self, into: &mut Vec<u8>) -> Result<(), Malformed> {
        match self {
            Self::Create(create) => create.encode(into),
            Self::Measure(measure) => return measure.encode(into),
            Self::Install(install) => return install.encode(into),
            Self::Update(update) => return update.encode(into),
            Self::Change(change) => return change.encode(into),
            Self::Ready(ready) => ready.encode(into),
        }
        Ok(())
    }
}
