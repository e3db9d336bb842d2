//! The call that joins a connection.

use crate::{Gathers, MultiEndpoint, Name, RendezvousSettings, RendezvousStore};
use bertha_core::{Describe, Error};

/// Joining connections with any number of endpoints. Implemented for every stack and every single Chunnel.
pub trait Rendezvous: Describe + Send + Sync {
    /// Joins the connection called `name`, which any number of participants share: agrees with them on a stack through `store`, and
    /// talks to them over `group`. The stack may change while it is in use; see [`MultiEndpoint`].
    ///
    /// Takes two round trips to the store. Adopts the stack in force if this one has alternatives that make it; else the others
    /// are asked to change. A newcomer waits for the end of a change that is under way.
    ///
    /// Participants are not authenticated, and their messages are not protected: whoever can write to the store or send to the group
    /// can disturb them. Credentials are for connections with two ends.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid), before anybody hears of it, if no alternative of the stack can hold over this
    /// group: a Chunnel [needs](bertha_core::guarantee) what nothing below it guarantees. Those of the group and of joining
    /// ([`Participant::join`](crate::Participant::join)), and of Chunnels that can't be built.
    fn rendezvous<G, T>(
        self,
        group: G,
        store: T,
        name: Name,
        settings: RendezvousSettings,
    ) -> impl Future<Output = Result<MultiEndpoint<G::Out>, Error>> + Send
    where
        Self: Sized + 'static,
        G: Gathers<Self>,
        T: RendezvousStore,
    {
        group.gather(self, store, name, settings)
    }
}

impl<S: Describe + Send + Sync + ?Sized> Rendezvous for S {}
