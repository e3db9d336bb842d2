//! Messages of `Rpc` for the checks.

use bertha_chunnels::rpc::Message;
use bertha_conformance::{Bufs, Messages};
use bertha_core::{Buf, Connection};

/// Responses to calls, for connections of `Rpc`, which carry the messages of both ends alike.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

impl Messages<Message> for Responses {
    fn make<C: Connection<Data = Message>>(&self, _: &C, number: u64) -> Message {
        let mut body = vec![number as u8; 8 + (number % 50) as usize];
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
