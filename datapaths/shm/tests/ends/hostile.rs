//! An attacker that writes anything at any time into the shared memory, through the file, as another process
//! would.

use crate::offers::{MAGIC, PREFIX, all_seals, memory, offer};
use bertha_core::{Buf, Connection, ErrorKind};
use bertha_datapath_shm::{Shm, ShmConnection, Waiting};
use futures_util::FutureExt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::io::pwrite;
use rustix::net::{SendFlags, send};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const RING: u64 = 4096;
const BYTES: u64 = PREFIX + 2 * RING;

/// Position of the word that asks the victim to wake the attacker when it sends.
const ASLEEP: u64 = 640;

/// Length of the longest message.
const LONGEST: usize = 504;

/// Positions of words that matter: control words of both rings, and the words at a ring's beginning.
const PLACES: [u64; 12] =
    [0, 128, 256, 384, 512, 640, 768, 896, PREFIX, PREFIX + 8, PREFIX + RING, PREFIX + RING + 8];

pub(crate) struct Attacker {
    file: OwnedFd,
    socket: UnixStream,
}

impl Attacker {
    async fn connect(waiting: Waiting) -> (Self, ShmConnection) {
        let (client, server) = UnixStream::pair().unwrap();
        let attacker = Self::offer(client);
        let victim = Shm::new().waiting(waiting).take(server).await.unwrap();
        (attacker, victim)
    }

    /// Shares memory with the victim at the other end of `socket`.
    pub(crate) fn offer(socket: UnixStream) -> Self {
        let file = memory(BYTES, all_seals());
        offer(&socket, MAGIC, RING, &[file.try_clone().unwrap()]);
        Self { file, socket }
    }

    /// Returns once the victim sends, or after a second.
    pub(crate) fn await_victim(&self) {
        pwrite(&self.file, &1_u64.to_ne_bytes(), ASLEEP).unwrap();
        self.socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        // The attacker ignores what the victim sends.
        let _rung = (&self.socket).read(&mut [0]);
    }

    pub(crate) fn step(&self, random: &mut StdRng) {
        let values = [0, 1, 2, 9, 504, 505, 506, 512, 513, 4096, 1 << 32, 1 << 63, u64::MAX, random.random()];
        let value = match random.random_range(0..4) {
            0 => random.random_range(0..600),
            _ => values[random.random_range(0..values.len())],
        };
        let at = match random.random_range(0..3) {
            0 => PLACES[random.random_range(0..PLACES.len())],
            1 => PREFIX + 8 * random.random_range(0..2 * RING / 8),
            _ => random.random_range(0..BYTES - 8),
        };
        pwrite(&self.file, &value.to_ne_bytes(), at).unwrap();
        if random.random_ratio(1, 16) {
            let bytes = [0; 200];
            let len = random.random_range(1..=bytes.len());
            // A victim that has hung up can't be woken.
            let _rung = send(&self.socket, &bytes[..len], SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        }
    }
}

/// Uses the connection as applications do. Returns true if it is over.
pub(crate) fn use_once(victim: &ShmConnection, random: &mut StdRng, received: &mut u64) -> bool {
    let outcome = match random.random_range(0..4) {
        0 => victim.recv().now_or_never().map(|it| it.map(|message| (1, message.len()))),
        1 => {
            let mut burst = Vec::new();
            let outcome = victim.recv_batch(&mut burst, random.random_range(1..100)).now_or_never();
            let longest = burst.iter().map(|message| message.len()).max().unwrap_or(0);
            outcome.map(|it| it.map(|count| (count, longest)))
        }
        2 => {
            let message = Buf::new(random.random_range(0..=LONGEST), 0).unwrap();
            victim.send(message).now_or_never().map(|it| it.map(|()| (0, 0)))
        }
        _ => {
            let burst = (0..random.random_range(1..40)).map(|len| Buf::new(len * 12, 0).unwrap());
            victim.send_batch(burst).now_or_never().map(|it| it.map(|()| (0, 0)))
        }
    };
    match outcome {
        None => false,
        Some(Ok((count, longest))) => {
            assert!(longest <= LONGEST, "a message of {longest} bytes");
            *received += count as u64;
            false
        }
        Some(Err(error)) => {
            assert!(matches!(error.kind(), ErrorKind::Reset | ErrorKind::Closed), "{error}");
            true
        }
    }
}

/// Ends the process if a step takes a minute, which means that the victim hangs.
#[expect(clippy::print_stderr, reason = "a process that ends says why")]
pub(crate) fn watch(done: Arc<AtomicU64>, ended: Arc<AtomicBool>, seed: u64) {
    std::thread::spawn(move || {
        let mut before = u64::MAX;
        while !ended.load(Ordering::Relaxed) {
            let now = done.load(Ordering::Relaxed);
            if now == before {
                eprintln!("the victim hangs after step {now} of seed {seed}");
                std::process::exit(1);
            }
            before = now;
            std::thread::sleep(Duration::from_secs(60));
        }
    });
}

pub(crate) fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// The variable `BERTHA_SHM_STEPS` sets the number of steps, `BERTHA_SEED` the seed.
#[tokio::test]
async fn an_end_that_scribbles_harms_nobody() {
    let steps = number("BERTHA_SHM_STEPS").unwrap_or(100_000);
    let seed = number("BERTHA_SEED").unwrap_or_else(rand::random);
    println!("BERTHA_SEED={seed}");
    let (done, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    watch(done.clone(), ended.clone(), seed);
    let mut random = StdRng::seed_from_u64(seed);
    let (mut received, mut broken) = (0, 0);
    let mut step = 0;
    while step < steps {
        let spins = random.random_ratio(1, 20);
        let (attacker, victim) = Attacker::connect(if spins { Waiting::Spin } else { Waiting::Park }).await;
        // The victim reads while the attacker writes: in another thread, and so at any point of the victim's
        // code.
        let life = random.random_range(1..2_000).min(steps - step);
        let writes = std::thread::spawn({
            let mut random = StdRng::seed_from_u64(random.random());
            move || {
                for _ in 0..life {
                    attacker.step(&mut random);
                }
                attacker
            }
        });
        let mut is_over = false;
        while !is_over && !writes.is_finished() {
            is_over = use_once(&victim, &mut random, &mut received);
            tokio::task::yield_now().await;
        }
        step += life;
        done.store(step, Ordering::Relaxed);
        broken += u64::from(is_over);
        let attacker = writes.join().unwrap();
        drop(attacker);
        // The victim notices the attacker's death, whatever was written.
        let end = async { while victim.recv().await.is_ok() {} };
        tokio::time::timeout(Duration::from_secs(60), end).await.expect("the end was not heard");
    }
    ended.store(true, Ordering::Relaxed);
    println!("{steps} steps: {received} messages were received, {broken} connections ended early");
    assert!(received > 0 && broken > 0, "the attack reaches nothing");
}
