//! Processes on hosts of their own, with a real Redis and a real etcd, while everything that can fail does
//! fail: processes are killed and stopped, hosts and stores are cut off, and stores are restarted. The
//! processes record every message and every round, and the test then checks the promises in their records.
//!
//! * Streams between two endpoints, over `Reliable` and `Ordered`, lose and repeat nothing.
//! * Participants agree through either store on one stack per round.
//! * Participants of topics, which are processes of `apps/pubsub`, receive nothing twice and each publisher's
//!   messages in order while everything fails, and change between two orderings as other participants come
//!   and go. Once the failures have ended, some participants leave and come again, and no message is lost
//!   from then on.
//!
//! `CHAOS_SECONDS` is the length of the test (65), and `CHAOS_SEED` chooses the failures and their times; the
//! test prints the seed. The test needs root, for the namespaces of the network, and the program `pubsub`
//! beside the test's own, built with both stores (`scripts/test` builds it). The histories of a failed run
//! stay in the directory that the failure names.

mod blame;
mod checks;
mod dice;
mod history;
mod network;
mod process;
mod publisher;
mod schedule;
mod services;
mod topic;
mod world;

use std::time::Duration;

#[test]
fn whatever_fails_nothing_is_lost_or_repeated_and_all_agree_in_the_end() {
    if !cfg!(all(feature = "redis", feature = "etcd")) {
        return bertha_tests::skip("chaos: build with the features redis and etcd");
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let lasting = Duration::from_secs(number("CHAOS_SECONDS").unwrap_or(65));
    match world::World::new() {
        Ok(mut world) => world.suffer(seed, lasting),
        Err(reason) => bertha_tests::skip(&format!("chaos: {reason}")),
    }
}
