//! The connections of a server, by their ids.

use super::socket::TakesPaths;
use bertha_core::debug_fields;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Length of an id.
pub(super) const ID: usize = 8;

pub(super) type Id = [u8; ID];

/// The sockets of the connections that are in use.
#[derive(Default)]
pub(super) struct Live(Mutex<HashMap<Id, Weak<dyn TakesPaths>>>);

impl Live {
    pub(super) fn insert(&self, id: Id, socket: Weak<dyn TakesPaths>) {
        self.0.lock().insert(id, socket);
    }

    pub(super) fn remove(&self, ids: &[Id]) {
        let mut live = self.0.lock();
        ids.iter().for_each(|id| _ = live.remove(id));
    }

    pub(super) fn socket(&self, id: &Id) -> Option<Arc<dyn TakesPaths>> {
        self.0.lock().get(id)?.upgrade()
    }
}

debug_fields!(Live {});
