//! Sends many messages over many connections, and checks after each round that no task or socket of
//! them is left and that memory does not grow.

use crate::beside::{is_beside, run_beside};
use crate::running::{config, run};
use bertha_chunnels::{Reliable, Serialize};
use bertha_core::{Addr, Connection, Datapath, Runtime, make_stack};
use bertha_datapath_caladan::{Caladan, CaladanRuntime, Tcp, spawn, usage};
use bertha_negotiation::{Negotiate, Runs, Settings};
use futures_util::future::join_all;
use std::time::{Duration, Instant};

/// The variable with the number of messages: `scripts/caladan soak` has ten million.
const MESSAGES: &str = "BERTHA_TEST_SOAK";
const DEFAULT: u64 = 20_000;

/// Number of rounds, each with new connections.
const ROUNDS: u64 = 10;
const CONNECTIONS: u64 = 20;

/// Number of messages of a connection that are on their way.
const WINDOW: u64 = 32;

/// Growth of the process after the first round, in bytes, that is no leak: Caladan uses some 2,000 stacks in
/// turn, each of which takes 8 KiB and more when it is first used.
const GROWTH: u64 = 32 << 20;

/// Has `messages` numbers echoed over `CONNECTIONS` connections at once.
async fn round<S, D>(stack: impl Fn() -> S, datapath: impl Fn() -> D, messages: u64)
where
    S: Negotiate + 'static,
    D: Datapath + Runs<S, Out: Connection<Data = u64>>,
{
    let mut incoming = stack().listen(datapath(), "10.77.0.2:0".parse::<Addr>().unwrap()).await.unwrap();
    let to = incoming.local_addr();
    let _listening = CaladanRuntime.spawn(async move {
        while let Some(accepted) = incoming.next_or_refusal().await {
            let served = accepted.unwrap();
            spawn(async move {
                let mut burst = Vec::new();
                while served.recv_batch(&mut burst, 64).await.is_ok() {
                    if served.send_batch(burst.drain(..)).await.is_err() {
                        break;
                    }
                }
                // A client that closes waits for the end of this side, too.
                let _ = served.close().await;
            });
        }
    });
    let asking = (0..CONNECTIONS).map(async |_| {
        let connection = stack().connect(datapath(), to.clone()).settings(patient()).await.unwrap();
        let count = messages / CONNECTIONS;
        for first in (0..count).step_by(WINDOW as usize) {
            let window = first..count.min(first + WINDOW);
            connection.send_batch(window.clone()).await.unwrap();
            let mut answers = Vec::new();
            for _ in window.clone() {
                answers.push(connection.recv().await.unwrap());
            }
            // `Reliable` alone promises no order.
            answers.sort_unstable();
            assert!(window.eq(answers));
        }
        connection.close().await.unwrap();
    });
    join_all(asking).await;
}

/// Returns settings for a machine whose scheduler may keep a process from running for seconds.
fn patient() -> Settings {
    let mut settings = Settings::default();
    settings.handshake_timeout = Duration::from_secs(60);
    settings
}

/// Returns the memory of this process, in bytes.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

async fn rounds() {
    let messages = std::env::var(MESSAGES).map_or(DEFAULT, |text| text.parse().unwrap());
    let (before, begin, mut after_one) = (usage(), Instant::now(), None);
    for _ in 0..ROUNDS {
        let half = messages / ROUNDS / 2;
        round(|| make_stack!(Serialize::<u64>::new(), Reliable::new()), Caladan::new, half).await;
        round(|| make_stack!(Serialize::<u64>::new()), Tcp::new, half).await;
        let end = Instant::now() + Duration::from_secs(60);
        while usage() != before {
            assert!(Instant::now() < end, "{before:?} before, and {:?} a minute after a round", usage());
            CaladanRuntime.sleep_until(CaladanRuntime.now() + Duration::from_millis(10)).await;
        }
        let resident = resident();
        let first = *after_one.get_or_insert(resident);
        assert!(
            resident < first + GROWTH,
            "{first} bytes after the first round, {resident} after a later one"
        );
    }
    println!("{messages} messages in {:?}, {} bytes", begin.elapsed(), resident());
}

#[test]
fn nothing_is_left_of_many_messages() {
    run_beside("soak::inside", "simple", &[]);
}

#[test]
#[ignore = "run by another test, as a process of its own"]
fn inside() {
    if is_beside() {
        run(&config(2), rounds());
    }
}
