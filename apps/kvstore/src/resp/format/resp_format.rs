//! The server's side of the format.

use super::{CommandDecoder, Frame};
use crate::resp::clients::{Client, Ending, Held, Memory};
use crate::resp::settings::UNFINISHED;
use bertha::chunnels::framing::Framing;
use bertha::{Base, Buf, Error, ErrorKind};
use std::sync::Arc;

/// RESP as the format of a [`Framed`](bertha::chunnels::framing::Framed) connection at the server.
#[derive(Clone, Debug)]
pub struct RespFormat {
    client: Arc<Client>,
    /// The memory for unfinished commands.
    unfinished: Arc<Memory>,
}

impl RespFormat {
    pub(in crate::resp) fn new(client: Arc<Client>, unfinished: Arc<Memory>) -> Self {
        Self { client, unfinished }
    }
}

impl Default for RespFormat {
    /// The format of a client that shares no bound with others.
    fn default() -> Self {
        Self::new(Arc::new(Client::alone()), Memory::new(UNFINISHED, Ending::Unfinished))
    }
}

impl Framing for RespFormat {
    type Message = Frame;
    type Decoder = CommandDecoder;

    fn decoder(&self) -> CommandDecoder {
        let held = Held::nothing(&self.unfinished, &self.client);
        CommandDecoder::new(self.client.clone(), held)
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
