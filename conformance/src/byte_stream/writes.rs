//! Writes.

use super::{Stream, read_all, read_to, stretch};
use futures_util::future::join;
use futures_util::poll;
use std::io::IoSlice;
use std::pin::pin;
use std::task::Poll;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt, split};

/// Number of bytes that exceeds the room of a connection.
const LARGE: usize = 3 << 20;

/// A write may take fewer bytes than it was given, and returns their number.
pub async fn short_writes_lose_nothing<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let write = async {
        let all = stretch(0, LARGE);
        let (mut at, mut size) = (0, 1);
        while at < LARGE {
            let part = &all[at..LARGE.min(at + size)];
            let written = a.write(part).await.unwrap();
            assert!((1..=part.len()).contains(&written), "{written} of {} bytes written", part.len());
            at += written;
            size = (size * 3) % 200_003 + 1;
        }
        a.shutdown().await.unwrap();
    };
    let (read, ()) = join(read_all(&mut b), write).await;
    assert_eq!(read, LARGE);
}

/// The parts of a vectored write are on the stream in order, up to the number of bytes that the write
/// returns.
pub async fn vectored_writes_keep_their_order<A: Stream, B: Stream>(mut a: A, mut b: B) {
    const LEN: usize = 200_000;
    let write = async {
        let all = stretch(0, LEN);
        let mut at = 0;
        while at < LEN {
            let rest = &all[at..];
            let (first, rest) = rest.split_at(rest.len().min(7));
            let (second, rest) = rest.split_at(rest.len().min(100_000));
            let parts = [
                IoSlice::new(&[]),
                IoSlice::new(first),
                IoSlice::new(&[]),
                IoSlice::new(second),
                IoSlice::new(rest),
            ];
            let written = a.write_vectored(&parts).await.unwrap();
            assert!(written > 0, "nothing was written");
            at += written;
        }
        a.shutdown().await.unwrap();
    };
    let (read, ()) = join(read_all(&mut b), write).await;
    assert_eq!(read, LEN);
}

/// A write of no bytes does not end the stream.
pub async fn a_write_of_nothing_is_no_end<A: Stream, B: Stream>(mut a: A, mut b: B) {
    assert_eq!(a.write(&[]).await.unwrap(), 0);
    assert_eq!(a.write_vectored(&[IoSlice::new(&[])]).await.unwrap(), 0);
    a.write_all(&stretch(0, 10)).await.unwrap();
    assert_eq!(a.write(&[]).await.unwrap(), 0);
    a.flush().await.unwrap();
    read_to(&mut b, 0, 10).await;
}

/// While a write is pending, it has written no bytes: the bytes of a dropped future must not arrive.
pub async fn a_dropped_write_is_counted_or_not_written<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let all = stretch(0, 4 * LARGE);
    let (mut at, mut dropped) = (0, 0);
    while dropped < 20 && at < all.len() {
        let part = &all[at..all.len().min(at + 10_007)];
        match poll!(pin!(a.write(part))) {
            Poll::Ready(written) => at += written.unwrap(),
            Poll::Pending => dropped += 1,
        }
    }
    let write = async {
        a.write_all(&all[at..at + 1_000]).await.unwrap();
        a.shutdown().await.unwrap();
    };
    let (read, ()) = join(read_all(&mut b), write).await;
    assert_eq!(read, at + 1_000, "bytes that were written");
}

/// A writer waits for a reader that does not read.
pub async fn writing_has_a_bound<A: Stream, B: Stream>(mut a: A, b: B) {
    const MOST: usize = 64 << 20;
    let part = stretch(0, 60_000);
    let mut taken = 0;
    let mut waits = 0;
    while waits < 10 && taken < MOST {
        match poll!(pin!(a.write(&part))) {
            Poll::Ready(written) => (taken, waits) = (taken + written.unwrap(), 0),
            Poll::Pending => {
                waits += 1;
                super::a_moment().await;
            }
        }
    }
    assert!(taken < MOST, "{taken} bytes were taken that nobody reads");
    drop(b);
}

/// After a flush, written bytes arrive though no other call is made.
pub async fn flushed_bytes_arrive<A: Stream, B: Stream>(mut a: A, mut b: B) {
    for at in (0..1_000).step_by(100) {
        a.write_all(&stretch(at, 100)).await.unwrap();
        a.flush().await.unwrap();
        read_to(&mut b, at, at + 100).await;
    }
}

/// A writer that goes on to read, as in a request and its reply, does not wait for its own bytes.
pub async fn reading_helps_what_was_written<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let answer = async {
        super::a_moment().await;
        read_to(&mut b, 0, LARGE).await;
        b.write_all(b"!").await.unwrap();
        b.flush().await.unwrap();
    };
    let ask = async {
        a.write_all(&stretch(0, LARGE)).await.unwrap();
        assert_eq!(a.read_u8().await.unwrap(), b'!');
    };
    join(answer, ask).await;
}

/// A writer that gives up a write, for instance by a time-out, and goes on to read, does not wait for the bytes that were taken before.
pub async fn reading_helps_after_a_write_was_given_up<A: Stream, B: Stream>(mut a: A, mut b: B) {
    let taken = write_and_give_up(&mut a).await;
    let answer = async {
        read_to(&mut b, 0, taken).await;
        b.write_all(b"!").await.unwrap();
        b.flush().await.unwrap();
    };
    let ask = async { assert_eq!(a.read_u8().await.unwrap(), b'!') };
    join(answer, ask).await;
}

/// A read that waits in another task since before such a write does not wait for its bytes either, though no further call is
/// made.
pub async fn a_read_that_waits_helps_a_write_that_was_given_up<A: Stream, B: Stream>(a: A, mut b: B) {
    let (mut reader, mut writer) = split(a);
    let asking = tokio::spawn(async move { reader.read_u8().await.unwrap() });
    super::a_moment().await;
    let taken = write_and_give_up(&mut writer).await;
    read_to(&mut b, 0, taken).await;
    b.write_all(b"!").await.unwrap();
    b.flush().await.unwrap();
    assert_eq!(asking.await.unwrap(), b'!');
}

/// Writes until the stream takes no more, and drops the last write. Returns the number of bytes taken.
async fn write_and_give_up(stream: &mut (impl AsyncWrite + Unpin)) -> usize {
    const MOST: usize = 64 << 20;
    let mut taken = 0;
    let mut given_up = 0;
    while given_up < 10 && taken < MOST {
        match poll!(pin!(stream.write(&stretch(taken, 60_000)))) {
            Poll::Ready(written) => (taken, given_up) = (taken + written.unwrap(), 0),
            Poll::Pending => {
                given_up += 1;
                super::a_moment().await;
            }
        }
    }
    taken
}

/// Both ends read and write at once, each half in a task of its own.
pub async fn both_halves_work_at_once<A: Stream, B: Stream>(a: A, b: B) {
    fn go(stream: impl Stream) -> impl Future<Output = ()> {
        let (mut reader, mut writer) = split(stream);
        let writing = tokio::spawn(async move {
            writer.write_all(&stretch(0, LARGE)).await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let reading = tokio::spawn(async move { assert_eq!(read_all(&mut reader).await, LARGE) });
        async move {
            writing.await.unwrap();
            reading.await.unwrap();
        }
    }
    join(go(a), go(b)).await;
}
