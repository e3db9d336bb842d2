//! The end of a stream.

use super::{Stream, read_all, read_to, stretch};
use futures_util::future::join;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// A shutdown ends the written half for good; the other half goes on.
pub async fn a_shutdown_leaves_the_other_half_open<A: Stream, B: Stream>(mut a: A, mut b: B) {
    a.write_all(&stretch(0, 1_000)).await.unwrap();
    a.shutdown().await.unwrap();
    assert_eq!(read_all(&mut b).await, 1_000);
    for _ in 0..3 {
        assert_eq!(b.read(&mut [0]).await.unwrap(), 0, "bytes behind the end");
    }
    a.write_all(b"x").await.expect_err("a write after the shutdown succeeded");
    let write = async {
        b.write_all(&stretch(0, 100_000)).await.unwrap();
        b.flush().await.unwrap();
    };
    join(write, read_to(&mut a, 0, 100_000)).await;
    b.shutdown().await.unwrap();
    assert_eq!(a.read(&mut [0]).await.unwrap(), 0);
}

/// A reader whose peer is gone gets the bytes that the peer wrote, and then an end or an error.
pub async fn a_dropped_peer_is_noticed<A: Stream, B: Stream>(mut a: A, mut b: B) {
    a.write_all(&stretch(0, 100)).await.unwrap();
    a.flush().await.unwrap();
    read_to(&mut b, 0, 100).await;
    drop(a);
    assert!(matches!(b.read(&mut [0]).await, Ok(0) | Err(_)));
}
