//! The records in the order of their keys.

use super::Store;
use crate::page::{Filling, PageLimits};
use crate::{Key, Page, Record};
use std::ops::Bound;

/// Maximum number of keys that a page visits. Expired records can lie side by side in any number, and a page
/// shows none of them.
pub(super) const VISITED: usize = 4096;

impl Store {
    /// Returns the records from `from` on. Expired records are not among them.
    pub(crate) fn page(&self, from: &Key, limits: PageLimits) -> Page {
        let mut page = Filling::new(limits);
        let from = (Bound::Included(&**from), Bound::Unbounded);
        for (visited, key) in self.order.range::<[u8], _>(from).enumerate() {
            if visited == VISITED {
                return page.until(Some(key.clone()));
            }
            let Some(value) = self.value(key) else { continue };
            if !page.add(Record { key: key.clone(), value: value.clone() }) {
                return page.finish();
            }
        }
        page.finish()
    }
}
