//! The pass.

use crate::SerializeChecked;
use bertha_chunnels::{Checksum, Serialize};
use bertha_core::subst;

/// Replaces [`Serialize`] directly above [`Checksum`] by [`SerializeChecked`], whatever the messages and the codec are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[subst(for<T, C> if [*, Serialize<T, C>, Checksum, *] then [*, SerializeChecked<T, C>, *])]
pub struct FuseChecksum;

impl<T, C> From<(Serialize<T, C>, Checksum)> for SerializeChecked<T, C> {
    fn from((serialize, checksum): (Serialize<T, C>, Checksum)) -> Self {
        Self::new(serialize, checksum)
    }
}
