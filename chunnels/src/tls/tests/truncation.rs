//! Streams that are cut.

use super::authority::{Authority, NAME};
use super::scene::{Records, TRANSCRIPT, end, message, relay, wire};
use crate::Tls;
use bertha_core::{Connection, Error, ErrorKind};
use std::sync::{Arc, Mutex};

const MESSAGES: usize = 3;

/// Connects, lets the server send three messages and close, and cuts the stream to the client behind `records` records. Returns
/// the messages that arrived, the error at their end, and the number of records that the server sent.
async fn cut(client: &Tls, server: &Tls, records: usize) -> (usize, Error, usize) {
    let (here, from_client) = wire();
    let (from_server, there) = wire();
    let (from_client, from_server) = (Arc::new(from_client), Arc::new(from_server));
    let seen = Arc::new(Mutex::new((Records::default(), 0)));
    let back = {
        let seen = seen.clone();
        relay(from_server.clone(), from_client.clone(), move |bytes| {
            let (all, passed) = &mut *seen.lock().unwrap();
            all.add(bytes);
            let whole = all.whole();
            let now = whole.len().min(records);
            let bytes = whole[*passed..now].concat();
            *passed = now;
            (bytes, now == records)
        })
    };
    let forth = relay(from_client, from_server, |bytes| (bytes.to_vec(), false));
    let relaying = [tokio::spawn(back), tokio::spawn(forth)];
    let sending = async {
        let there = end(server, there, Some(TRANSCRIPT)).await?;
        for number in 0..MESSAGES {
            there.send(message(&there, &[number as u8; 100])).await?;
        }
        there.close().await
    };
    let receiving = async {
        let here = match end(client, here, Some(TRANSCRIPT)).await {
            Ok(here) => here,
            Err(error) => return (0, error),
        };
        let mut arrived = 0;
        loop {
            match here.recv().await {
                Ok(message) => {
                    assert_eq!(&*message, &[arrived as u8; 100]);
                    arrived += 1;
                }
                Err(error) => {
                    assert_eq!(here.recv().await.unwrap_err().kind(), error.kind());
                    assert_eq!(here.send(message(&here, b"late")).await.unwrap_err().kind(), error.kind());
                    return (arrived, error);
                }
            }
        }
    };
    let ((arrived, error), _) = tokio::join!(receiving, sending);
    relaying.iter().for_each(|task| task.abort());
    let sent = seen.lock().unwrap().0.whole().len();
    (arrived, error, sent)
}

#[tokio::test]
async fn a_stream_that_ends_without_close_notify_is_never_closed() {
    let authority = Authority::new("Example CA");
    let ends = || (Tls::client(NAME, authority.trust()).unwrap(), Tls::server(authority.identity()).unwrap());
    let (client, server) = ends();
    let (arrived, error, whole) = cut(&client, &server, usize::MAX).await;
    assert_eq!((arrived, error.kind()), (MESSAGES, ErrorKind::Closed), "{error}");
    assert!(whole > MESSAGES + 3, "{whole} records");
    for records in 0..whole {
        // There is no session, so that all connections have the same records.
        let (client, server) = ends();
        let (arrived, error, _) = cut(&client, &server, records).await;
        assert_eq!(error.kind(), ErrorKind::Reset, "behind {records} of {whole} records: {error}");
        assert!(arrived <= MESSAGES);
    }
}

/// The stream is cut in the middle of a record, and of a message.
#[tokio::test]
async fn a_stream_that_ends_within_a_message_is_never_closed() {
    let authority = Authority::new("Example CA");
    let client = Tls::client(NAME, authority.trust()).unwrap();
    let server = Tls::server(authority.identity()).unwrap();
    let (here, there) = wire();
    let (here, there) = tokio::join!(end(&client, here, None), end(&server, there, None));
    let (here, there) = (here.unwrap(), there.unwrap());
    // The stream has a length without its message, then a close_notify.
    let records = {
        let mut machine = there.machine.lock();
        machine.write(&[std::io::IoSlice::new(&100u32.to_be_bytes())]).unwrap();
        machine.close();
        let mut records = Vec::new();
        there.pieces.fill(&mut machine, &*there.inner, &mut records).unwrap();
        records
    };
    there.inner.send_batch(records.into_iter()).await.unwrap();
    let error = here.recv().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Reset);
    assert!(error.to_string().contains("in the middle of a message"), "{error}");
}

#[tokio::test]
async fn a_stream_that_is_altered_ends() {
    let authority = Authority::new("Example CA");
    let client = Tls::client(NAME, authority.trust()).unwrap();
    let server = Tls::server(authority.identity()).unwrap();
    let (here, there) = wire();
    let (here, there) = tokio::join!(end(&client, here, None), end(&server, there, None));
    let (here, there) = (here.unwrap(), there.unwrap());
    let mut records = {
        let mut machine = there.machine.lock();
        machine.encrypt(&[message(&there, b"one")]).unwrap();
        let mut records = Vec::new();
        there.pieces.fill(&mut machine, &*there.inner, &mut records).unwrap();
        records
    };
    let last = records.last_mut().unwrap();
    let at = last.len() - 20;
    last[at] ^= 1;
    there.inner.send_batch(records.into_iter()).await.unwrap();
    let error = here.recv().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthenticated, "{error}");
    assert_eq!(here.recv().await.unwrap_err().kind(), ErrorKind::Unauthenticated);
    // The other end learns of it by an alert.
    let error = there.recv().await.unwrap_err();
    assert!(error.to_string().contains("BadRecordMac"), "{error}");
}
