//! Messages for whoever polls.

use crate::demux::Demux;
use crate::{Burst, Packet};
use bertha_core::Buf;
use bertha_netstack::Prediction;
use std::mem::MaybeUninit;

/// How many messages are received at once at most.
pub(crate) const AT_ONCE: usize = 32;

/// What one poll brings the connection that polls: its own messages come here directly, past its queue. Holds them without an
/// allocation, and hands them out in order.
pub(crate) struct Catch<'a> {
    connection: usize,
    /// How its datagrams are known; nothing if all messages take the way through the queue.
    prediction: Option<&'a Prediction>,
    /// Those from `first` to `end` are messages.
    messages: [MaybeUninit<Buf>; AT_ONCE],
    first: usize,
    end: usize,
    /// How many are wanted.
    limit: usize,
}

impl<'a> Catch<'a> {
    /// At most `limit` of the messages of `connection`, which `prediction` knows.
    #[inline]
    pub(crate) fn new(connection: usize, prediction: Option<&'a Prediction>, limit: usize) -> Self {
        let messages = [const { MaybeUninit::uninit() }; AT_ONCE];
        Self { connection, prediction, messages, first: 0, end: 0, limit: limit.min(AT_ONCE) }
    }

    /// For who waits for something else.
    #[inline]
    pub(crate) fn nothing() -> Self {
        Self::new(0, None, 0)
    }

    /// Takes messages of the connection from the front of `burst`, up to the first frame that is anything else, or to the limit.
    #[inline]
    pub(crate) fn take_from(&mut self, burst: &mut Burst) {
        let Some(prediction) = self.prediction else { return };
        while self.end < self.limit
            && let Some(first) = burst.first()
            && let Some(payload) = prediction.payload(first.bytes(), first.checksums())
            && let Some(packet) = burst.pop()
        {
            self.put(packet.into_part(payload));
        }
    }

    /// Takes a message of the connection, if it is one and wanted.
    pub(crate) fn offer(&mut self, packet: Packet) -> Result<(), Packet> {
        let known = self.prediction.filter(|_| self.end < self.limit);
        match known.and_then(|it| it.payload(packet.bytes(), packet.checksums())) {
            Some(payload) => {
                self.put(packet.into_part(payload));
                Ok(())
            }
            None => Err(packet),
        }
    }

    /// Has what comes from here on take the way through the connection's queue if something is there, which came before it.
    #[inline]
    pub(crate) fn line_up(&mut self, demux: &mut Demux) {
        if self.end < self.limit && demux.waiting(self.connection) > 0 {
            self.limit = self.end;
        }
    }

    /// Appends a message, if there is room.
    #[inline]
    fn put(&mut self, message: Buf) {
        debug_assert!(self.end < AT_ONCE);
        if let Some(place) = self.messages.get_mut(self.end) {
            place.write(message);
            self.end += 1;
        }
    }

    /// Appends the first messages of the connection's queue, up to `limit` and [`AT_ONCE`] in all.
    #[inline]
    pub(crate) fn fill(&mut self, demux: &mut Demux, limit: usize) {
        if demux.waiting(self.connection) > 0 {
            let room = limit.min(AT_ONCE).saturating_sub(self.end);
            demux.take(self.connection, room).for_each(|message| self.put(message));
        }
    }

    /// Takes all messages out. As long as it says, to the standard library too, so that a vector makes room once.
    #[inline]
    pub(crate) fn drain(&mut self) -> impl ExactSizeIterator<Item = Buf> {
        (self.first..self.end).map(|_| {
            // SAFETY: it is called at most once for each place between `first` and `end`, and `first` grows each time: so the place
            // was written, and is read once.
            let message = unsafe { self.messages[self.first].assume_init_read() };
            self.first += 1;
            message
        })
    }

    /// How many messages there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.end - self.first
    }
}

