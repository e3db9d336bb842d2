//! Servers with as many connections as they may have.

use crate::lines::Lines;
use crate::scene::{A, SERVER, bytes, server_addr, simulate};
use bertha_core::{Connection, Error, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Settings};
use bertha_tests::with_seeds;
use futures_util::FutureExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CONNECTIONS: usize = 16;

/// The events that the server's application sees.
#[derive(Default)]
struct Seen {
    refused: Vec<Error>,
    ended: Vec<Error>,
    /// Numbers of handshakes and connections that were given up, and of refusals, for want of room.
    overload: [u64; 3],
}

/// Starts an echo server with few connections.
async fn serve(network: &Network, streams: bool) -> Arc<Mutex<Seen>> {
    let mut settings = Settings::default();
    settings.connections = CONNECTIONS;
    let host = network.host(SERVER);
    let host = if streams { host.streams() } else { host };
    let mut incoming = make_stack!(A).listen(host, server_addr()).settings(settings).await.unwrap();
    let seen = Arc::<Mutex<Seen>>::default();
    let (see, runtime) = (seen.clone(), network.runtime().clone());
    let tasks = runtime.clone();
    std::mem::forget(runtime.spawn(async move {
        while let Some(client) = incoming.next_or_refusal().await {
            let overload = incoming.overload();
            see.lock().unwrap().overload = [overload.handshakes, overload.connections, overload.refused];
            let connection = match client {
                Ok(connection) => connection,
                Err(error) => {
                    see.lock().unwrap().refused.push(error);
                    continue;
                }
            };
            let see = see.clone();
            std::mem::forget(tasks.spawn(async move {
                let end = loop {
                    match connection.recv().await {
                        Ok(message) => connection.send(message).await.unwrap(),
                        Err(error) => break error,
                    }
                };
                see.lock().unwrap().ended.push(end);
            }));
        }
    }));
    seen
}

/// Connects a client, and checks an echo.
async fn come(
    network: &Network,
    ip: [u8; 4],
    streams: bool,
) -> Result<impl Connection<Data = bertha_core::Buf> + use<>, Error> {
    let host = network.host(ip);
    let host = if streams { host.streams() } else { host };
    let connection = make_stack!(A).connect(host, server_addr()).await?;
    connection.send(bytes(b"hello")).await?;
    assert_eq!(*connection.recv().await?, *b"hello");
    Ok(connection)
}

/// Starts a server, and fills it with the clients of a network.
async fn full(
    network: &Network,
    streams: bool,
) -> (Arc<Mutex<Seen>>, Vec<impl Connection<Data = bertha_core::Buf> + use<>>) {
    let seen = serve(network, streams).await;
    let mut held = Vec::new();
    for number in 0..CONNECTIONS {
        held.push(come(network, [10, 1, 1, number as u8], streams).await.unwrap());
    }
    (seen, held)
}

#[test]
fn who_is_one_too_many_is_told_so_at_both_ends() {
    for streams in [true, false] {
        with_seeds(4, |seed| {
            simulate(seed, async |network: Network| {
                let (seen, mut held) = full(&network, streams).await;
                for _ in 0..3 {
                    let refused = come(&network, [10, 1, 1, 99], streams).await.map(drop).unwrap_err();
                    assert_eq!(refused.kind(), ErrorKind::Exhausted, "{refused}");
                    assert!(refused.context().contains("try again later"), "{refused}");
                }
                {
                    let seen = seen.lock().unwrap();
                    assert_eq!(seen.overload, [0, 0, 3]);
                    assert!(seen.refused.len() == 3 && seen.ended.is_empty());
                    assert!(seen.refused.iter().all(|error| error.kind() == ErrorKind::Exhausted));
                }
                held.pop();
                network.runtime().sleep_until(network.runtime().now() + Duration::from_millis(100)).await;
                come(&network, [10, 1, 1, 99], streams).await.unwrap();
            });
        });
    }
}

#[test]
fn a_network_with_more_than_its_part_gives_unused_connections_to_others() {
    for streams in [true, false] {
        with_seeds(4, |seed| {
            simulate(seed, async |network: Network| {
                let (seen, held) = full(&network, streams).await;
                let refused = come(&network, [10, 2, 1, 1], streams).await.map(drop).unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::Exhausted, "nothing is unused so soon: {refused}");
                network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(2)).await;
                // The server looks at a connection twice: before the first look the connection may have been
                // in use.
                let _ = come(&network, [10, 2, 1, 1], streams).await;
                network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(2)).await;
                let other = come(&network, [10, 2, 1, 1], streams).await.unwrap();
                network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(1)).await;
                {
                    let seen = seen.lock().unwrap();
                    assert!(seen.overload[1] >= 1, "{:?}", seen.overload);
                    let told = seen
                        .ended
                        .iter()
                        .any(|end| end.kind() == ErrorKind::Reset && end.context().contains("not used"));
                    assert!(told, "{:?}", seen.ended);
                }
                let ends = held.iter().filter_map(|connection| connection.recv().now_or_never()?.err());
                let ends = Vec::from_iter(ends);
                assert!(ends.iter().any(|end| end.context().contains("not used")), "{ends:?}");
                other.send(bytes(b"still there?")).await.unwrap();
                assert_eq!(*other.recv().await.unwrap(), *b"still there?");
            });
        });
    }
}

#[test]
fn the_server_tells_whom_it_refused_and_whom_it_gave_up() {
    let (lines, _guard) = Lines::capture();
    let told = |texts: &[&str]| lines.with(&[&["bertha::negotiation: "], texts].concat());
    let (refused, evicted) = (
        "refused a client: there are as many connections as are allowed",
        "gave an unused connection up for others",
    );
    simulate(1, async |network: Network| {
        let pause = || network.runtime().sleep(Duration::from_secs(2));
        let (_seen, _held) = full(&network, false).await;
        assert_eq!((told(&[refused]).len(), told(&[evicted]).len()), (0, 0), "there was room for all");
        come(&network, [10, 2, 1, 1], false).await.map(drop).unwrap_err();
        let sums = "overload=Overload { handshakes: 0, connections: 0, refused: 1, exhausted: 0 }";
        assert_eq!(told(&["WARN", refused, "peer=10.2.1.1:", sums]).len(), 1, "{:#?}", told(&[refused]));
        assert_eq!(told(&[evicted]).len(), 0, "nothing is unused so soon");
        pause().await;
        // The first look at a connection finds that it was used before.
        let _ = come(&network, [10, 2, 1, 1], false).await;
        pause().await;
        let _other = come(&network, [10, 2, 1, 1], false).await.unwrap();
    });
    // The connection of a client of the network that has more than its part.
    let each = told(&[
        "DEBUG",
        evicted,
        "peer=10.1.1.",
        "reason=\"the server gave the connection up for others, since it was not used\"",
    ]);
    assert_eq!(each.len(), 1, "{:#?}", told(&[evicted]));
    let sums = told(&["WARN", evicted, "connections: 1, "]);
    assert_eq!(sums.len(), 1, "{:#?}", told(&[evicted]));
}
