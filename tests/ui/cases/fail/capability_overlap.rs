//! Overlap on what is no set.

use bertha_core::Capability;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Capability)]
#[capability(overlap)]
enum Ciphers {
    Aes,
    ChaCha,
}

#[derive(Debug, Serialize, Deserialize, Capability)]
#[capability(overlap)]
struct Levels {
    level: u32,
}

fn main() {}
