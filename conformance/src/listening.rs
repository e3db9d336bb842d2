//! Listeners and their clients.

use super::delivery::{complete, receive, still_works};
use super::serving::while_echoing;
use super::timeout::{TIMEOUT, let_arrive, soon, succeeds, within};
use super::{Bufs, Messages, Site};
use bertha_core::{Addr, Base, Connection, Datapath, ErrorKind, Listener};
use futures_util::future::{join, join_all};
use futures_util::poll;
use std::pin::pin;
use std::time::Duration;

/// `Listener::accept`: "Waits for the next base connection." Each client has a connection of its own.
pub async fn many_clients_are_served<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    let client = async |first: u64| {
        let client = site.connect(&listener).await;
        for number in first..first + 10 {
            succeeds(&client, "send", client.send(Bufs.make(&client, number))).await;
            assert_eq!(receive(&client, &Bufs).await, number, "the echo of another client");
        }
    };
    while_echoing(&listener, join_all((0..20).map(|number| client(number * 1000)))).await;
}

/// `Listener`: "the first message from an unknown address makes a connection, which then receives that
/// message". The connection also receives the messages that came before it was accepted.
pub async fn a_burst_before_accept_is_kept<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    let client = site.connect(&listener).await;
    let burst = (0..20).map(|number| Bufs.make(&client, number));
    let send = succeeds(&client, "send_batch", client.send_batch(burst));
    let receive = async {
        let_arrive(&client).await;
        let accepted = succeeds(&client, "accept", listener.accept()).await;
        let mut numbers = Vec::new();
        for _ in 0..20 {
            numbers.push(receive(&accepted, &Bufs).await);
        }
        (accepted, numbers)
    };
    // The rest of the burst may wait for the first messages to be received.
    let ((accepted, numbers), ()) = join(receive, send).await;
    complete(&accepted, numbers, 20);
}

/// `Listener::accept`: "Cancellation-safe."
pub async fn a_dropped_accept_loses_no_client<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    for number in 0..10 {
        for _ in 0..5 {
            assert!(poll!(pin!(listener.accept())).is_pending(), "a client that nobody is");
        }
        let client = site.connect(&listener).await;
        succeeds(&client, "send", client.send(Bufs.make(&client, number))).await;
        let accept = async {
            loop {
                if let Some(accepted) = within(&client, Duration::from_micros(300), listener.accept()).await {
                    break accepted;
                }
            }
        };
        let accepted = soon(&client, "accept after others were dropped", accept).await.unwrap();
        assert_eq!(receive(&accepted, &Bufs).await, number);
        still_works(&client, &accepted, &Bufs).await;
    }
}

/// Messages of one peer that are not received fill its own queue, and other peers are served.
pub async fn a_flooded_connection_leaves_the_others_alone<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    let (flood, _unread) = site.join(&listener).await;
    let (client, server) = site.join(&listener).await;
    let sends = async {
        for number in 0..5_000 {
            flood.send(Bufs.make(&flood, number)).await.unwrap();
            if number % 50 == 0 {
                // A server that shares its socket must get the chance to empty it.
                let _nothing = within(&server, Duration::from_micros(100), server.recv()).await;
            }
        }
    };
    // Over a stream the flood stops when the queue is full.
    let _full = within(&flood, Duration::from_secs(1), sends).await;
    // If the socket's own buffer overflowed, the next messages may be lost with it; later messages may not.
    let _nothing = within(&server, Duration::from_millis(20), server.recv()).await;
    still_works(&client, &server, &Bufs).await;
    let served = while_echoing(&listener, async {
        let late = site.connect(&listener).await;
        succeeds(&late, "send", late.send(Bufs.make(&late, 1))).await;
        receive(&late, &Bufs).await
    });
    assert_eq!(served.await, 1);
}

/// `accept`: "no single peer can end it". Here clients come and go in all ways that they can.
pub async fn a_client_that_vanishes_ends_nothing<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    for _ in 0..5 {
        drop(site.connect(&listener).await);
        let client = site.connect(&listener).await;
        succeeds(&client, "send", client.send(Bufs.make(&client, 1))).await;
        drop(client);
        let client = site.connect(&listener).await;
        succeeds(&client, "close", client.close()).await;
    }
    outlives(site, &listener, async |_| {}).await;
}

/// `accept`: "no single peer can end it". Neither can a peer end the accepted connections of other peers.
/// `attack` gets the listener's address, and sends any bytes there: garbage, oversize datagrams, half a
/// frame.
pub async fn a_listener_survives<S: Datapath, C: Datapath>(
    site: &Site<'_, S, C>,
    attack: impl AsyncFn(&Addr),
) {
    let listener = site.listen().await;
    outlives(site, &listener, attack).await;
}

async fn outlives<S, C>(site: &Site<'_, S, C>, listener: &S::Listener, attack: impl AsyncFn(&Addr))
where
    S: Datapath,
    C: Datapath,
{
    while_echoing(listener, async {
        let before = site.connect(listener).await;
        succeeds(&before, "send", before.send(Bufs.make(&before, 1))).await;
        assert_eq!(receive(&before, &Bufs).await, 1);
        attack(&listener.local_addr()).await;
        let_arrive(&before).await;
        succeeds(&before, "send after the attack", before.send(Bufs.make(&before, 2))).await;
        assert_eq!(receive(&before, &Bufs).await, 2);
        let after = site.connect(listener).await;
        succeeds(&after, "send of a new client", after.send(Bufs.make(&after, 3))).await;
        assert_eq!(receive(&after, &Bufs).await, 3);
    })
    .await;
}

/// `Listener`: "keeps no state for an address after its connection is dropped": the next message from the
/// address opens a new connection. The check is for datapaths over datagrams.
pub async fn a_dropped_connection_forgets_its_address<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    let (client, mut accepted) = site.join(&listener).await;
    for number in 1..5 {
        drop(accepted);
        succeeds(&client, "send", client.send(Bufs.make(&client, number))).await;
        accepted = succeeds(&client, "accept after the connection was dropped", listener.accept()).await;
        assert_eq!(receive(&accepted, &Bufs).await, number);
        assert_eq!(accepted.base().peer_addr(), client.base().local_addr());
        still_works(&client, &accepted, &Bufs).await;
    }
}

/// `connect`: "`Unreachable` if its host answers that the port is closed". Over datagrams the answer comes
/// after a message was sent.
pub async fn nobody_there_is_unreachable<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    let listener = site.listen().await;
    let to = listener.local_addr();
    drop(listener);
    let connect = async {
        let client = site.client.connect(to).await?;
        client.send(Bufs.make(&client, 0)).await?;
        match within(&client, TIMEOUT, client.recv()).await {
            Some(result) => result.map(drop),
            None => panic!("no answer from where nobody is"),
        }
    };
    let error = connect.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unreachable, "{error}");
}