impl Drop for Catch<'_> {
    #[inline]
    fn drop(&mut self) {
        self.drain().for_each(drop);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demux::{Demux, Limits};
    use crate::{Config, Pool, port};
    use bertha_netstack::{Checksums, Flow, Interface, MacAddr, Path, Route, Stack};
    use std::time::Instant;

    const FLOW: (&str, &str) = ("10.0.0.2:4000", "10.0.0.1:9");

    fn stack(number: u8, now: Instant) -> Stack {
        let subnet = format!("10.0.0.{number}/24").parse().unwrap();
        Stack::new(Interface::new(MacAddr([2, 0, 0, 0, 0, number]), 1500, None, &[subnet], &[]).unwrap(), now)
    }

    /// How the flow's datagrams are known at one end, and how they leave the other.
    fn ends() -> (Prediction, Path) {
        let now = Instant::now();
        let (mut ours, mut theirs) = (stack(1, now), stack(2, now));
        let there = Flow::new(FLOW.1.parse().unwrap(), 4000);
        // It asks; it is answered.
        let _ = theirs.route(there, now);
        let question = theirs.poll_transmit(<[u8]>::to_vec).unwrap();
        ours.receive(&mut question.clone(), Checksums::Unknown, now);
        let answer = ours.poll_transmit(<[u8]>::to_vec).unwrap();
        theirs.receive(&mut answer.clone(), Checksums::Unknown, now);
        let Route::Ready(path) = theirs.route(there, now) else { panic!("no answer") };
        (ours.predict(Flow::new(FLOW.0.parse().unwrap(), 9)).unwrap(), path)
    }

    fn packet(pool: Pool, path: &Path, byte: u8) -> Packet {
        let mut frame = pool.buffer(path.len() + 3, 0).unwrap();
        frame[path.len()..].fill(byte);
        path.seal(&mut frame);
        Packet::from_buf(frame).unwrap()
    }

    #[test]
    fn messages_are_taken_in_order_up_to_the_limit_and_to_what_is_none() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { buffers: 8191, ..Config::new("net_null21", "10.0.0.1/24") };
        let (port, _queues) = port::open(&config).unwrap();
        let (pool, (prediction, path)) = (port.pool(), ends());
        let before = pool.in_use();
        let mut burst = Burst::new();
        for byte in 0..6 {
            let mut packet = packet(pool, &path, byte);
            // One of them is damaged, and not for this connection to judge.
            packet.bytes_mut()[44] ^= u8::from(byte == 3);
            burst.push(packet).unwrap();
        }
        let mut catch = Catch::new(0, Some(&prediction), 2);
        catch.take_from(&mut burst);
        assert_eq!((catch.len(), burst.len()), (2, 4));
        let mut taken: Vec<Buf> = Vec::new();
        taken.extend(catch.drain().take(1));
        assert_eq!((taken.len(), catch.len()), (1, 1));
        taken.extend(catch.drain());
        assert_eq!(catch.len(), 0);
        assert_eq!(taken.drain(..).map(|message| message.to_vec()).collect::<Vec<_>>(), [[0; 3], [1; 3]]);
        let mut catch = Catch::new(0, Some(&prediction), 32);
        catch.take_from(&mut burst);
        assert_eq!((catch.len(), burst.len()), (1, 3));
        assert_eq!(pool.in_use() - before, 4);
        drop((catch, burst));
        assert_eq!(pool.in_use(), before, "buffers were kept");
    }

    #[test]
    fn nothing_overtakes_what_waits_in_the_queue() {
        if !crate::AVAILABLE {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
            return;
        }
        let config = Config { buffers: 8191, ..Config::new("net_null22", "10.0.0.1/24") };
        let (port, _queues) = port::open(&config).unwrap();
        let (pool, (prediction, path)) = (port.pool(), ends());
        let mut demux = Demux::new(Limits { backlog: 1, queue: 8, shared: 1000 });
        let peer = FLOW.0.parse().unwrap();
        let (connection, _) = demux.connect(peer, 1, |_| true).unwrap();
        let mut catch = Catch::new(connection, Some(&prediction), 3);
        assert!(catch.offer(packet(pool, &path, 1)).is_ok());
        catch.line_up(&mut demux);
        assert!(catch.offer(packet(pool, &path, 2)).is_ok());
        // One that was not known comes in between.
        let queued = pool.buffer(3, 0).map(|mut message| {
            message.fill(3);
            message
        });
        demux.deliver(connection, queued.unwrap()).unwrap();
        catch.line_up(&mut demux);
        let late = catch.offer(packet(pool, &path, 4)).unwrap_err();
        demux.deliver(connection, late.into_part(path.len()..path.len() + 3)).unwrap();
        catch.fill(&mut demux, 3);
        assert_eq!(catch.drain().map(|message| message[0]).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(demux.waiting(connection), 1);
    }
}
