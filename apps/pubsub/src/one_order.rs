//! The pass that leaves one order where two stand above each other.

use bertha_chunnels::{ReceiverOrdered, SequencerOrdered};
use bertha_core::subst;

/// Takes the order of each publisher away above a sequencer, which keeps it: messages of a publisher arrive at the
/// sequencer in the order of its calls, and everywhere in the order of the sequencer.
#[subst(if [*, ReceiverOrdered, SequencerOrdered, *] then [*, SequencerOrdered, *])]
pub(crate) struct OneOrder;
