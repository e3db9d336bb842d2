//! The attacker as a process of its own: it shares nothing with the victim but the pages and the socket.

use crate::hostile::{Attacker, number, use_once, watch};
use bertha_core::{Addr, Connection, Datapath, Listener};
use bertha_datapath_shm::{Shm, Waiting};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// Environment variables that tell a process of this program to attack, its victim, and the number of
/// attacks.
const VICTIM: &str = "BERTHA_SHM_VICTIM";
const STEPS: &str = "BERTHA_SHM_ATTACKER_STEPS";
const SEED: &str = "BERTHA_SHM_ATTACKER_SEED";

/// This function is no test: it is the attacking process. It opens a connection, writes for a while, leaves,
/// and opens the next connection.
#[test]
fn the_attacker() {
    let Ok(victim) = std::env::var(VICTIM) else { return };
    let mut random = StdRng::seed_from_u64(number(SEED).unwrap());
    let mut left = number(STEPS).unwrap();
    while left > 0 {
        let attacker = Attacker::offer(UnixStream::connect(&victim).unwrap());
        // From now on both run at once.
        attacker.await_victim();
        let life = random.random_range(1..2_000).min(left);
        (0..life).for_each(|_| attacker.step(&mut random));
        left -= life;
    }
}

/// A child process that is killed if the test fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        // The process has ended, unless the test fails.
        let _ended = (self.0.kill(), self.0.wait());
    }
}

/// The variable `BERTHA_SHM_STEPS` sets the number of steps, `BERTHA_SEED` the seed. The system decides when
/// the two processes run.
#[tokio::test]
async fn a_process_that_scribbles_harms_nobody() {
    let steps = number("BERTHA_SHM_STEPS").unwrap_or(100_000);
    let seed = number("BERTHA_SEED").unwrap_or_else(rand::random);
    println!("BERTHA_SEED={seed}");
    let (done, ended) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    watch(done.clone(), ended.clone(), seed);
    let mut random = StdRng::seed_from_u64(seed);
    let path = std::env::temp_dir().join(format!("bertha-shm-hostile-{}.sock", std::process::id()));
    let listeners = [Waiting::Park, Waiting::Spin].map(|waiting| Shm::new().waiting(waiting));
    let (mut received, mut connections) = (0, 0);
    for (shm, steps) in listeners.iter().zip([steps - steps / 10, steps / 10]) {
        let listener = shm.listen(Addr::Unix(path.clone())).await.unwrap();
        let attacker = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "hostile_process::the_attacker"])
            .env(VICTIM, &path)
            .envs([(STEPS, steps.to_string()), (SEED, random.random::<u64>().to_string())])
            .stdout(Stdio::null())
            .spawn();
        let mut attacker = Killed(attacker.unwrap());
        loop {
            // Connections are accepted as long as there are any, also after the attacker has gone.
            let Ok(accepted) = timeout(Duration::from_millis(200), listener.accept()).await else {
                match attacker.0.try_wait().unwrap() {
                    Some(status) => break assert!(status.success(), "the attacker failed: seed {seed}"),
                    None => continue,
                }
            };
            let victim = accepted.unwrap();
            connections += 1;
            while !use_once(&victim, &mut random, &mut received) {
                tokio::task::yield_now().await;
            }
            // The end is final, whatever was written.
            let end = async { while victim.recv().await.is_ok() {} };
            timeout(Duration::from_secs(60), end).await.expect("the end was not heard");
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    ended.store(true, Ordering::Relaxed);
    println!("{steps} steps: {connections} connections, {received} messages were received");
    assert!(received > 0 && connections > 1, "the attack reaches nothing");
}
