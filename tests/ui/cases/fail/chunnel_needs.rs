//! A Chunnel that needs what is no guarantee, one that says so beside its layers, and a function of the wrong type.

use bertha_core::{Identity, LayerInfo};

#[derive(Identity)]
#[chunnel(needs(Fast))]
struct NoGuarantee;

#[derive(Identity)]
#[chunnel(needs)]
struct Nothing;

#[derive(Identity)]
#[chunnel(needs(Reliable), layers = layers)]
struct Several;

fn layers(_: &Several) -> [LayerInfo; 0] {
    []
}

#[derive(Identity)]
#[chunnel(needs = is_needed)]
struct NoSet;

fn is_needed(_: &NoSet) -> bool {
    true
}

fn main() {}
