//! The end of a stream, and of the connection.

use super::{all, chunk, fails, next, succeeds};
use bertha_core::{Chunk, Connection, ErrorKind};

/// "Sending it ends this half: later sends fail with `Closed`, and receiving goes on. Once the peer has ended
/// its half, every `recv` returns the empty chunk."
pub async fn an_end_leaves_the_other_half_open<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    succeeds(a, "send", a.send(chunk(a, 0, 1_000))).await;
    succeeds(a, "send of the end", a.send(Chunk::end())).await;
    assert_eq!(all(b).await, 1_000, "the bytes before the end");
    for _ in 0..3 {
        assert!(succeeds(b, "recv behind the end", b.recv()).await.is_end());
    }
    let mut batch = Vec::new();
    assert_eq!(succeeds(b, "recv_batch behind the end", b.recv_batch(&mut batch, 8)).await, batch.len());
    assert!(!batch.is_empty() && batch.iter().all(|chunk| chunk.is_end()), "recv_batch behind the end");
    let error = fails(a, "send behind the end", a.send(chunk(a, 0, 1))).await;
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    // The other half of the stream still carries bytes.
    for at in [0, 500] {
        succeeds(b, "send after the peer has ended", b.send(chunk(b, at, 500))).await;
    }
    let mut at = 0;
    while at < 1_000 {
        at += next(a, at).await;
    }
    succeeds(b, "send of the end", b.send(Chunk::end())).await;
    assert!(succeeds(a, "recv of the end", a.recv()).await.is_end());
}

/// The end may be part of a burst. Nothing follows it.
pub async fn an_end_in_a_burst_stands_behind_what_was_sent<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let burst = [chunk(a, 0, 300), chunk(a, 300, 7), Chunk::end(), chunk(a, 307, 1)];
    let _refused_or_left = a.send_batch(burst.into_iter()).await;
    assert_eq!(all(b).await, 307, "the bytes before the end");
    assert!(succeeds(b, "recv behind the end", b.recv()).await.is_end());
}

/// `close`: "Later calls fail with `Closed`, on this end at once and at the peer once the notification reaches it"; the peer of a
/// stream of bytes sees its end instead.
pub async fn a_closed_connection_of_bytes_fails<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    succeeds(a, "send", a.send(chunk(a, 0, 100))).await;
    succeeds(a, "close", a.close()).await;
    let error = fails(a, "send after close", a.send(chunk(a, 0, 1))).await;
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    let error = fails(a, "recv after close", a.recv()).await;
    assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
    assert_eq!(all(b).await, 100, "the bytes before the close");
}
