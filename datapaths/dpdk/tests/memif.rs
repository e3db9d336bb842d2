//! Two ports of one process, joined by shared memory.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_core::{Base, Connection, Datapath, Listener};
use bertha_datapath_dpdk::{Config, Dpdk};

#[tokio::test]
async fn a_message_goes_there_and_back() {
    tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).init();
    let socket = std::env::temp_dir().join(format!("bertha-memif-{}", std::process::id()));
    let device = |number: u32, role: &str| {
        format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display())
    };
    let server = Dpdk::open(&Config::new(device(0, "server"), "10.0.0.1/24")).unwrap();
    let client = Dpdk::open(&Config::new(device(1, "client"), "10.0.0.2/24")).unwrap();
    let listener = server.listen("10.0.0.1:9".parse().unwrap()).await.unwrap();
    let connection = client.connect(listener.local_addr()).await.unwrap();
    let mut message = connection.base().buffer(5).unwrap();
    message.copy_from_slice(b"hello");
    connection.send(message).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    let message = accepted.recv().await.unwrap();
    assert_eq!(&*message, b"hello");
    accepted.send(message).await.unwrap();
    assert_eq!(&*connection.recv().await.unwrap(), b"hello");
    println!(
        "{:?} {:?} {} {}",
        server.counters(),
        client.statistics(),
        server.buffers_in_use().unwrap(),
        client.buffers_in_use().unwrap()
    );
}
