//! Calls over TLS by a single Chunnel; the peer has the same Chunnel, or the two Chunnels that it replaces.

use crate::secured::scene::{over_datagrams, over_streams};
use crate::secured::tls::Party;
use bertha_chunnels::rpc::{Client, FuseRpcAndTls, Message, Method, RpcWithTls, handler, serve};
use bertha_chunnels::{Ordered, Reliable, Rpc, Tls};
use bertha_conformance as conformance;
use bertha_core::guarantee::{
    AtMostOnce, Authenticated, Encrypted, ForwardSecret, IntegrityChecked, PeerIdentified, Set,
};
use bertha_core::{Connection, Describe, Runtime, make_stack, optimize};
use bertha_negotiation::Settings;
use bertha_tests::conformance::Responses;
use futures_util::future::join_all;

fn fused(tls: Tls) -> RpcWithTls {
    RpcWithTls::new(Rpc::new(), tls)
}

#[test]
fn the_pass_puts_it_in_place_and_the_guarantees_stay() {
    let party = Party::new();
    let pair = make_stack!(Rpc::new(), party.client(), Ordered::new(), Reliable::new());
    let optimised = optimize!(pair.clone(), FuseRpcAndTls);
    let text = optimised.explain().to_string();
    assert!(text.contains("RpcWithTls") && text.contains("Rpc / Tls became"), "{text}");
    over_streams(async |hosts| {
        let mut settings = Settings::default();
        settings.floor =
            Set::of::<(Encrypted, (Authenticated, (IntegrityChecked, (AtMostOnce, ForwardSecret))))>()
                | Set::of::<PeerIdentified>();
        let (here, there) = hosts.try_connect(fused(party.client()), fused(party.server()), settings).await;
        here.unwrap();
        there.unwrap().unwrap();
    });
}

#[test]
fn it_keeps_the_promises_of_connections() {
    let party = Party::new();
    over_streams(async |hosts| {
        conformance::chunnel(
            async |[here, there]| {
                let client = make_stack!(fused(party.client()), here);
                let server = make_stack!(fused(party.server()), there);
                hosts.connect(client, server).await
            },
            &Responses,
        )
        .await;
        let (here, there) = hosts.connect(fused(party.client()), fused(party.server())).await;
        conformance::the_peer_hears_of_a_close(&here, &there, &Responses).await;
    });
}

/// The two separate Chunnels keep these promises too, so the single Chunnel is compared with them.
#[test]
fn so_do_the_two_apart() {
    let party = Party::new();
    over_streams(async |hosts| {
        conformance::chunnel(
            async |[here, there]| {
                let client = make_stack!(Rpc::new(), party.client(), here);
                let server = make_stack!(Rpc::new(), party.server(), there);
                hosts.connect(client, server).await
            },
            &Responses,
        )
        .await;
    });
}

const LENGTH: Method = Method::new("length");

/// Lengths of requests that are copied into a record, that are encrypted where they lie, and that fill
/// several records.
const LENGTHS: [usize; 9] = [0, 1, 100, 4_000, 4_096, 16_384, 20_000, 200_000, 1_000_000];

#[test]
fn an_end_without_the_pass_understands_it() {
    let party = Party::new();
    over_datagrams(async |hosts| {
        macro_rules! between {
            ($client:expr, $server:expr) => {{
                let client = make_stack!($client, Ordered::new(), Reliable::new());
                let server = make_stack!($server, Ordered::new(), Reliable::new());
                let (here, there) = hosts.connect(client, server).await;
                calls(here, there, hosts.network.runtime()).await;
            }};
        }
        let apart = |tls: Tls| make_stack!(Rpc::new(), tls);
        between!(fused(party.client()), apart(party.server()));
        between!(apart(party.client()), fused(party.server()));
        between!(fused(party.client()), fused(party.server()));
    });
}

async fn calls<C, S>(here: C, there: S, runtime: &impl Runtime)
where
    C: Connection<Data = Message>,
    S: Connection<Data = Message>,
{
    let service = handler(LENGTH, async |bytes: Vec<u8>| Ok(bytes.len() as u64));
    let serving = serve(there, service).into_future();
    let _server = runtime.spawn(async move { drop(serving.await) });
    let client = Client::new(here);
    let calls = LENGTHS.map(|length| {
        let client = client.clone();
        async move {
            let answer: u64 = client.call(LENGTH, &vec![7_u8; length]).await.unwrap();
            assert_eq!(answer, length as u64);
        }
    });
    join_all(calls).await;
}
