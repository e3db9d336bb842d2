//! `pubsub`: processes on one host that publish to each other over UDP multicast, and all receive in one order; or over a topic of a
//! messaging service, where receivers share the messages.
//!
//! While there are two of them at most, receivers put each publisher's messages in order; as the third joins, all change to an order
//! that one of them or the service makes (thesis, section 3.6.1 and Listing 3.5), and messages flow on.

mod check;
mod command;
mod figure;
mod history;
mod joining;
#[cfg(feature = "kafka")]
mod kafka;
mod order;
mod participant;
mod process;
mod scenario;
mod sharing;
mod store;
mod topic;

use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match Arguments::parse().execute().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The program's one line to a person; it has no log.
            #[allow(clippy::print_stderr)]
            {
                eprintln!("pubsub: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
