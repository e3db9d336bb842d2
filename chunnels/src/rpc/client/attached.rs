//! The metadata of a call that was not made yet.

use crate::rpc::{Failure, Metadata};

/// The metadata of calls without entries.
static NONE: Metadata = Metadata::new();

/// The entries that were added to a call, or the failure of an entry that was not. One pointer wide.
#[derive(Debug, Clone, Default)]
pub(super) struct Attached(Option<Box<Result<Metadata, Failure>>>);

impl Attached {
    /// Adds an entry. Nothing is added behind a failure.
    pub(super) fn add(&mut self, key: &str, value: &[u8]) {
        let attached = self.0.get_or_insert_with(|| Box::new(Ok(Metadata::new())));
        if let Ok(metadata) = &mut **attached
            && let Err(error) = metadata.add(key, value)
        {
            **attached = Err(Failure::of_metadata(&error));
        }
    }

    /// Returns the entries.
    ///
    /// # Errors
    /// The errors of [`Metadata::add`], for the first entry that was not added.
    #[inline]
    pub(super) fn metadata(&self) -> Result<&Metadata, Failure> {
        match &self.0 {
            None => Ok(&NONE),
            Some(attached) => attached.as_ref().as_ref().map_err(Clone::clone),
        }
    }
}
