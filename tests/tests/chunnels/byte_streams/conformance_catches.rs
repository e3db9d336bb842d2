//! The suite of streams can fail: streams that each break one promise, and the checks that notice.

use bertha_conformance::byte_stream;
use futures_util::FutureExt;
use std::io::{self, IoSlice};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Sound,
    /// Bytes that do not fit into the reader's room are lost.
    LosesTheRest,
    /// A read without room reads bytes, and loses them.
    ReadsWithoutRoom,
    /// A pending write has written a part.
    WritesAndWaits,
    /// A write returns that it took all bytes, and took a part.
    SaysItTookAll,
    /// A vectored write takes its last part first.
    LastPartFirst,
    /// A write of nothing ends the stream.
    NothingEnds,
    /// Writes take all bytes, without a bound, and keep them.
    KeepsAll,
    /// A flush does nothing, and neither does a write.
    FlushesNothing,
    /// A shutdown ends both halves.
    EndsBoth,
    /// A shutdown ends nothing.
    EndsNothing,
    /// Bytes that are read once come again.
    ReadsTwice,
    /// The end of the stream is never seen.
    NeverEnds,
}

struct Faulty {
    inner: DuplexStream,
    fault: Fault,
    kept: Vec<u8>,
    ended: bool,
    reads: usize,
    last: Vec<u8>,
}

fn pair(fault: Fault) -> (Faulty, Faulty) {
    let (a, b) = tokio::io::duplex(10_000);
    let end = |inner| Faulty { inner, fault, kept: Vec::new(), ended: false, reads: 0, last: Vec::new() };
    (end(a), end(b))
}

impl AsyncRead for Faulty {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.fault == Fault::EndsBoth && self.ended {
            return Poll::Ready(Ok(()));
        }
        if self.fault == Fault::LosesTheRest
            || (self.fault == Fault::ReadsWithoutRoom && room.remaining() == 0)
        {
            let mut all = vec![0; 100];
            let mut larger = ReadBuf::new(&mut all);
            let poll = Pin::new(&mut self.inner).poll_read(cx, &mut larger);
            let fits = larger.filled().len().min(room.remaining());
            room.put_slice(&larger.filled()[..fits]);
            return if poll.is_pending() && room.remaining() == 0 { Poll::Ready(Ok(())) } else { poll };
        }
        if self.fault == Fault::ReadsTwice && self.reads == 10 && self.last.len() <= room.remaining() {
            self.reads = 0;
            room.put_slice(&self.last);
            return Poll::Ready(Ok(()));
        }
        let before = room.filled().len();
        let poll = Pin::new(&mut self.inner).poll_read(cx, room);
        let read = room.filled()[before..].to_vec();
        if self.fault == Fault::NeverEnds && poll.is_ready() && read.is_empty() && room.remaining() > 0 {
            return Poll::Pending;
        }
        if !read.is_empty() {
            (self.reads, self.last) = (self.reads + 1, read);
        }
        poll
    }
}

impl AsyncWrite for Faulty {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.fault {
            Fault::KeepsAll | Fault::FlushesNothing => {
                self.kept.extend_from_slice(bytes);
                return Poll::Ready(Ok(bytes.len()));
            }
            Fault::WritesAndWaits if bytes.len() == 10_007 => {
                let _written = Pin::new(&mut self.inner).poll_write(cx, &bytes[..100]);
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Fault::NothingEnds if bytes.is_empty() => {
                return Pin::new(&mut self.inner).poll_shutdown(cx).map_ok(|()| 0);
            }
            _ => {}
        }
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        if self.fault == Fault::SaysItTookAll { written.map_ok(|_| bytes.len()) } else { written }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let full = |part: &&IoSlice<'_>| !part.is_empty();
        let part = if self.fault == Fault::LastPartFirst {
            parts.iter().rfind(full)
        } else {
            parts.iter().find(full)
        };
        self.poll_write(cx, part.map_or(&[], |part| part))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.fault == Fault::KeepsAll {
            while !self.kept.is_empty() {
                let Self { inner, kept, .. } = &mut *self;
                let written = std::task::ready!(Pin::new(inner).poll_write(cx, kept))?;
                self.kept.drain(..written);
            }
        }
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.ended = true;
        if self.fault == Fault::KeepsAll {
            std::task::ready!(self.as_mut().poll_flush(cx))?;
        }
        if self.fault == Fault::EndsNothing {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// Returns true if `check` fails, by a panic or by waiting for ever.
async fn fails(fault: Fault, check: impl Future<Output = ()>) -> bool {
    let check = AssertUnwindSafe(check).catch_unwind();
    let patience = Duration::from_secs(if fault == Fault::Sound { 60 } else { 2 });
    !matches!(tokio::time::timeout(patience, check).await, Ok(Ok(())))
}

macro_rules! catches {
    ($($check:ident: $($fault:ident),+;)*) => {$(
        #[tokio::test]
        async fn $check() {
            let check = async |fault| {
                let (a, b) = pair(fault);
                fails(fault, byte_stream::$check(a, b)).await
            };
            assert!(!check(Fault::Sound).await, "fails without a fault");
            $(assert!(check(Fault::$fault).await, "does not notice {:?}", Fault::$fault);)+
        }
    )*};
}

catches! {
    short_reads_lose_nothing: LosesTheRest, ReadsTwice;
    a_dropped_read_loses_nothing: ReadsTwice;
    a_read_without_room_is_no_end: ReadsWithoutRoom;
    short_writes_lose_nothing: SaysItTookAll, EndsNothing;
    vectored_writes_keep_their_order: LastPartFirst;
    a_write_of_nothing_is_no_end: NothingEnds;
    a_dropped_write_is_counted_or_not_written: WritesAndWaits;
    writing_has_a_bound: KeepsAll;
    flushed_bytes_arrive: FlushesNothing;
    reading_helps_what_was_written: KeepsAll;
    reading_helps_after_a_write_was_given_up: KeepsAll;
    a_read_that_waits_helps_a_write_that_was_given_up: KeepsAll;
    both_halves_work_at_once: SaysItTookAll, EndsBoth;
    a_shutdown_leaves_the_other_half_open: EndsBoth, EndsNothing;
    a_dropped_peer_is_noticed: NeverEnds;
}
