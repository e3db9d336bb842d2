//! Messages across changes between stacks of the library's own transport, whose ends tell each other when they close.

use crate::scene::simulate;
use crate::traffic::{connect, converse};
use bertha_chunnels::{AtMostOnce, Batch, Ordered, Reliable};
use bertha_core::{make_stack, select};
use bertha_datapath_sim::{Link, Network};
use bertha_negotiation::{Negotiate, Settings};
use bertha_tests::with_seeds;

/// An end that has left the old stack closes nothing that the other end still receives from.
#[test]
fn a_stack_that_was_left_ends_nothing_at_the_other_end() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || {
                let plain = make_stack!(Ordered::new(), Reliable::new(), Batch::new());
                let careful = make_stack!(Ordered::new(), Reliable::new(), AtMostOnce);
                make_stack!(select!(plain, careful)).upgradable()
            };
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            if seed % 2 == 1 {
                network.set_link(Link::poor(0.02 + (seed % 4) as f64 * 0.02));
            }
            converse(&network, &client, &server, seed * 100, 60, 4).await;
        });
    });
}
