//! A connection tells why a transfer is slow.

use bertha_core::{Buf, Connection, Datapath, Listener, Statistics};
use bertha_datapath_shm::{Shm, ShmConnection, ShmStatistics, Waiting};
use futures_util::FutureExt;

fn told(connection: &ShmConnection) -> ShmStatistics {
    let mut statistics = Statistics::default();
    connection.observe(&mut statistics);
    *statistics.get().unwrap()
}

#[tokio::test]
async fn a_receiver_that_does_not_receive_is_seen_at_both_ends() {
    let on = format!("unix:@bertha-shm-statistics-{}", std::process::id()).parse().unwrap();
    let shm = Shm::new();
    let listener = shm.listen(on).await.unwrap();
    let (client, server) = tokio::join!(shm.connect(listener.local_addr()), listener.accept());
    let (client, server) = (client.unwrap(), server.unwrap());
    let idle = told(&client);
    assert_eq!((idle.outgoing_bytes, idle.is_full, idle.waiting), (0, false, Waiting::Park));
    assert!(!idle.is_peer_asleep, "{idle:?}");
    assert!(server.recv().now_or_never().is_none());
    assert!(told(&client).is_peer_asleep);

    let message = || Buf::copy_of(&[7; 1_000], 0).unwrap();
    let mut sent = 0;
    while client.send(message()).now_or_never().is_some() {
        sent += 1;
    }
    let (here, there) = (told(&client), told(&server));
    assert!(here.is_full && here.outgoing_bytes > here.ring_bytes * 7 / 8, "{here:?}");
    assert_eq!((there.to_receive_messages, there.to_receive_bytes), (sent.min(1_024), here.outgoing_bytes));
    assert!(!here.is_peer_asleep && !there.is_full, "{here:?} {there:?}");
}
