//! The server's side of the format.

use super::{CommandDecoder, Frame};
use bertha::chunnels::framing::Framing;
use bertha::{Base, Buf, Error, ErrorKind};

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
