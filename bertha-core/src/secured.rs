//! The result of a secure Chunnel's handshake, as the layers below and the application learn of it.

use crate::{PeerIdentity, debug_fields};
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// The result of a secure Chunnel's handshake with its counterpart.
///
/// The Chunnel hands it to [`ConnectContext::secured`](crate::ConnectContext::secured). From then on the
/// messages *about* the connection (close, change of stacks, keep-alives) are authenticated with a key from
/// this Chunnel as well, so that only the two ends of its encrypted channel can end or change the connection.
#[derive(Clone)]
pub struct Secured {
    control_key: Zeroizing<[u8; 32]>,
    peer: Option<PeerIdentity>,
}

impl Secured {
    /// Makes a result with `control_key`: a secret that the handshake exported for this purpose alone, equal
    /// on both ends.
    pub fn new(control_key: [u8; 32]) -> Self {
        Self { control_key: Zeroizing::new(control_key), peer: None }
    }

    /// Adds the identity that the peer has proved.
    #[must_use]
    pub fn with_peer(self, peer: PeerIdentity) -> Self {
        Self { peer: Some(peer), ..self }
    }

    /// Returns the secret for messages about the connection.
    pub fn control_key(&self) -> &[u8; 32] {
        &self.control_key
    }

    /// Returns the identity that the peer has proved, if any.
    pub fn peer(&self) -> Option<&PeerIdentity> {
        self.peer.as_ref()
    }
}

// The output omits the key.
debug_fields!(Secured { peer });

/// The place where the driver of a stack finds the [result](Secured) of the stack's secure Chunnel. Each
/// stack that is built has its own cell. With several secure Chunnels, the cell holds the result of the
/// lowest.
#[doc(hidden)]
#[derive(Debug, Clone, Default)]
pub struct SecuredCell(Arc<OnceLock<Secured>>);

impl SecuredCell {
    /// Returns the result, once the Chunnel's handshake is over.
    pub fn get(&self) -> Option<&Secured> {
        self.0.get()
    }

    pub(crate) fn set(&self, secured: Secured) {
        // A second secure Chunnel above the first adds nothing to the protection of control messages.
        let _ = self.0.set(secured);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ConnectContext;
    use crate::{Describe, Identity, Node, guarantee};

    #[test]
    fn the_lowest_secure_chunnel_counts() {
        let cell = SecuredCell::default();
        let context = ConnectContext::<()>::none().with_secured(&cell);
        assert!(cell.get().is_none());
        context.secured(Secured::new([1; 32]).with_peer(PeerIdentity::NoiseKey([7; 32])));
        context.secured(Secured::new([2; 32]));
        let secured = cell.get().unwrap();
        assert_eq!(
            (secured.control_key(), secured.peer()),
            (&[1; 32], Some(&PeerIdentity::NoiseKey([7; 32])))
        );
        let shown = format!("{secured:?}");
        assert!(shown.contains("Noise key") && !shown.contains("control_key"), "{shown}");
    }

    #[derive(Identity)]
    #[chunnel(guarantees(Encrypted), adds = Self::adds)]
    struct Secure {
        asks_for_certificates: bool,
    }

    impl Secure {
        fn adds(&self) -> guarantee::Set {
            match self.asks_for_certificates {
                true => guarantee::Set::of::<guarantee::PeerIdentified>(),
                false => guarantee::Set::NONE,
            }
        }
    }

    #[test]
    fn a_configuration_adds_guarantees() {
        let given = |asks_for_certificates| match &(Secure { asks_for_certificates }).nodes()[0] {
            Node::Layer(layer) => layer.guarantees().to_string(),
            select @ Node::Select { .. } => panic!("{select}"),
        };
        assert_eq!((&*given(false), &*given(true)), ("encrypted", "encrypted, peer-identified"));
    }
}
