//! Negotiation of whole stacks over the simulated network.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

mod agreement;
mod attack;
mod attack_early;
mod attack_reflection;
mod attack_reset;
mod attack_upgrade;
mod attacker;
mod authentication;
mod capabilities;
mod control_plane;
mod early;
mod early_answer;
mod early_closing;
mod early_faults;
mod early_panic;
mod early_refused;
mod early_restarts;
mod early_scene;
mod early_stuck;
mod early_waiting;
mod ending;
mod floors;
mod handshake_faults;
mod impostors;
mod keyed;
mod lean;
mod load;
mod needs;
mod restarts;
mod scene;
mod shortage;
