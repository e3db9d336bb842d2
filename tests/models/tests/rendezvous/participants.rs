//! The participants of the model.

use bertha_core::{LayerInfo, Node};
use bertha_negotiation::rendezvous::member::{Member, MemberSettings, OwnStack};
use std::time::Duration;

/// The behaviour of a participant in the model.
#[derive(Debug, Clone)]
pub(crate) struct Role {
    /// The layers among which the participant can run a single one, the preferred layer first.
    pub(crate) layers: &'static [&'static str],
    /// The layer that the participant proposes at some time, if it does.
    pub(crate) proposes: Option<&'static str>,
    /// The layer that the participant's owner refuses though its stack has it, if there is such a layer.
    pub(crate) refuses: Option<&'static str>,
}

/// Returns a choice between `layers`.
fn choice(layers: &[&'static str]) -> Vec<Node> {
    let layer = |name| vec![Node::Layer(LayerInfo::plain(name, 1))];
    match layers {
        [only] => layer(only),
        [first, rest @ ..] => vec![Node::Select { branches: [layer(first), choice(rest)], prefer: 0.into() }],
        [] => Vec::new(),
    }
}

impl Role {
    pub(crate) fn member(&self, number: usize) -> Member {
        let own = OwnStack::new(choice(self.layers)).unwrap();
        let settings = MemberSettings {
            lease: Duration::from_secs(1),
            staging: Duration::from_secs(2),
            participants: 8,
            renews: false,
        };
        Member::new(own, settings, number as u64 + 1)
    }

    /// Returns the picks that select `layer` in the choice.
    pub(crate) fn picks(&self, layer: &str) -> Vec<u8> {
        let at = self.layers.iter().position(|own| *own == layer).unwrap();
        (0..self.layers.len() - 1).map(|choice| u8::from(choice < at)).collect()
    }
}
