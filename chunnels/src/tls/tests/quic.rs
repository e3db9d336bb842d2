//! Two ends of QUIC.

use super::authority::{Authority, NAME, end};
use super::scene::{Nowhere, TRANSCRIPT};
use crate::Quic;
use crate::quic::QuicConnection;
use bertha_core::{Chunnel, ConnectContext, Datapath, Error, ErrorKind, Listener, Role};
use bertha_datapath_sim::{Sim, SimConnection};

const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 7);

type End = QuicConnection<SimConnection>;

/// Returns both ends, which have the same agreement.
pub(super) fn try_ends(client: &Quic, server: &Quic) -> (Result<End, Error>, Result<End, Error>) {
    try_ends_of(client, server, [TRANSCRIPT; 2])
}

/// Returns both ends, with their agreements.
pub(super) fn try_ends_of(
    client: &Quic,
    server: &Quic,
    transcripts: [[u8; 32]; 2],
) -> (Result<End, Error>, Result<End, Error>) {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let listener = network.host(SERVER.0).listen(SERVER.into()).await.unwrap();
        let end = async |quic: &Quic, base, role, transcript| {
            let context = ConnectContext::new(&Nowhere, role).with_transcript(Some(transcript));
            quic.connect_wrap(base, context).await
        };
        let connecting = async {
            let base = network.host([10, 0, 0, 1]).connect(SERVER.into()).await.unwrap();
            end(client, base, Role::Client, transcripts[0]).await
        };
        let accepting = async {
            let base = listener.accept().await.unwrap();
            end(server, base, Role::Server, transcripts[1]).await
        };
        tokio::join!(connecting, accepting)
    })
}

#[test]
fn ends_with_different_agreements_refuse_each_other() {
    let authority = Authority::new("Example CA");
    let client = Quic::client(NAME, authority.trust()).unwrap();
    let server = Quic::server(authority.identity()).unwrap();
    let (here, there) = try_ends_of(&client, &server, [TRANSCRIPT, [6; 32]]);
    for error in [here.unwrap_err(), there.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
        assert!(error.to_string().contains("altered on its way"), "{error}");
    }
    let (here, there) = try_ends(&client, &server);
    assert!(here.is_ok() && there.is_ok());
}

#[test]
fn ends_of_one_protocol_agree_and_a_client_gets_the_certificate_of_the_name_that_it_wants() {
    let authority = Authority::new("Example CA");
    let client = |protocol| Quic::client(NAME, authority.trust()).unwrap().protocol(protocol).unwrap();
    let other = authority.issue(end("other.example")).identity();
    let server = Quic::server(other).unwrap().also(authority.identity()).protocol("store/2").unwrap();
    let (here, there) = try_ends(&client("store/2"), &server);
    for end in [here, there] {
        end.unwrap();
    }
    let (here, there) = try_ends(&client("store/1"), &server);
    here.unwrap_err();
    let error = there.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    assert!(error.to_string().contains("another protocol than store/2"), "{error}");
}

#[test]
fn another_protocol_or_none_is_refused_by_both_ends() {
    let authority = Authority::new("Example CA");
    let client = Quic::client(NAME, authority.trust()).unwrap();
    let server = Quic::server(authority.identity()).unwrap();
    let check = |error: Error, text: &str| {
        assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
        assert!(error.to_string().contains(text), "{error}");
    };
    let another = "another protocol than bertha/3";
    for protocols in [&[&b"h3"[..], b"hq-interop"][..], &[]] {
        let stranger = Quic::of(client.side.speaking(protocols));
        let (here, there) = try_ends(&stranger, &server);
        check(there.unwrap_err(), another);
        here.unwrap_err();
    }
    // A server of QUIC refuses a client whose protocols it does not know, also if it knows none.
    for protocols in [&[&b"h3"[..]][..], &[]] {
        let stranger = Quic::of(server.side.speaking(protocols));
        let (here, there) = try_ends(&client, &stranger);
        check(here.unwrap_err(), another);
        there.unwrap_err();
    }
}
