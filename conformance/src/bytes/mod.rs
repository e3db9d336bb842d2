//! The checks of connections of bytes, whose chunks have no bounds.

mod endings;
mod traffic;

use super::timeout::{soon, succeeds};
use bertha_core::{Base, Buf, Chunk, Connection};
pub use endings::*;
pub use traffic::*;

/// Runs all checks that every connection of bytes must pass, each on a new pair of connected ends that
/// `connect` makes.
pub async fn bytes<A, B>(connect: impl AsyncFn() -> (A, B))
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    macro_rules! each {
        ($($check:ident)*) => {$({
            let (a, b) = Box::pin(connect()).await;
            Box::pin($check(&a, &b)).await;
            let (a, b) = Box::pin(connect()).await;
            Box::pin($check(&b, &a)).await;
        })*};
    }
    each! {
        all_bytes_arrive_in_order
        bytes_go_both_ways
        a_dropped_recv_loses_no_byte
        a_dropped_send_leaves_no_half_chunk
        an_end_leaves_the_other_half_open
        an_end_in_a_burst_stands_behind_what_was_sent
        a_closed_connection_of_bytes_fails
    }
}

/// Returns the byte at this place of the stream that the checks send.
fn byte(at: usize) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// Returns the chunk of `len` bytes from `at` on, in a buffer of the connection's.
fn chunk<C: Connection<Data = Chunk>>(connection: &C, at: usize, len: usize) -> Chunk {
    let mut bytes: Buf = connection.base().buffer(len).unwrap();
    for (place, to) in (at..).zip(&mut bytes[..]) {
        *to = byte(place);
    }
    bytes.into()
}

/// Receives the next chunk, which is not the end, and compares it with the stream from `at` on. Returns its
/// length.
async fn next<C: Connection<Data = Chunk>>(connection: &C, at: usize) -> usize {
    let chunk = succeeds(connection, "recv of bytes", connection.recv()).await;
    assert!(!chunk.is_end(), "the stream has ended after {at} bytes");
    same(&chunk, at);
    chunk.len()
}

fn same(bytes: &[u8], at: usize) {
    let differs = (at..).zip(bytes).find(|(place, got)| byte(*place) != **got);
    assert!(differs.is_none(), "byte {differs:?} of the stream is another one: lost, doubled or moved");
}

/// Receives up to the end of the stream. Returns the number of bytes.
async fn all<C: Connection<Data = Chunk>>(connection: &C) -> usize {
    let mut at = 0;
    loop {
        let chunk = succeeds(connection, "recv of bytes", connection.recv()).await;
        if chunk.is_end() {
            return at;
        }
        same(&chunk, at);
        at += chunk.len();
    }
}

/// Returns the error of a call that must fail soon.
async fn fails<C: Connection, T>(
    connection: &C,
    what: &str,
    future: impl Future<Output = Result<T, bertha_core::Error>>,
) -> bertha_core::Error {
    match soon(connection, what, future).await {
        Ok(_) => panic!("{what}: succeeded"),
        Err(error) => error,
    }
}
