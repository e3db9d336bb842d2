//! PostgreSQL by tokio-postgres over streams of bytes: to the server itself, and through a stack that ends beside it.

use bertha::chunnels::{Bytes, Ordered, Reliable};
use bertha::io::ByteStream;
use bertha::kernel::{Tcp, Udp};
use bertha::prelude::*;
use bertha::{Addr, Chunk, Datapath};
use futures_util::future::join_all;
use tokio_postgres::config::Host;
use tokio_postgres::{Config, NoTls};

/// Makes a query, sends a value of many chunks in both directions, makes queries that overlap, and ends the
/// connection.
async fn queries(config: &Config, connection: impl Connection<Data = Chunk>) {
    let (client, driver) = config.connect_raw(ByteStream::new(connection), NoTls).await.unwrap();
    let driver = tokio::spawn(driver);
    let row = client.query_one("SELECT 1", &[]).await.unwrap();
    assert_eq!(row.get::<_, i32>(0), 1);
    let large = "a ledger ".repeat(100_000);
    let row = client.query_one("SELECT $1 || reverse($1)", &[&large]).await.unwrap();
    let reversed: String = large.chars().rev().collect();
    assert!(row.get::<_, &str>(0) == format!("{large}{reversed}"));
    let client_ref = &client;
    let doubled = (0..100_i64).map(async |number| {
        let row = client_ref.query_one("SELECT 2 * $1::BIGINT", &[&number]).await.unwrap();
        row.get::<_, i64>(0)
    });
    assert_eq!(join_all(doubled).await, (0..100).map(|number| 2 * number).collect::<Vec<_>>());
    let refused = client.query_one("SELECT 1 / 0", &[]).await.unwrap_err();
    assert_eq!(refused.code(), Some(&tokio_postgres::error::SqlState::DIVISION_BY_ZERO));
    drop(client);
    driver.await.unwrap().unwrap();
}

/// The server that tests have, and its address. Without a server the tests are skipped, except in CI.
fn server() -> Option<(Config, Addr)> {
    let url = std::env::var("BERTHA_POSTGRES").unwrap_or_default();
    if url.is_empty() {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI has to set BERTHA_POSTGRES");
        eprintln!(
            "SKIPPED: BERTHA_POSTGRES is not set; run scripts/services start, and eval \"$(scripts/services env)\""
        );
        return None;
    }
    let config: Config = url.parse().unwrap();
    let ([Host::Tcp(host)], [port]) = (config.get_hosts(), config.get_ports()) else { panic!("{config:?}") };
    let address = format!("{host}:{port}").parse().unwrap();
    Some((config, address))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_kernel_tcp() {
    let Some((config, address)) = server() else { return };
    queries(&config, Tcp::new().bytes().connect(address).await.unwrap()).await;
}

/// The server's own connection ends at a process beside it, to which a stack leads.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_datagrams() {
    let Some((config, address)) = server() else { return };
    let stack = || make_stack!(Bytes, Ordered::new(), Reliable::new());
    let loopback: Addr = "127.0.0.1:0".parse().unwrap();
    let mut incoming = stack().listen(Udp::new(), loopback).await.unwrap();
    let front = incoming.local_addr();
    let serving = tokio::spawn(async move {
        let mut client = ByteStream::new(incoming.next().await.unwrap());
        let mut server = ByteStream::new(Tcp::new().bytes().connect(address).await.unwrap());
        tokio::io::copy_bidirectional(&mut client, &mut server).await.unwrap();
    });
    queries(&config, stack().connect(Udp::new(), front).await.unwrap()).await;
    serving.await.unwrap();
}
