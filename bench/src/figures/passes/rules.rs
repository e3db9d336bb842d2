//! The passes.

use crate::overhead::Following;
use bertha_chunnels::Nothing;
use bertha_core::{Identity, subst};

/// A pass that leaves out layers that do nothing.
#[subst(if [*, Nothing, *] then [*, *])]
#[derive(Clone, Copy, Debug)]
pub(crate) struct SkipNothing;

/// A pass that makes one layer of two layers with work to do. Of four such layers, it leaves one layer after
/// two rewrites.
#[subst(
    for<const UPPER: usize, const LOWER: usize>
    if [*, Following<UPPER>, Following<LOWER>, *] then [*, Following<UPPER>, *] with |upper, _| upper
)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeFollowing;

/// A pass that looks for a Chunnel that is in no stack, wherever it might be.
#[subst(if [*, Nothing, *, Absent, *] then [*, *, *])]
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeverMatches;

/// The Chunnel that is in no stack.
#[derive(Clone, Copy, Debug, Identity)]
pub(crate) struct Absent;
