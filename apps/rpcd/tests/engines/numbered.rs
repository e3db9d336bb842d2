//! Numbered calls of several connections, which flow while engines change.

use crate::hotel::{Hotel, Reserve, Running, answer, request};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::{Client, Server};
use futures_util::future::join_all;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(60);

/// Number of connections.
const CALLERS: i32 = 2;

/// Number of calls of a connection that are under way.
const AT_ONCE: i32 = 40;

/// The numbers of a connection begin with a multiple of this.
const APART: i32 = 10_000_000;

/// Calls that flow until they are ended.
pub(crate) struct Numbered {
    serving: JoinHandle<Vec<i32>>,
    calling: Vec<JoinHandle<i32>>,
    is_over: Arc<AtomicBool>,
}

impl Numbered {
    /// Starts a server and its callers.
    pub(crate) async fn start(daemon: &Running) -> Self {
        Self::between(daemon, daemon).await
    }

    /// Starts callers at a daemon, and their server at one that may be another.
    pub(crate) async fn between(daemon: &Running, far: &Running) -> Self {
        let serving = recorded(far.server().await);
        let is_over = Arc::new(AtomicBool::new(false));
        let mut calling = Vec::new();
        for caller in 0..CALLERS {
            let (client, is_over) = (daemon.client().await, Arc::clone(&is_over));
            calling.push(tokio::spawn(async move {
                let mut next = caller * APART;
                while !is_over.load(Ordering::Relaxed) {
                    // They are sent in this order.
                    let calls = (next..next + AT_ONCE).map(|number| reserve(&client, "ada", number));
                    for (number, outcome) in (next..).zip(join_all(calls).await) {
                        assert_eq!(outcome, Ok(100 * number));
                    }
                    next += AT_ONCE;
                }
                next
            }));
        }
        Self { serving, calling, is_over }
    }

    /// Ends the calls. Each has reached the server once, in the order of its connection, and has its own response.
    pub(crate) async fn end(self, daemons: impl IntoIterator<Item = Running>) {
        let Self { serving, calling, is_over } = self;
        is_over.store(true, Ordering::Relaxed);
        let ends = join_all(calling).await;
        daemons.into_iter().for_each(drop);
        let came = serving.await.unwrap();
        for (caller, end) in (0..CALLERS).zip(ends) {
            let (first, end) = (caller * APART, end.unwrap());
            assert!(end > first);
            let of_caller: Vec<_> =
                came.iter().filter(|number| **number / APART == caller).copied().collect();
            assert_eq!(of_caller, (first..end).collect::<Vec<_>>());
        }
    }
}

/// Serves calls, and returns the numbers of those that came, in their order.
pub(crate) fn recorded(mut server: Server<Hotel>) -> JoinHandle<Vec<i32>> {
    tokio::spawn(async move {
        let mut numbers = Vec::new();
        while let Ok(call) = server.next().await {
            numbers.extend(answer(call).await);
        }
        numbers
    })
}

/// Reserves a room for so many nights, and returns its price.
pub(crate) async fn reserve(client: &Client<Hotel>, customer: &str, number: i32) -> Result<i32, FailureKind> {
    let asked = request(&client.heap(), customer, number, &["guest"]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.map_err(|failure| failure.kind())?;
    assert_eq!(response.room.as_str(), format!("{customer}: guest"));
    Ok(response.price)
}
