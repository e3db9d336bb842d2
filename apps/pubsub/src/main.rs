//! The program `pubsub`: processes on a host that publish to each other over UDP multicast, and all receive
//! in a common order; or over a topic of a messaging service, where receivers share the messages.
//!
//! While there are at most two of them, receivers put each publisher's messages in order; as the third joins,
//! all change to an order that a participant or the service makes (thesis, section 3.6.1 and Listing 3.5),
//! and messages flow on.

// Stacks say which orders they need; no order is made twice.
bertha_core::passes!(one_order::OneOrder);

mod check;
mod command;
mod commands;
mod event_counts;
mod figure;
mod history;
mod joining;
mod journal;
#[cfg(feature = "kafka")]
mod kafka;
mod one_order;
mod order;
mod participant;
mod process;
mod scenario;
mod sharing;
mod store;
mod topic;

use bertha_program::run_async;
use command::Arguments;
use std::process::ExitCode;
use tokio::runtime::Builder;

fn main() -> ExitCode {
    run_async(&mut Builder::new_current_thread(), async |arguments: Arguments, termination| {
        arguments.execute(&termination).await
    })
}
