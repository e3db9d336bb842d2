//! The pass that leaves one order where two stand above each other.

use bertha_chunnels::{ReceiverOrdered, SequencerOrdered};
use bertha_core::subst;

/// Takes the order of each publisher away above a sequencer, which keeps it: the sequencer
/// takes each publisher's messages by their numbers, and they arrive everywhere in its order.
#[subst(if [*, ReceiverOrdered, SequencerOrdered, *] then [*, SequencerOrdered, *])]
pub(crate) struct OneOrder;
