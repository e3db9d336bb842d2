//! Messages that pass.

use super::authority::{Authority, NAME};
use super::scene::{end, ends, message, wire};
use crate::Tls;
use bertha_core::{Base, Connection, ErrorKind};

fn pair() -> (Tls, Tls) {
    let authority = Authority::new("Example CA");
    (Tls::client(NAME, authority.trust()).unwrap(), Tls::server(authority.identity()).unwrap())
}

#[tokio::test]
async fn messages_of_every_size_pass() {
    let (client, server) = pair();
    let (here, there) = ends(&client, &server).await;
    for len in [0, 1, 16_379, 16_380, 16_381, 100_000, super::super::LARGEST] {
        let sent = here.base().buffer(len).map(|mut sent| {
            sent.fill(len as u8);
            sent
        });
        let (sent, received) = tokio::join!(here.send(sent.unwrap()), there.recv());
        sent.unwrap();
        let received = received.unwrap();
        assert!(received.len() == len && received.iter().all(|byte| *byte == len as u8));
    }
    let error = here.send(message(&here, &vec![0; super::super::LARGEST + 1])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn the_largest_message_is_what_both_ends_have_set() {
    const LARGEST: usize = 3 << 20;
    let (client, server) = pair();
    let (here, there) = ends(&client.largest(LARGEST), &server.largest(LARGEST)).await;
    let sent = here.send(message(&here, &vec![7; LARGEST]));
    let (sent, received) = tokio::join!(sent, there.recv());
    sent.unwrap();
    assert_eq!(received.unwrap().len(), LARGEST);
    let error = here.send(message(&here, &vec![0; LARGEST + 1])).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    // An end that has set less ends the connection.
    let (client, server) = pair();
    let (here, there) = ends(&client.largest(LARGEST), &server).await;
    let sending = here.send(message(&here, &vec![7; LARGEST]));
    let (_, received) = tokio::join!(sending, there.recv());
    assert_eq!(received.unwrap_err().kind(), ErrorKind::Reset);
}

#[tokio::test]
async fn a_burst_becomes_few_records_and_no_message_can_be_read_between() {
    let (client, server) = pair();
    let (here, there) = ends(&client, &server).await;
    let burst: Vec<_> = (0..100u8).map(|number| message(&here, &[number; 20])).collect();
    here.send_batch(burst.into_iter()).await.unwrap();
    let mut pieces = Vec::new();
    while there.inner.recv_batch(&mut pieces, 100).await.unwrap() > 0 && pieces.len() < 4 {}
    // There is one piece for each 32 messages.
    assert_eq!(pieces.len(), 4);
    for piece in &pieces {
        assert_eq!(usize::from(u16::from_be_bytes([piece[3], piece[4]])) + 5, piece.len(), "one record");
        assert!(!piece.windows(8).any(|bytes| bytes == [bytes[0]; 8]));
    }
}

#[tokio::test]
async fn pieces_of_large_messages_are_whole_records_and_fit_what_a_stream_reads_at_once() {
    let (client, server) = pair();
    let (here, there) = ends(&client, &server).await;
    let messages: Vec<_> = (0..8).map(|number| message(&here, &[number; 64 << 10])).collect();
    let receiving = async {
        let (mut pieces, mut bytes) = (Vec::new(), 0);
        while bytes < 8 * (64 << 10) {
            let before = pieces.len();
            there.inner.recv_batch(&mut pieces, 100).await.unwrap();
            bytes += pieces[before..].iter().map(|piece| piece.len()).sum::<usize>();
        }
        pieces
    };
    let (sent, pieces) = tokio::join!(here.send_batch(messages.into_iter()), receiving);
    sent.unwrap();
    for piece in &pieces {
        assert!(piece.len() + bertha_core::framing::HEADER <= 65_536 + 256, "{} bytes", piece.len());
        let mut rest = &piece[..];
        while !rest.is_empty() {
            rest = &rest[usize::from(u16::from_be_bytes([rest[3], rest[4]])) + 5..];
        }
    }
}

#[tokio::test]
async fn without_a_transcript_no_proof_is_exchanged() {
    let (client, server) = pair();
    let (here, there) = wire();
    let (here, there) = tokio::join!(end(&client, here, None), end(&server, there, None));
    super::scene::works(&(here.unwrap(), there.unwrap())).await;
}
