//! The results of the secure Chunnels of a connection's stacks, and the keys that are derived from them.

use super::control_keys::{BY_CHUNNEL, ControlKeys};
use super::schedule::MacKey;
use bertha_core::{PeerIdentity, Role, Secured, SecuredCell};
use parking_lot::{Mutex, MutexGuard};
use std::sync::OnceLock;

/// The stacks of one connection that have secure Chunnels. The first result of a stack in use is in force for
/// the rest of the connection.
#[derive(Debug)]
pub(super) struct SecuredStacks {
    /// The place for the result of the stack with which the connection begins.
    first: OnceLock<SecuredCell>,
    active: OnceLock<Box<InForce>>,
    /// A stack to which the connection may change.
    staged: Mutex<Option<Staged>>,
}

/// A result and its keys.
#[derive(Debug)]
pub(super) struct InForce {
    pub(super) keys: ControlKeys,
    pub(super) peer: Option<PeerIdentity>,
}

#[derive(Debug)]
struct Staged {
    /// The number that identifies the stack.
    place: u64,
    cell: SecuredCell,
    /// The keys, once the peer has used them.
    keys: Option<Box<InForce>>,
}

/// The material from which keys are derived, besides the result.
pub(super) struct Material<'s> {
    pub(super) role: Role,
    /// The secret of the credentials, if any.
    pub(super) secret: Option<&'s MacKey>,
    pub(super) transcript: &'s [u8; 32],
}

impl Material<'_> {
    fn with(&self, secured: &Secured) -> Box<InForce> {
        let secret = MacKey::extract_secured(self.secret, secured.control_key());
        let keys = ControlKeys::new(self.role, &secret, BY_CHUNNEL, self.transcript);
        Box::new(InForce { keys, peer: secured.peer().cloned() })
    }
}

impl SecuredStacks {
    pub(super) const fn new() -> Self {
        Self { first: OnceLock::new(), active: OnceLock::new(), staged: Mutex::new(None) }
    }

    /// Returns the place for the result of the first stack.
    pub(super) fn first(&self) -> &SecuredCell {
        self.first.get_or_init(SecuredCell::default)
    }

    /// Returns the result in force, if any.
    pub(super) fn active(&self, material: &Material<'_>) -> Option<&InForce> {
        self.active.get().map(|active| &**active).or_else(|| {
            let secured = self.first.get()?.get()?;
            Some(self.active.get_or_init(|| material.with(secured)))
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Staged>> {
        self.staged.lock()
    }

    /// Records that the stack `place` is being built, in place of any staged stack before it; its secure
    /// Chunnel reports to `cell`.
    pub(super) fn stage(&self, place: u64, cell: SecuredCell) {
        *self.lock() = Some(Staged { place, cell, keys: None });
    }

    /// Records that the stack `place` is not used.
    pub(super) fn unstage(&self, place: u64) {
        self.lock().take_if(|staged| staged.place == place);
    }

    /// Records that the staged stack is in use from now on. Its result comes into force unless another result
    /// is in force already.
    pub(super) fn commit(&self, material: &Material<'_>) {
        let Some(Staged { cell, keys, .. }) = self.lock().take() else { return };
        if let Some(active) = keys.or_else(|| Some(material.with(cell.get()?)))
            && self.active(material).is_none()
        {
            let _ = self.active.set(active);
        }
    }

    /// Reads a message under the keys of the staged stack, which the peer may use already.
    pub(super) fn try_staged<T>(
        &self,
        material: &Material<'_>,
        read: impl FnOnce(&ControlKeys) -> Option<T>,
    ) -> Option<T> {
        let mut staged = self.lock();
        let Staged { cell, keys, .. } = staged.as_mut()?;
        if keys.is_none() {
            *keys = Some(material.with(cell.get()?));
        }
        keys.as_ref().and_then(|active| read(&active.keys))
    }
}
