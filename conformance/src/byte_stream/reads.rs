//! Reads.

use super::{Stream, a_moment, same, stretch};
use futures_util::poll;
use std::pin::pin;
use std::task::Poll;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const LEN: usize = 5_000;

/// Bytes that do not fit into the reader's buffer are there for the next read.
pub async fn short_reads_lose_nothing<A: Stream, B: Stream>(mut a: A, mut b: B) {
    a.write_all(&stretch(0, LEN)).await.unwrap();
    a.flush().await.unwrap();
    let (mut at, mut size) = (0, 1);
    while at < LEN {
        let mut room = vec![0; size];
        let read = b.read(&mut room).await.unwrap();
        assert!((1..=size).contains(&read), "{read} bytes into a room of {size}");
        same(&room[..read], at);
        at += read;
        size = size % 13 + 1;
    }
    assert_eq!(at, LEN);
}

/// A read whose future is dropped has read nothing.
pub async fn a_dropped_read_loses_nothing<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let writing = tokio::spawn(async move {
        for at in (0..LEN).step_by(100) {
            a.write_all(&stretch(at, 100)).await.unwrap();
            a.flush().await.unwrap();
            a_moment().await;
        }
        a
    });
    let mut at = 0;
    while at < LEN {
        let mut room = [0; 70];
        for _ in 0..3 {
            if let Poll::Ready(read) = poll!(pin!(b.read(&mut room))) {
                let read = read.unwrap();
                same(&room[..read], at);
                at += read;
            }
        }
        let dropped = tokio::time::timeout(std::time::Duration::from_millis(2), b.read(&mut room)).await;
        if let Ok(read) = dropped {
            let read = read.unwrap();
            same(&room[..read], at);
            at += read;
        }
    }
    drop(writing.await.unwrap());
}

/// A read into an empty buffer takes nothing and means nothing; it may return or wait.
pub async fn a_read_without_room_is_no_end<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let nothing = |read: Poll<std::io::Result<usize>>| {
        if let Poll::Ready(read) = read {
            assert_eq!(read.unwrap(), 0);
        }
    };
    nothing(poll!(pin!(b.read(&mut []))));
    a.write_all(&stretch(0, 10)).await.unwrap();
    a.flush().await.unwrap();
    a_moment().await;
    nothing(poll!(pin!(b.read(&mut []))));
    let mut room = [0; 10];
    b.read_exact(&mut room).await.unwrap();
    same(&room, 0);
}
