//! The instructions per message that the pass saves: the test runs itself under valgrind, which counts them.
//!
//! Without arguments the program compares. `cost separate 1000` and `cost fused 1000` move a thousand
//! messages, to be counted.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]
#![allow(clippy::print_stdout, reason = "what it counts is what it shows")]

use bertha_chunnels::{Bincode, Checksum, Serialize};
use bertha_core::{Connection, Wrap, make_stack, optimize};
use bertha_datapath_sim::{Sim, pair};
use bertha_pass_fuse_checksum::FuseChecksum;
use std::process::Command;

/// A message as a thermometer sends it.
type Message = (u32, u32);

/// Moves messages between two ends in memory, one at a time and then in bursts of 16.
async fn exchange(here: impl Connection<Data = Message>, there: impl Connection<Data = Message>, count: u32) {
    let mut burst = Vec::with_capacity(16);
    for number in 0..count {
        here.send((number, 7)).await.unwrap();
        assert_eq!(there.recv().await.unwrap().0, number);
    }
    for _ in 0..count / 16 {
        here.send_batch((0..16).map(|number| (number, 7))).await.unwrap();
        while burst.len() < 16 {
            there.recv_batch(&mut burst, 16).await.unwrap();
        }
        burst.clear();
    }
}

/// Does the work that is counted.
fn run(stack: &str, count: u32) {
    let mut sim = Sim::new(1);
    let (here, there) = pair(sim.runtime());
    let separate = make_stack!(Serialize::<Message, Bincode>::new(), Checksum::new());
    sim.run(async {
        if stack == "separate" {
            exchange(separate.wrap(here).await.unwrap(), separate.wrap(there).await.unwrap(), count).await;
        } else {
            let fused = optimize!(separate, FuseChecksum);
            exchange(fused.wrap(here).await.unwrap(), fused.wrap(there).await.unwrap(), count).await;
        }
    });
}

/// Returns the instructions of a whole run, or `None` if there is no valgrind.
fn instructions(stack: &str, count: u32) -> Option<u64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args([stack, &count.to_string()])
        .output()
        .ok()?;
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{log}");
    let collected = log.lines().find_map(|line| line.split_once("Collected : ")).unwrap();
    Some(collected.1.trim().parse().unwrap())
}

/// Returns the instructions for each message, both ends together. The instructions of the start cancel.
fn per_message(stack: &str) -> Option<f64> {
    const COUNT: u32 = 1600;
    let difference = instructions(stack, 2 * COUNT)? - instructions(stack, COUNT)?;
    Some(difference as f64 / f64::from(2 * COUNT))
}

fn main() {
    let arguments: Vec<_> = std::env::args().collect();
    // Runners of tests ask for lists and hand over filters.
    if let [_, stack, count] = &arguments[..]
        && let Ok(count) = count.parse()
    {
        return run(stack, count);
    }
    let (Some(separate), Some(fused)) = (per_message("separate"), per_message("fused")) else {
        assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "valgrind is missing");
        println!("SKIPPED: counting instructions, since valgrind is not installed");
        return;
    };
    println!("instructions per message: {separate:.0} in two layers, {fused:.0} in one");
    assert!(fused < separate);
}
