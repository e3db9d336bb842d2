//! The server under the flood.

use bertha_chunnels::serialize::{Bincode, Postcard};
use bertha_chunnels::{Nothing, Serialize};
use bertha_core::{Bottom, Connection, ErrorKind, Select, Stack, make_stack, select};
use bertha_negotiation::{Incoming, Runs, Settings};
use futures_util::future::{Either, FutureExt};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

type Codecs = Select<Stack<Serialize<String, Bincode>, Bottom>, Stack<Serialize<String, Postcard>, Bottom>>;
pub(crate) type Choice = Stack<Nothing, Stack<Codecs, Bottom>>;

pub(crate) fn stack() -> Choice {
    make_stack!(Nothing, select!(Serialize::<String, Bincode>::new(), Serialize::<String, Postcard>::new()))
}

/// Returns settings with a short idle time-out, so that strangers' connections are soon given up, and with
/// all features on, so that the flood reaches their code.
pub(crate) fn settings(idle_timeout: Duration) -> Settings {
    let mut settings = Settings::default();
    settings.idle_timeout = idle_timeout;
    settings.unvalidated_clients = usize::MAX;
    settings.offers_per_second = u32::MAX;
    settings
}

/// The outcomes of clients. The server reports the refusals of an id once, so there are more refusals than
/// counted.
#[derive(Debug, Default)]
pub(crate) struct Outcomes {
    pub(crate) accepted: Cell<u64>,
    pub(crate) refused: Cell<u64>,
    /// Number of connections that the application holds.
    pub(crate) open: Cell<usize>,
}

/// Echoes to every client until its connection fails, for as long as `flood` goes on.
pub(crate) async fn echo_during<D, T>(
    mut incoming: Incoming<Choice, D>,
    outcomes: &Outcomes,
    flood: impl Future<Output = T>,
) -> T
where
    D: Runs<Choice, Out: Connection<Data = String>>,
{
    let serving = pin!(async {
        let mut clients = FuturesUnordered::new();
        loop {
            let accepted = futures_util::select_biased! {
                accepted = incoming.next_or_refusal().fuse() => accepted.expect("a listener that goes on"),
                () = clients.select_next_some() => {
                    outcomes.open.set(clients.len());
                    continue;
                }
            };
            match &accepted {
                Ok(_) => outcomes.accepted.update(|count| count + 1),
                Err(error) => {
                    let expected = [ErrorKind::Refused, ErrorKind::Malformed, ErrorKind::Version];
                    assert!(expected.contains(&error.kind()), "the listener reports {error}");
                    outcomes.refused.update(|count| count + 1);
                }
            }
            if let Ok(connection) = accepted {
                clients.push(async move {
                    while let Ok(message) = connection.recv().await {
                        if connection.send(message).await.is_err() {
                            break;
                        }
                    }
                });
                outcomes.open.set(clients.len());
            }
        }
    });
    match futures_util::future::select(serving, pin!(flood)).await {
        Either::Right((done, _)) => done,
    }
}
