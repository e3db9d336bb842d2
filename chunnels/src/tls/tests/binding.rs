//! Attacks on the proofs of the agreement by an attacker in the middle that one end trusts.

use super::authority::{Authority, NAME};
use super::scene::{Raw, TRANSCRIPT, end, ends, wire, works};
use crate::Tls;
use bertha_core::{Connection, Error, ErrorKind};

fn pair() -> (Tls, Tls) {
    let authority = Authority::new("Example CA");
    (Tls::client(NAME, authority.trust()).unwrap(), Tls::server(authority.identity()).unwrap())
}

fn altered(refused: Result<super::scene::End, Error>) {
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert!(error.to_string().contains("the negotiation was altered on its way"), "{error}");
}

#[tokio::test]
async fn ends_with_different_transcripts_refuse_each_other() {
    let (client, server) = pair();
    let (here, there) = wire();
    let (here, there) = tokio::join!(end(&client, here, Some([1; 32])), end(&server, there, Some([2; 32])));
    altered(here);
    altered(there);
}

#[tokio::test]
async fn a_proof_that_is_reflected_is_refused() {
    let (client, server) = pair();
    let (here, there) = wire();
    let reflecting = async {
        let mut raw = Raw::new(server.side.config().unwrap(), there).await;
        let proof = raw.proof().await;
        raw.write(&proof).await;
        raw
    };
    let (refused, _raw) = tokio::join!(end(&client, here, Some(TRANSCRIPT)), reflecting);
    altered(refused);
    let (here, there) = wire();
    let reflecting = async {
        let mut raw = Raw::new(client.side.config().unwrap(), here).await;
        let proof = raw.proof().await;
        raw.write(&proof).await;
        raw
    };
    let (refused, _raw) = tokio::join!(end(&server, there, Some(TRANSCRIPT)), reflecting);
    altered(refused);
}

/// The attacker is a server that the client trusts and a client that the server accepts, and passes the
/// proofs on.
#[tokio::test]
async fn a_proof_of_another_connection_is_refused() {
    let (client, server) = pair();
    let (here, to_client) = wire();
    let (to_server, there) = wire();
    let between = async {
        let (mut serving, mut asking) = tokio::join!(
            Raw::new(server.side.config().unwrap(), to_client),
            Raw::new(client.side.config().unwrap(), to_server),
        );
        let (of_client, of_server) = tokio::join!(serving.proof(), asking.proof());
        serving.write(&of_server).await;
        asking.write(&of_client).await;
        (serving, asking)
    };
    let ends =
        async { tokio::join!(end(&client, here, Some(TRANSCRIPT)), end(&server, there, Some(TRANSCRIPT))) };
    let ((here, there), _between) = tokio::join!(ends, between);
    altered(here);
    altered(there);
}

/// The transcript and the session are equal, but the connection is another.
#[tokio::test]
async fn a_proof_of_the_session_that_is_resumed_is_refused() {
    let (client, server) = pair();
    let connection = async || {
        let (here, there) = wire();
        let accepting = async {
            let mut raw = Raw::new(server.side.config().unwrap(), there).await;
            let of_client = raw.proof().await;
            (raw, of_client)
        };
        let connecting = tokio::spawn({
            let client = client.clone();
            async move { end(&client, here, Some(TRANSCRIPT)).await }
        });
        (accepting.await, connecting)
    };
    let ((mut first, of_client), connecting) = connection().await;
    let proof = first.machine.proofs(&TRANSCRIPT, &server.side).unwrap().ours();
    first.write(&proof).await;
    let connected = connecting.await.unwrap().unwrap();
    assert!(!first.machine.is_resumed());
    let ((mut second, of_client_again), connecting) = connection().await;
    assert!(second.machine.is_resumed());
    assert_ne!(of_client, of_client_again);
    second.write(&proof).await;
    altered(connecting.await.unwrap());
    drop(connected);
}

/// No data before the proof: an end that sends a message in its place is refused, and the message is not received.
#[tokio::test]
async fn data_before_the_proof_is_not_received() {
    let (client, server) = pair();
    let (here, there) = wire();
    let sending = async {
        let mut raw = Raw::new(client.side.config().unwrap(), here).await;
        raw.write(&[&40u32.to_be_bytes()[..], &[7; 40]].concat()).await;
        raw
    };
    let (refused, _raw) = tokio::join!(end(&server, there, Some(TRANSCRIPT)), sending);
    altered(refused);
}

#[tokio::test]
async fn both_ends_export_one_key_for_messages_about_the_connection() {
    let (client, server) = pair();
    let key = |end: &super::scene::End, transcript| end.machine.lock().control_key(transcript).unwrap();
    let first = ends(&client, &server).await;
    works(&first).await;
    let second = ends(&client, &server).await;
    let mut keys = vec![];
    for (here, there) in [&first, &second] {
        for transcript in [None, Some(&TRANSCRIPT)] {
            assert_eq!(key(here, transcript), key(there, transcript));
            keys.push(key(here, transcript));
        }
    }
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), 4);
    first.0.close().await.unwrap();
}
