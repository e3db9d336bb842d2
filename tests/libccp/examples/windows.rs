//! Prints the window of libccp's datapath under an algorithm of an agent, over a link of RATE bytes per
//! second and 20 ms. Each line has the time in seconds, the window in packets, the delay in the queue in
//! milliseconds, and the number of bytes that have arrived.
//!
//! ```text
//! windows cubic|copa RATE SECONDS
//! ```
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a program for measurements")]

use bertha_against_libccp::{Libccp, Sample, flow, stop};
use bertha_ccp::algorithms;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [algorithm, rate, seconds] = &arguments[..] else { panic!("windows cubic|copa RATE SECONDS") };
    let (libccp, agent) = match algorithm.as_str() {
        "cubic" => Libccp::with_agent(algorithms::Cubic::default()),
        "copa" => Libccp::with_agent(algorithms::Copa::without_competition()),
        other => panic!("{other} is neither cubic nor copa"),
    };
    for Sample { at, window, queue, received } in
        flow(libccp, rate.parse().unwrap(), seconds.parse().unwrap())
    {
        println!("{at} {window} {queue} {received}");
    }
    stop(agent);
}
