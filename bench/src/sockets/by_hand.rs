//! Two threads of this process that use rings by hand, and poll: the least that messages through shared memory cost.

use crate::harness::{Placement, Recorder, meet};
use crate::{Error, ErrorKind};
use bertha_ring::{Broken, Consumer, Cursor, Direction, Layout, Producer};
use std::hint::spin_loop;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

/// Bytes of a ring, as many as the daemon of sockets gives to each direction of a connection.
const RING: usize = 128 << 10;

/// The messages of a measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) bytes: usize,
    pub(super) count: u32,
}

/// One end of a connection by hand: the ring that it writes, and the ring that it reads.
struct End<'a> {
    memory: &'a [AtomicU64],
    layout: Layout,
    writes: Direction,
    reads: Direction,
    producer: Producer,
    consumer: Consumer,
    cursor: Cursor,
}

impl<'a> End<'a> {
    fn new(memory: &'a [AtomicU64], layout: Layout, writes: Direction, reads: Direction) -> Self {
        let consumer = Consumer::new(layout.longest());
        Self { memory, layout, writes, reads, producer: Producer::default(), consumer, cursor: Cursor::START }
    }

    /// Writes a message; polls while the ring is full.
    fn write(&mut self, message: &[u8]) -> Result<(), Error> {
        let ring = self.layout.ring(self.memory, self.writes);
        while !self.producer.push(ring, message).map_err(broken)? {
            spin_loop();
        }
        // No end sleeps.
        let _wakes = self.producer.publish(ring);
        Ok(())
    }

    /// Reads a message of the length of `into`; polls until there is one.
    fn read(&mut self, into: &mut [u8]) -> Result<(), Error> {
        let ring = self.layout.ring(self.memory, self.reads);
        let mut read = 0;
        while read < into.len() {
            match self.cursor.copy(ring, self.consumer.longest(), &mut into[read..]).map_err(broken)? {
                0 => spin_loop(),
                bytes => read += bytes,
            }
        }
        self.consumer.take_until(ring, self.cursor);
        // No end sleeps.
        let _wakes = self.consumer.release(ring, false);
        Ok(())
    }
}

/// Sends messages in one direction, two rounds, of which the first warms up. Returns those per second, and the microseconds of processor
/// time that both ends had for each.
///
/// # Errors
/// Errors of the threads.
pub(super) fn send(load: Load) -> Result<[f64; 2], Error> {
    between(
        |end| {
            let mut message = vec![0; load.bytes];
            for _ in 0..2 {
                (0..load.count).try_for_each(|_| end.read(&mut message))?;
                end.write(&[0])?;
            }
            Ok(())
        },
        |end| {
            let message = vec![7; load.bytes];
            let mut round = || {
                let begun = Instant::now();
                (0..load.count).try_for_each(|_| end.write(&message))?;
                end.read(&mut [0]).map(|()| begun.elapsed().as_secs_f64())
            };
            round()?;
            let seconds = round()?;
            let messages = f64::from(load.count);
            // Each end has a core to itself, and polls there all the time.
            Ok([messages / seconds, 2.0 * seconds * 1e6 / messages])
        },
    )
}

/// Waits for the reply to each message, and returns the median in microseconds.
///
/// # Errors
/// Errors of the threads.
pub(super) fn ask(load: Load) -> Result<f64, Error> {
    let warm_up = load.count / 10;
    between(
        |end| {
            let mut message = vec![0; load.bytes];
            (0..load.count).try_for_each(|_| end.read(&mut message).and_then(|()| end.write(&message)))
        },
        |end| {
            let (message, mut reply, mut times) =
                (vec![7; load.bytes], vec![0; load.bytes], Recorder::new()?);
            for at in 0..load.count {
                let begun = Instant::now();
                end.write(&message)?;
                end.read(&mut reply)?;
                if at >= warm_up {
                    times.record(begun.elapsed());
                }
            }
            Ok(times.summary().p50_us)
        },
    )
}

/// Runs both ends of a connection, each on a core of its own, and returns the result of the client.
fn between<T: Send>(
    server: impl FnOnce(&mut End<'_>) -> Result<(), Error> + Send,
    client: impl FnOnce(&mut End<'_>) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let layout = Layout::at_most(RING);
    let memory: Vec<_> = (0..layout.memory_bytes() / 8).map(|_| AtomicU64::new(0)).collect();
    let end = |writes, reads| End::new(&memory, layout, writes, reads);
    let (mut first, mut second) = (
        end(Direction::FromClient, Direction::FromServer),
        end(Direction::FromServer, Direction::FromClient),
    );
    meet(Placement::AcrossCores, || async move { server(&mut second) }, || async move { client(&mut first) })
}

fn broken(broken: Broken) -> Error {
    Error::new(ErrorKind::Codec, broken.to_string())
}
