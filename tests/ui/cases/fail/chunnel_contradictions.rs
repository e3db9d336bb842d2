//! Arguments of `#[derive(Identity)]` of which one would have no effect beside the other.

use bertha_core::{Capability, Identity, LayerInfo};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Capability)]
#[capability(exact)]
struct Width(u8);

#[derive(Identity)]
#[chunnel(one_sided, capability = never_compared)]
struct OneSided;

fn never_compared(_: &OneSided) -> Width {
    Width(8)
}

#[derive(Identity)]
#[chunnel(capability = width, version = 2)]
struct TwoVersions;

fn width(_: &TwoVersions) -> Width {
    Width(8)
}

#[derive(Identity)]
#[chunnel(one_sided, layers = layers)]
struct Several;

fn layers(_: &Several) -> [LayerInfo; 0] {
    []
}

fn main() {}
