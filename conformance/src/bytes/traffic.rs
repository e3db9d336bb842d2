//! Bytes on their way.

use super::{all, chunk, next, succeeds};
use crate::timeout::within;
use bertha_core::{Chunk, Connection};
use futures_util::future::join;
use futures_util::poll;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

/// Every byte arrives, in order, however the sender cuts the stream: more bytes than the datapath takes at
/// once.
pub async fn all_bytes_arrive_in_order<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    let send = async {
        let mut at = 0;
        for round in 0..200 {
            let len = 1 + (round * 1_237) % 20_000;
            succeeds(a, "send", a.send(chunk(a, at, len))).await;
            at += len;
            let lens = [1 + round % 7, 1_000 + round, 1];
            let burst: Vec<_> = lens
                .into_iter()
                .map(|len| {
                    at += len;
                    chunk(a, at - len, len)
                })
                .collect();
            succeeds(a, "send_batch", a.send_batch(burst.into_iter())).await;
        }
        succeeds(a, "send of the end", a.send(Chunk::end())).await;
        at
    };
    let (sent, received) = join(send, all(b)).await;
    assert_eq!(received, sent, "bytes that arrived before the end");
}

/// "Dropping the future of `recv` or `recv_batch` loses" no byte.
pub async fn a_dropped_recv_loses_no_byte<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    const COUNT: usize = 50;
    let send = async {
        for number in 0..COUNT {
            succeeds(a, "send", a.send(chunk(a, 10 * number, 10))).await;
            crate::timeout::let_arrive(a).await;
        }
    };
    let receive = async {
        let mut at = 0;
        while at < 10 * COUNT {
            for _ in 0..5 {
                if let Poll::Ready(received) = poll!(pin!(b.recv())) {
                    let received = received.unwrap();
                    super::same(&received, at);
                    at += received.len();
                }
            }
            let mut batch = Vec::new();
            let _dropped = within(b, Duration::from_micros(700), b.recv_batch(&mut batch, 3)).await;
            for received in batch {
                super::same(&received, at);
                at += received.len();
            }
        }
        at
    };
    let (received, ()) = join(receive, send).await;
    assert_eq!(received, 10 * COUNT);
}

/// "If the future of `send` is dropped before it is ready, the message was sent whole or not at all":
/// otherwise the next bytes would continue half a chunk.
pub async fn a_dropped_send_leaves_no_half_chunk<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    // Each chunk has its number in each of its bytes.
    const LEN: usize = 60_000;
    let numbered = |number: u8| {
        let mut bytes = bertha_core::Buf::new(LEN, 0).unwrap();
        bytes.fill(number);
        Chunk::from(bytes)
    };
    let mut dropped = 0;
    for number in 0..200 {
        match poll!(pin!(a.send(numbered(number)))) {
            Poll::Ready(sent) => sent.unwrap(),
            Poll::Pending => dropped += 1,
        }
        if dropped == 3 {
            break;
        }
    }
    assert!(dropped > 0, "12 MB were taken that nobody received: nothing bounds what is sent");
    let finish = async {
        succeeds(a, "send after others were dropped", a.send(numbered(255))).await;
        succeeds(a, "send of the end", a.send(Chunk::end())).await;
    };
    let receive = async {
        let mut run = (0, 0);
        loop {
            let chunk = succeeds(b, "recv", b.recv()).await;
            for byte in chunk.iter().copied() {
                if byte != run.0 {
                    assert_eq!(run.1 % LEN, 0, "half of chunk {}", run.0);
                    assert!(byte > run.0, "chunk {byte} behind chunk {}", run.0);
                    run = (byte, 0);
                }
                run.1 += 1;
            }
            if chunk.is_end() {
                break run;
            }
        }
    };
    let (last, ()) = join(receive, finish).await;
    assert_eq!(last, (255, LEN), "the last chunk");
}

/// Bytes go both ways at once.
pub async fn bytes_go_both_ways<A, B>(a: &A, b: &B)
where
    A: Connection<Data = Chunk>,
    B: Connection<Data = Chunk>,
{
    succeeds(a, "send", a.send(chunk(a, 0, 100))).await;
    succeeds(b, "send", b.send(chunk(b, 0, 100))).await;
    for (end, mut at) in [(0, 0), (1, 0)] {
        while at < 100 {
            at += if end == 0 { next(a, at).await } else { next(b, at).await };
        }
    }
}
