//! What a server receives and sends.

use super::{CommandDecoder, Replies};
use crate::resp::Command;
use bertha::chunnels::framing::Framing;
use bertha::{Base, Buf, Error, ErrorKind};

/// What goes over a connection, as the server sees it.
#[derive(Debug)]
pub enum Frame {
    /// A client sends it.
    Command(Command),
    /// The server sends them: those of several commands at once.
    Replies(Replies),
}

/// RESP as the format of a [`Framed`](bertha::chunnels::framing::Framed) connection at the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct RespFormat;

impl Framing for RespFormat {
    type Message = Frame;
    type Decoder = CommandDecoder;

    fn decoder(&self) -> CommandDecoder {
        CommandDecoder::default()
    }

    fn encode(&self, frame: Frame, base: &impl Base) -> Result<Buf, Error> {
        match frame {
            Frame::Replies(replies) => {
                let mut bytes = base.buffer(replies.as_bytes().len())?;
                bytes.copy_from_slice(replies.as_bytes());
                Ok(bytes)
            }
            Frame::Command(_) => {
                Err(Error::new(ErrorKind::Malformed, "a server sends replies, and no commands"))
            }
        }
    }
}
