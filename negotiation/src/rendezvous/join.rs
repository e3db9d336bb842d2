//! The call that joins a connection.

use crate::rendezvous::group::{MultiEndpoint, RunsAmong};
use crate::rendezvous::settings::RendezvousSettings;
use crate::rendezvous::store::{Name, RendezvousStore};
use bertha_core::{BoxFuture, Describe, Error};

/// Joining connections with any number of endpoints. Implemented for every stack and every single Chunnel.
pub trait Rendezvous: Describe + Send + Sync {
    /// Joins the connection called `name`, which any number of participants share: agrees with them on a
    /// stack through `store`, and communicates with them over `group`. The stack may change while it is in
    /// use; see [`MultiEndpoint`]. The result joins when it is awaited; before that,
    /// [`settings`](Join::settings) changes times and bounds.
    ///
    /// ```no_run
    /// # use bertha_core::{Connection, Error};
    /// # use bertha_negotiation::rendezvous::{Rendezvous, RendezvousSettings, RendezvousStore, RunsAmong};
    /// # use std::time::Duration;
    /// # async fn example<S, G, T>(stack: S, group: G, store: T) -> Result<(), Error>
    /// # where
    /// #     S: Rendezvous + 'static,
    /// #     G: RunsAmong<S, Out: Connection<Data = String>>,
    /// #     T: RendezvousStore,
    /// # {
    /// let mut settings = RendezvousSettings::default();
    /// settings.lease = Duration::from_secs(2);
    /// let connection = stack.rendezvous(group, store, "orders").settings(settings).await?;
    /// connection.send("to all others".into()).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Joining takes two round trips to the store. It adopts the stack in force if this stack has
    /// alternatives that make it; otherwise it asks the other participants to change. A newcomer waits for
    /// the end of a change that is under way. Dropping the future gives up; entries that it wrote expire.
    ///
    /// Without a [`group_key`](RendezvousSettings::group_key), any sender to the group can disturb the
    /// participants. With or without it, any writer to the store can; see [the module](crate::rendezvous). Credentials are
    /// for connections with two ends.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid), before anything is written, if `name` is no [`Name`], or
    /// if no alternative of the stack can hold over this group: a Chunnel [needs](bertha_core::guarantee) a
    /// guarantee that no layer below it gives. The errors of the group, of joining
    /// ([`Participant::join`](crate::rendezvous::Participant::join)), and of Chunnels that can't be built.
    fn rendezvous<G, T>(self, group: G, store: T, name: impl AsRef<str>) -> Join<Self, G, T>
    where
        Self: Sized + 'static,
        G: RunsAmong<Self>,
        T: RendezvousStore,
    {
        Join {
            stack: self,
            group,
            store,
            name: Name::new(name.as_ref()),
            settings: RendezvousSettings::default(),
        }
    }
}

impl<S: Describe + Send + Sync + ?Sized> Rendezvous for S {}

/// A connection that is about to be joined; made by [`Rendezvous::rendezvous`]. It joins when it is awaited.
#[must_use = "joins when it is awaited"]
pub struct Join<S, G, T> {
    stack: S,
    group: G,
    store: T,
    name: Result<Name, Error>,
    settings: RendezvousSettings,
}

impl<S, G, T> Join<S, G, T> {
    /// Sets the times and bounds.
    pub fn settings(self, settings: RendezvousSettings) -> Self {
        Self { settings, ..self }
    }
}

impl<S, G, T> IntoFuture for Join<S, G, T>
where
    S: Send + 'static,
    G: RunsAmong<S>,
    T: RendezvousStore,
{
    type Output = Result<MultiEndpoint<G::Out>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        match self.name {
            Ok(name) => self.group.run_among(self.stack, self.store, name, self.settings),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }
}

bertha_core::debug_fields!(Join < S, G, T > { name });
