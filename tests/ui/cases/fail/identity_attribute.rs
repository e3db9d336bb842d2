//! Arguments that `#[derive(Identity)]` doesn't know, or of the wrong kind.

use bertha_core::Identity;

#[derive(Identity)]
#[chunnel(onesided)]
struct Misspelt;

#[derive(Identity)]
#[chunnel(version = "two")]
struct NoNumber;

#[derive(Identity)]
#[chunnel(version = 70000)]
struct LargeNumber;

fn main() {}
