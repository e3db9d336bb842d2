//! Messages about a plain connection from a sender that has seen none of its messages and guesses the tag.

use super::closing::Reply;
use super::connection::strip;
use super::{Agreed, Link, Start};
use crate::wire::{HEADER, Kind, Tag, VERSION};
use crate::{Session, Settings};
use bertha_core::{Buf, Connection, Role, Runtime};
use bertha_datapath_sim::{Sim, pair};
use futures_util::FutureExt;
use std::sync::Arc;

/// The id of the connection, of which no bit is a good guess.
const ID: u64 = 0x0123_4567_89ab_cdef;

/// The number of guesses: two hours of them at 2,000 a second.
const GUESSES: u64 = 1 << 24;

/// Returns a client's link without credentials.
pub(super) fn plain_link(sim: &Sim) -> Link<impl Connection<Data = Buf> + use<>> {
    let (here, there) = pair(sim.runtime());
    // The peer stays, and says nothing.
    std::mem::forget(there);
    let settings = Settings::default();
    Link::new(Start {
        base: Arc::new(here),
        id: ID,
        role: Role::Client,
        early: Default::default(),
        has_to_answer: false,
        session: Arc::new(Session::unknown()),
        agreed: Agreed::Client { offer: Vec::new(), answer: Vec::new(), confirm: None, early: 0 },
        listener: None,
        address_challenge: None,
        idle_timeout: settings.idle_timeout,
        settings: Arc::new(settings),
        now: sim.runtime().now(),
    })
}

/// A message without fields.
fn bare(tag: Tag, kind: Kind) -> Buf {
    // By hand, since there are millions of them.
    let mut message = [VERSION; HEADER + 1 + 4];
    message[..HEADER].copy_from_slice(&tag.header_from(Role::Server, kind));
    let check = crc32fast::hash(&message[..=HEADER]);
    message[HEADER + 1..].copy_from_slice(&check.to_le_bytes());
    Buf::copy_of(&message, 0).unwrap()
}

#[test]
fn guessed_resets_end_nothing() {
    let sim = Sim::new(1);
    let link = plain_link(&sim);
    for guess in 0..GUESSES {
        link.shared.control(bare(Tag::of(guess), Kind::Reset)).now_or_never().unwrap();
    }
    assert!(link.shared.lifecycle.is_usable());
    assert_eq!(link.dropped().load(std::sync::atomic::Ordering::Relaxed), GUESSES);
    link.shared.control(bare(Tag::of(ID), Kind::Reset)).now_or_never().unwrap();
    assert!(!link.shared.lifecycle.is_usable(), "the tag is right");
}

#[test]
fn guessed_messages_do_not_say_that_a_close_was_seen() {
    let sim = Sim::new(1);
    let link = plain_link(&sim);
    let reply = |guess, kind| link.shared.reply_to_close(&bare(Tag::of(guess), kind));
    assert!((0..GUESSES).all(|guess| reply(guess, Kind::CloseSeen).is_none()));
    assert_eq!(reply(ID, Kind::CloseSeen), Some(Reply::Seen));
}

#[test]
fn guessed_data_is_not_received() {
    let sim = Sim::new(1);
    let link = plain_link(&sim);
    let mut message = Buf::copy_of(&Tag::of(0).header(Kind::Data), 0).unwrap();
    for guess in 0..GUESSES {
        message.copy_from_slice(&Tag::of(guess).header(Kind::Data));
        assert!(!strip(&mut message, link.queue.header));
    }
    message.copy_from_slice(&Tag::of(ID).header(Kind::Data));
    assert!(strip(&mut message, link.queue.header), "the tag is right");
}
