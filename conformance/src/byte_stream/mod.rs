//! The checks of `AsyncRead + AsyncWrite`: the promises in tokio's documentation, for adapters. The checks
//! run on tokio.

mod endings;
mod reads;
mod writes;

pub use endings::*;
pub use reads::*;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
pub use writes::*;

/// The bound of a stream under check.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Stream for T {}

/// Runs all checks that every stream must pass, each on a new pair of connected ends that `connect` makes.
pub async fn byte_stream<A: Stream, B: Stream>(connect: impl AsyncFn() -> (A, B)) {
    macro_rules! each {
        ($($check:ident)*) => {$({
            let (a, b) = Box::pin(connect()).await;
            Box::pin(soon(stringify!($check), $check(a, b))).await;
            let (a, b) = Box::pin(connect()).await;
            Box::pin(soon(stringify!($check), $check(b, a))).await;
        })*};
    }
    each! {
        short_reads_lose_nothing
        a_dropped_read_loses_nothing
        a_read_without_room_is_no_end
        short_writes_lose_nothing
        vectored_writes_keep_their_order
        a_write_of_nothing_is_no_end
        a_dropped_write_is_counted_or_not_written
        writing_has_a_bound
        flushed_bytes_arrive
        reading_helps_what_was_written
        reading_helps_after_a_write_was_given_up
        a_read_that_waits_helps_a_write_that_was_given_up
        both_halves_work_at_once
        a_shutdown_leaves_the_other_half_open
        a_dropped_peer_is_noticed
    }
}

/// Returns the output of `future`, which must be ready soon.
async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(3 * super::TIMEOUT, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: nothing happened for {:?}", 3 * super::TIMEOUT),
    }
}

/// Waits for a moment, in which bytes arrive.
async fn a_moment() {
    tokio::time::sleep(Duration::from_millis(5)).await;
}

/// Returns the byte at this place of the stream that the checks write.
fn byte(at: usize) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// Returns the bytes of the stream from `at` on.
fn stretch(at: usize, len: usize) -> Vec<u8> {
    (at..at + len).map(byte).collect()
}

fn same(bytes: &[u8], at: usize) {
    let differs = (at..).zip(bytes).find(|(place, got)| byte(*place) != **got);
    assert!(differs.is_none(), "byte {differs:?} of the stream is another one: lost, doubled or moved");
}

/// Reads up to this place of the stream.
async fn read_to(stream: &mut (impl AsyncRead + Unpin), mut at: usize, end: usize) {
    let mut room = vec![0; 50_000];
    while at < end {
        let most = room.len().min(end - at);
        let read = stream.read(&mut room[..most]).await.unwrap();
        assert!(read > 0, "the stream has ended after {at} bytes of {end}");
        same(&room[..read], at);
        at += read;
    }
}

/// Reads up to the end of the stream. Returns the number of bytes.
async fn read_all(stream: &mut (impl AsyncRead + Unpin)) -> usize {
    let (mut room, mut at) = (vec![0; 50_000], 0);
    loop {
        match stream.read(&mut room).await.unwrap() {
            0 => return at,
            read => {
                same(&room[..read], at);
                at += read;
            }
        }
    }
}
