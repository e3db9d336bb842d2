//! Changing the stack of a connection in use, over the simulated network.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

#[path = "../negotiation/lean.rs"]
mod lean;
#[path = "../chunnels/lines.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod lines;
#[path = "../negotiation/scene.rs"]
#[allow(dead_code, unused_imports, unused_macros, reason = "shared with other tests")]
mod scene;

mod draining;
mod early;
mod ends;
mod ends_amid_change;
mod events;
mod faults;
mod flow;
mod fragment;
mod idle_recv;
mod one_way;
mod parting;
mod promises;
mod refusals;
mod reliable;
mod shortage;
mod silence;
mod traffic;
mod transport;
mod unready;
