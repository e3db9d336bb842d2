//! One layer and two layers send equal bytes.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_chunnels::serialize::Codec;
use bertha_chunnels::{Bincode, Checksum, Postcard, Serialize};
use bertha_core::{Buf, Connection, Wrap, make_stack, optimize};
use bertha_datapath_sim::{Sim, pair};
use bertha_pass_fuse_checksum::FuseChecksum;
use proptest::prelude::*;

type Message = (u32, Vec<u8>, Option<String>);

/// A message as each kind of stack sends it, and as each kind of stack receives the bytes of the other.
struct Exchange {
    separate: Vec<u8>,
    fused: Vec<u8>,
    by_separate: Message,
    by_fused: Message,
}

fn exchange<C: Codec<Message> + Default>(message: &Message) -> Exchange {
    let mut sim = Sim::new(1);
    let ((here, there), (other, far)) = (pair(sim.runtime()), pair(sim.runtime()));
    let stack = || make_stack!(Serialize::<Message, C>::new(), Checksum::new());
    sim.run(async {
        let separate = stack().wrap(here).await.unwrap();
        let fused = optimize!(stack(), FuseChecksum).wrap(other).await.unwrap();
        separate.send(message.clone()).await.unwrap();
        fused.send(message.clone()).await.unwrap();
        let (from_separate, from_fused) = (there.recv().await.unwrap(), far.recv().await.unwrap());
        let bytes = (from_separate.to_vec(), from_fused.to_vec());
        there.send(from_fused).await.unwrap();
        far.send(from_separate).await.unwrap();
        Exchange {
            separate: bytes.0,
            fused: bytes.1,
            by_separate: separate.recv().await.unwrap(),
            by_fused: fused.recv().await.unwrap(),
        }
    })
}

proptest! {
    #[test]
    fn every_message_has_the_same_bytes_and_is_understood(
        number: u32,
        // Some messages do not fit into the first buffer that is tried.
        bytes in prop::collection::vec(any::<u8>(), 0..600),
        text: Option<String>,
    ) {
        let message = (number, bytes, text);
        for exchange in [exchange::<Bincode>(&message), exchange::<Postcard>(&message)] {
            prop_assert_eq!(&exchange.separate, &exchange.fused);
            prop_assert_eq!(&exchange.by_separate, &message);
            prop_assert_eq!(&exchange.by_fused, &message);
        }
    }
}

/// Sends a message of `count` bytes through the stack. Returns true if the message was too large.
macro_rules! too_large {
    ($stack:expr, $count:expr) => {{
        let mut sim = Sim::new(1);
        let (here, _there) = pair(sim.runtime());
        let result = sim.run(async {
            let connection = $stack.wrap(here).await.unwrap();
            connection.send(vec![0; $count]).await
        });
        result.is_err()
    }};
}

#[test]
fn both_take_messages_of_the_same_length() {
    let limited = || make_stack!(Serialize::<Vec<u8>, Bincode<100>>::new(), Checksum::new());
    let unlimited = || make_stack!(Serialize::<Vec<u8>, Postcard>::new(), Checksum::new());
    for count in [92, 93] {
        assert_eq!(too_large!(limited(), count), count == 93);
        assert_eq!(too_large!(optimize!(limited(), FuseChecksum), count), count == 93);
    }
    // The limit is the number of bytes that fit into a datagram, without the checksum and three bytes for the
    // length.
    for count in [65_500, 65_501] {
        assert_eq!(too_large!(unlimited(), count), count == 65_501);
        assert_eq!(too_large!(optimize!(unlimited(), FuseChecksum), count), count == 65_501);
    }
}

#[test]
fn damaged_messages_are_dropped_and_counted() {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    sim.run(async {
        let stack = optimize!(make_stack!(Serialize::<u64, Bincode>::new(), Checksum::new()), FuseChecksum);
        let here = stack.wrap(here).await.unwrap();
        for number in [1, 2] {
            here.send(number).await.unwrap();
            let mut message = there.recv().await.unwrap();
            message[7] ^= (number == 1) as u8;
            there.send(message).await.unwrap();
        }
        there.send(Buf::copy_of(b"abc", 0).unwrap()).await.unwrap();
        assert_eq!(here.recv().await.unwrap(), 2);
        here.send(3).await.unwrap();
        there.send(there.recv().await.unwrap()).await.unwrap();
        assert_eq!(here.recv().await.unwrap(), 3);
        assert_eq!(here.malformed(), 2);
    });
}
