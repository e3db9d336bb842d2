//! The agreement with credentials, and its binding by TLS, under a model checker with an attacker that is the
//! network: it reads, drops, repeats, reorders and alters all messages, and makes new messages of everything
//! that it has seen or owns.
//!
//! Cryptography is symbolic ([`terms`]); two handshakes of a client run against two of a server ([`world`]),
//! which is enough for every attack that swaps, reflects or splices two handshakes. A prover without this
//! bound (ProVerif, Tamarin) is in no package registry that CI reaches.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod protocol;
mod terms;
mod world;

use protocol::{Flaw, Mode, Protocol};
use stateright::{Checker, Model};

fn check(mode: Mode, flaw: Flaw) -> impl Checker<Protocol> {
    Protocol::new(mode, flaw).checker().spawn_bfs().join()
}

#[test]
fn nobody_bends_an_agreement_under_a_shared_key() {
    check(Mode::Shared, Flaw::None).assert_properties();
}

#[test]
fn nobody_bends_an_agreement_between_identities() {
    check(Mode::Identities, Flaw::None).assert_properties();
}

#[test]
fn nobody_bends_an_agreement_with_a_known_server() {
    check(Mode::ServerIdentity, Flaw::None).assert_properties();
}

#[test]
fn nobody_bends_an_agreement_that_tls_is_bound_to() {
    check(Mode::Tls, Flaw::None).assert_properties();
}

/// For each part of the protocol, the checker finds the attack that this part prevents.
#[test]
fn without_its_defences_the_protocol_is_attacked() {
    for (mode, flaw) in [
        (Mode::ServerIdentity, Flaw::ReplyToAnyOffer),
        (Mode::Shared, Flaw::ReplyToAnyOffer),
        (Mode::Shared, Flaw::ConfirmsNothing),
        (Mode::Identities, Flaw::NoExchange),
        (Mode::Tls, Flaw::Unbound),
        (Mode::Tls, Flaw::BoundWithoutRole),
    ] {
        let found = check(mode, flaw).discoveries();
        let attacks: Vec<_> = found.keys().filter(|name| !name.starts_with("both handshakes")).collect();
        println!("{mode:?} with {flaw:?}: {attacks:?}");
        assert!(!attacks.is_empty(), "{mode:?} with {flaw:?}: no attack was found");
    }
}
