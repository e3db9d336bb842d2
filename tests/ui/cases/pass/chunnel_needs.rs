//! Needs as a list and as a function, beside all that a Chunnel can say.

use bertha_core::guarantee::{Ordered, Reliable, Set};
use bertha_core::{Describe, Identity, Node};

#[derive(Identity)]
#[chunnel(version = 2, needs(Reliable, Ordered), guarantees(AtMostOnce), one_sided)]
struct Listed;

#[derive(Identity)]
#[chunnel(needs = Self::needs)]
struct Computed<T>(Option<T>);

impl<T> Computed<T> {
    fn needs(&self) -> Set {
        if self.0.is_some() { Set::of::<Reliable>() } else { Set::NONE }
    }
}

fn needs(chunnel: &impl Describe) -> Set {
    match &chunnel.nodes()[..] {
        [Node::Layer(layer)] => layer.needs(),
        _ => panic!("one layer"),
    }
}

fn main() {
    assert_eq!(needs(&Listed), Set::of::<(Reliable, Ordered)>());
    assert_eq!(needs(&Computed(Some(1))), Set::of::<Reliable>());
    assert_eq!(needs(&Computed::<u8>(None)), Set::NONE);
}
