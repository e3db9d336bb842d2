//! Boxed stacks that carry different data in the place of one.

use bertha_chunnels::Serialize;
use bertha_core::make_stack;
use bertha_datapath_sim::SimDatapath;
use bertha_negotiation::{BoxedStack, Negotiate};

fn choose(datapath: &SimDatapath, short: bool) -> BoxedStack<SimDatapath, String> {
    if short {
        make_stack!(Serialize::<u64>::new()).boxed(datapath)
    } else {
        make_stack!(Serialize::<String>::new()).boxed(datapath)
    }
}

fn main() {}
