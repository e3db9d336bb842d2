//! The messages that the checks send.

use bertha_chunnels::rpc::Message;
use bertha_core::{Base, Buf, Connection};

/// The conversion between messages and the numbers that checks put into them.
pub trait Messages<T>: Sync {
    /// Returns a message with `number`, for sending through `connection`. Different numbers should give
    /// different lengths.
    fn make<C: Connection<Data = T>>(&self, connection: &C, number: u64) -> T;

    /// Returns the number in `message`.
    ///
    /// # Panics
    /// Panics if the message was changed.
    fn number(&self, message: &T) -> u64;

    /// Returns a message that is too large for `connection`, if there is such a message.
    fn oversize<C: Connection<Data = T>>(&self, connection: &C) -> Option<T>;
}

/// Messages of bytes, for base connections.
#[derive(Debug, Clone, Copy)]
pub struct Bufs;

impl Messages<Buf> for Bufs {
    fn make<C: Connection<Data = Buf>>(&self, connection: &C, number: u64) -> Buf {
        let mut buf = connection.base().buffer(8 + padding(number)).unwrap();
        buf.fill(number as u8);
        buf[..8].copy_from_slice(&number.to_be_bytes());
        buf
    }

    fn number(&self, message: &Buf) -> u64 {
        let number = u64::from_be_bytes(message[..8].try_into().unwrap());
        assert_eq!(message.len(), 8 + padding(number), "message {number} was cut or grew");
        assert!(message[8..].iter().all(|byte| *byte == number as u8), "message {number} was changed");
        number
    }

    fn oversize<C: Connection<Data = Buf>>(&self, connection: &C) -> Option<Buf> {
        Buf::new(connection.mtu().checked_add(1)?, 0).ok()
    }
}

/// Responses to calls, for connections of `Rpc`, which carry the messages of both ends alike.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

impl Messages<Message> for Responses {
    fn make<C: Connection<Data = Message>>(&self, _: &C, number: u64) -> Message {
        let mut body = vec![number as u8; 8 + padding(number)];
        body[..8].copy_from_slice(&number.to_be_bytes());
        response(&body)
    }

    fn number(&self, message: &Message) -> u64 {
        Bufs.number(&Buf::copy_of(message.body(), 0).unwrap())
    }

    fn oversize<C: Connection<Data = Message>>(&self, connection: &C) -> Option<Message> {
        Some(response(&vec![0; connection.mtu().checked_add(1)?]))
    }
}

fn response(body: &[u8]) -> Message {
    // The bytes are the header of a response to the call with number zero.
    let header = [2, 0, 0, 0, 0, 0, 0, 0];
    Message::decode(Buf::copy_of(&[&header[..], body].concat(), 0).unwrap()).unwrap()
}

fn padding(number: u64) -> usize {
    (number % 50) as usize
}
