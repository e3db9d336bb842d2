//! Capabilities that don't say how they are compared, say it twice, or in an unknown word.

use bertha_core::Capability;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Capability)]
struct None(u32);

#[derive(Debug, PartialEq, Serialize, Deserialize, Capability)]
#[capability(exact, overlap)]
struct Two(u32);

#[derive(Debug, PartialEq, Serialize, Deserialize, Capability)]
#[capability(equal)]
struct Unknown(u32);

fn main() {}
