//! Clients that ask for much memory.

use bertha_core::{Connection, ErrorKind};
use bertha_datapath_shm::Shm;
use std::os::unix::net::UnixStream;

#[tokio::test]
async fn a_ring_is_no_larger_than_the_server_takes() {
    let mtu = async |server: Shm| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let client = Shm::new().ring(64 << 20);
        let (client, server) = tokio::join!(client.offer(ours), server.take(theirs));
        let [client, server] = [client, server].map(|end| end.unwrap().mtu());
        assert_eq!(client, server);
        client
    };
    assert_eq!(mtu(Shm::new().ring(4096)).await, 4 * 4096 / 8 - 8, "four times the own ring");
    assert_eq!(mtu(Shm::new().largest_ring(100_000)).await, 65_536 / 8 - 8, "a power of two");
    assert_eq!(mtu(Shm::new().largest_ring(usize::MAX)).await, (64 << 20) / 8 - 8);
}

#[tokio::test]
async fn a_server_that_always_wants_less_is_refused() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let insatiable = std::thread::spawn(move || {
        for largest in [8192_u64, 4096] {
            std::io::Read::read(&mut &theirs, &mut [0; 64]).unwrap();
            let answer = [&[4][..], &largest.to_le_bytes()].concat();
            std::io::Write::write_all(&mut &theirs, &answer).unwrap();
        }
    });
    let error = Shm::new().offer(ours).await.map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    insatiable.join().unwrap();
}
