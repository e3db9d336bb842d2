//! Peers that keep no rule of the format.

use crate::protobuf::{Protobuf, RESERVE, policies};
use crate::scene::{MS, Side, end, pass, play, server};
use bertha_chunnels::rpc::{Client, FailureKind};
use bertha_core::{Buf, Connection};
use bertha_datapath_sim::{PairConnection, SimRuntime, pair};
use bertha_managed::engines::{Acl, Quota, RateLimit};
use futures_util::future::select;
use futures_util::{join, poll};
use std::pin::pin;

/// The kinds of messages.
const CALL: u8 = 1;
const RESPONSE: u8 = 2;
const CANCEL: u8 = 6;
const FAILURE: u8 = 7;

/// A number of messages that is sent only without a bound.
const MANY: u32 = 100_000;

/// The bit of a kind whose body begins with metadata.
const WITH_METADATA: u8 = 0x40;

type Raw = PairConnection<SimRuntime>;

async fn send(raw: &Raw, kind: u8, slot: u8, generation: u32, body: &[u8]) {
    let mut bytes = vec![kind, slot, 0, 0];
    bytes.extend(generation.to_le_bytes());
    if kind & !WITH_METADATA == CALL {
        bytes.extend(RESERVE.id().to_le_bytes());
        bytes.extend([0; 4]);
    }
    bytes.extend(body);
    raw.send(Buf::copy_of(&bytes, 64).unwrap()).await.unwrap();
}

/// Returns the kind and the slot of the next message.
async fn next(raw: &Raw) -> (u8, u8) {
    let message = raw.recv().await.unwrap();
    (message[0], message[1])
}

/// A request of protobuf for a customer.
fn customer(name: &str) -> Vec<u8> {
    [&[10, name.len() as u8], name.as_bytes()].concat()
}

async fn is_silent(raw: &Raw) -> bool {
    poll!(pin!(raw.recv())).is_pending()
}

#[test]
fn a_client_that_repeats_calls_and_sends_garbage_harms_itself_alone() {
    play(async |runtime, side| {
        if side == Side::Client {
            return;
        }
        let (raw, there) = pair(runtime.clone());
        let policies = policies().engine("acl", Acl, "field=customer deny=Eve").unwrap();
        let policies = policies.engine("quota", Quota, "calls=2").unwrap();
        let (_server, reached) = server(runtime, end(there, policies).await);
        for garbage in [&b"x"[..], &[200; 40], &[FAILURE; 3], &[CALL; 9]] {
            raw.send(Buf::copy_of(garbage, 64).unwrap()).await.unwrap();
        }
        for kind in [RESPONSE, CANCEL, FAILURE] {
            send(&raw, kind, 9, 9, b"x").await;
        }
        // A request that is none of the schema, and one whose metadata ends nowhere.
        send(&raw, CALL, 1, 0, &[10, 200]).await;
        assert_eq!(next(&raw).await, (FAILURE, 1));
        send(&raw, CALL | WITH_METADATA, 1, 1, &[255; 4]).await;
        assert_eq!(next(&raw).await, (FAILURE, 1));

        send(&raw, CALL, 2, 5, &customer("slow")).await;
        send(&raw, CALL, 2, 5, &customer("slow twice")).await;
        send(&raw, CALL, 2, 4, &customer("slow before")).await;
        assert_eq!(next(&raw).await, (RESPONSE, 2));
        pass(runtime, 100 * MS).await;
        assert!(is_silent(&raw).await);
        assert_eq!(*reached.lock(), ["slow"]);

        // Calls without an outcome that the client has done with do not count.
        for generation in 0..20 {
            send(&raw, CALL, 3, generation, &customer("slow")).await;
        }
        pass(runtime, 200 * MS).await;
        while !is_silent(&raw).await {}
        send(&raw, CALL, 4, 0, &customer("Eve")).await;
        assert_eq!(next(&raw).await, (FAILURE, 4));
        send(&raw, CALL, 5, 0, &customer("Ada")).await;
        assert_eq!(next(&raw).await, (RESPONSE, 5));
    });
}

#[test]
fn a_server_that_answers_what_it_did_not_get_gets_nothing_more() {
    play(async |runtime, side| {
        if side == Side::Server {
            return;
        }
        let (here, raw) = pair(runtime.clone());
        let policies = policies().engine("limit", RateLimit, "per-second=1 burst=1").unwrap();
        let client = Client::new(end(here, policies.clone()).await).codec(Protobuf);
        let names = ["Ada", "Bob"].map(ToOwned::to_owned);
        let [first, second] = names.each_ref().map(|name| client.call::<_, u64>(RESERVE, name));
        let serving = async {
            // Calls of a server are none, whatever they pretend.
            for slot in 100..110 {
                send(&raw, CALL, slot, 0, &customer("Eve")).await;
            }
            pass(runtime, MS).await;
            // The second is held.
            let (kind, slot) = next(&raw).await;
            assert_eq!(kind, CALL);
            send(&raw, RESPONSE, 1 - slot, 0, &[8, 7]).await;
            send(&raw, FAILURE, slot, 0, &[7]).await;
            pass(runtime, 500 * MS).await;
            assert!(is_silent(&raw).await, "the second call has had its outcome");
        };
        let (first, second, ()) = join!(async { first.await }, async { second.await }, serving);
        let outcomes = [first, second];
        assert!(
            outcomes.iter().any(|outcome| outcome.as_ref().is_ok_and(|number| *number == 7)),
            "{outcomes:?}"
        );
        let failed = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert_eq!(failed.map(|failure| failure.kind()).collect::<Vec<_>>(), [FailureKind::Denied]);
        assert_eq!(client.caller().unexpected(), 10);
    });
}

#[test]
fn a_server_that_calls_takes_no_room_from_its_client() {
    play(async |runtime, side| {
        if side == Side::Server {
            return;
        }
        let (here, raw) = pair(runtime.clone());
        let policies = policies().engine("quota", Quota, "calls=2").unwrap();
        let client = Client::new(end(here, policies.clone()).await).codec(Protobuf);
        for slot in 0..10 {
            send(&raw, CALL, slot, 0, &customer("Eve")).await;
        }
        pass(runtime, MS).await;
        let name = "Ada".to_owned();
        let answering = async {
            // The server's own calls beyond the quota were refused.
            while next(&raw).await.0 != CALL {}
            send(&raw, RESPONSE, 0, 0, &[8, 7]).await;
        };
        let (outcome, ()) = join!(async { client.call::<_, u64>(RESERVE, &name).await }, answering);
        assert_eq!(outcome.unwrap(), 7);
    });
}

#[test]
fn a_client_that_reads_no_refusals_is_not_read() {
    play(async |runtime, side| {
        if side == Side::Client {
            return;
        }
        let (raw, there) = pair(runtime.clone());
        let policies = policies().engine("acl", Acl, "field=customer deny=Eve").unwrap();
        let (_server, reached) = server(runtime, end(there, policies).await);
        let mut sent = 0;
        let sending = async {
            while sent < MANY {
                send(&raw, CALL, 1, sent, &customer("Eve")).await;
                sent += 1;
            }
        };
        select(pin!(sending), pin!(pass(runtime, 1_000 * MS))).await;
        assert!(sent < MANY, "nothing is bounded");
        for _ in 0..sent {
            assert_eq!(next(&raw).await, (FAILURE, 1));
        }
        send(&raw, CALL, 2, 0, &customer("Ada")).await;
        assert_eq!(next(&raw).await, (RESPONSE, 2));
        assert_eq!(*reached.lock(), ["Ada"]);
    });
}
