//! Round trips and throughput of messages of 64 bytes between two threads, both polling, through [`Shm`] and through a ring written by
//! hand: `cargo run --release -p bertha-datapath-shm --example by_hand`.

use bertha_core::{Base, Buf, Connection, Error};
use bertha_datapath_shm::{Shm, ShmConnection, Waiting};
use std::array::from_fn;
use std::hint::{black_box, spin_loop};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

const ROUND_TRIPS: usize = 200_000;
const MESSAGES: usize = 4_000_000;
const BURST: usize = 32;

/// One producer and one consumer, each with the last index of the other that it has seen.
struct Ring {
    slots: Vec<[AtomicU64; 8]>,
    head: Apart,
    tail: Apart,
}

#[repr(align(128))]
#[derive(Default)]
struct Apart(AtomicUsize);

impl Ring {
    fn new() -> Arc<Self> {
        let slots = (0..1024).map(|_| Default::default()).collect();
        Arc::new(Self { slots, head: Apart::default(), tail: Apart::default() })
    }

    fn push(&self, at: usize, seen: &mut usize, message: [u64; 8]) {
        while at - *seen == self.slots.len() {
            *seen = self.head.0.load(Ordering::Acquire);
            spin_loop();
        }
        for (word, value) in self.slots[at % 1024].iter().zip(message) {
            word.store(value, Ordering::Relaxed);
        }
        self.tail.0.store(at + 1, Ordering::Release);
    }

    fn pop(&self, at: usize, seen: &mut usize) -> [u64; 8] {
        while *seen == at {
            *seen = self.tail.0.load(Ordering::Acquire);
            spin_loop();
        }
        let slot = &self.slots[at % 1024];
        let message = from_fn(|word| slot[word].load(Ordering::Relaxed));
        self.head.0.store(at + 1, Ordering::Release);
        message
    }
}

fn median(mut nanoseconds: Vec<u128>) -> u128 {
    nanoseconds.sort_unstable();
    nanoseconds[nanoseconds.len() / 2]
}

fn by_hand() -> (u128, f64) {
    let (there, back) = (Ring::new(), Ring::new());
    let (from, to) = (there.clone(), back.clone());
    let echo = thread::spawn(move || {
        let [mut seen_from, mut seen_to] = [0; 2];
        for at in 0..ROUND_TRIPS {
            to.push(at, &mut seen_to, from.pop(at, &mut seen_from));
        }
    });
    let [mut seen_there, mut seen_back] = [0; 2];
    let times = (0..ROUND_TRIPS).map(|at| {
        let start = Instant::now();
        there.push(at, &mut seen_there, [at as u64; 8]);
        black_box(back.pop(at, &mut seen_back));
        start.elapsed().as_nanos()
    });
    let round_trip = median(times.collect());
    drop(echo.join());
    let ring = Ring::new();
    let from = ring.clone();
    let receiver = thread::spawn(move || {
        let mut seen = 0;
        for at in 0..MESSAGES {
            black_box(from.pop(at, &mut seen));
        }
    });
    let (start, mut seen) = (Instant::now(), 0);
    (0..MESSAGES).for_each(|at| ring.push(at, &mut seen, [at as u64; 8]));
    drop(receiver.join());
    (round_trip, MESSAGES as f64 / start.elapsed().as_secs_f64())
}

async fn one(take: bool, socket: UnixStream) -> Result<ShmConnection, Error> {
    let shm = Shm::new().waiting(Waiting::Spin);
    if take { shm.take(socket).await } else { shm.offer(socket).await }
}

fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn message(connection: &ShmConnection, byte: u8) -> Result<Buf, Error> {
    let mut message = connection.base().buffer(64)?;
    message.fill(byte);
    Ok(message)
}

fn by_shm() -> Result<(u128, f64), Error> {
    let (here, there) = UnixStream::pair()?;
    let echo = thread::spawn(move || {
        block_on(async {
            let connection = one(true, there).await?;
            for _ in 0..ROUND_TRIPS {
                connection.send(connection.recv().await?).await?;
            }
            let (mut received, mut burst) = (0, Vec::new());
            while received < MESSAGES {
                received += connection.recv_batch(&mut burst, BURST).await?;
                burst.clear();
            }
            connection.send(message(&connection, 0)?).await?;
            drop(connection.recv().await);
            Ok(())
        })
    });
    let measured = block_on(async {
        let connection = one(false, here).await?;
        let mut times = Vec::new();
        for at in 0..ROUND_TRIPS {
            let start = Instant::now();
            connection.send(message(&connection, at as u8)?).await?;
            black_box(connection.recv().await?);
            times.push(start.elapsed().as_nanos());
        }
        let start = Instant::now();
        for _ in 0..MESSAGES / BURST {
            let burst = (0..BURST).filter_map(|at| message(&connection, at as u8).ok());
            connection.send_batch(burst).await?;
        }
        connection.recv().await?;
        Ok((median(times), MESSAGES as f64 / start.elapsed().as_secs_f64()))
    });
    drop(echo.join());
    measured
}

#[expect(clippy::print_stdout, reason = "this is the program's output")]
fn main() -> Result<(), Error> {
    for _ in 0..3 {
        let (hand, shm) = (by_hand(), by_shm()?);
        println!("round trip: by hand {} ns, Shm {} ns", hand.0, shm.0);
        println!("throughput: by hand {:.1} million/s, Shm {:.1} million/s", hand.1 / 1e6, shm.1 / 1e6);
    }
    Ok(())
}
