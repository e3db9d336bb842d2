//! Processes that are killed, restarted, stopped, or incompatible: in each case the other process gets a typed
//! error with a clear text.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod chaos;
mod child;
mod killed;
mod killed_sender;
mod misfits;
mod versions;

use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, Error, make_stack};
use bertha_datapath_kernel::Udp;
use bertha_negotiation::{Negotiate, Negotiated, Settings};
use std::time::Duration;

/// Idle time-out of ends that have to notice soon.
const SHORT: Duration = Duration::from_secs(2);
/// Idle time-out of ends that must not notice by themselves while a test runs.
const LONG: Duration = Duration::from_secs(3600);

fn idle(timeout: Duration) -> Settings {
    let mut settings = Settings::default();
    settings.idle_timeout = timeout;
    settings
}

async fn connect(
    server: &Addr,
    timeout: Duration,
) -> Result<Negotiated<impl Connection<Data = String> + use<>>, Error> {
    make_stack!(Serialize::<String>::new()).connect(Udp::new(), server.clone()).settings(idle(timeout)).await
}

/// Returns the error with which `connection` ends, within a minute.
async fn end_of(connection: &impl Connection<Data = String>) -> Error {
    let received = tokio::time::timeout(Duration::from_secs(60), connection.recv()).await;
    received.expect("an end").unwrap_err()
}

async fn assert_echoes(connection: &impl Connection<Data = String>) {
    connection.send("hello".into()).await.unwrap();
    assert_eq!(connection.recv().await.unwrap(), "hello");
}
