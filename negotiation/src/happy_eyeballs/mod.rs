//! Reaching a destination at the first of its addresses that answers.

mod attempts;
mod race;

pub(crate) use attempts::{Attempts, DELAY};
use bertha_core::{Addr, Datapath, Destination, Error, ErrorKind, Name, Resolver, Runtime};
use futures_util::future::{Either, select};
pub(crate) use race::{in_turn, race};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A destination, and the resolver of its name.
#[derive(Clone)]
pub(crate) struct HappyEyeballs {
    pub(crate) to: Destination,
    pub(crate) resolver: Option<Arc<dyn Resolver>>,
}

impl HappyEyeballs {
    /// Returns the outcome of the first `attempt` that succeeds at an address of the destination. For a name
    /// this takes at most `limit`, resolution included, where the datapath knows its runtime. Each attempt
    /// gets its time limit as an argument.
    ///
    /// # Errors
    /// The errors of the attempt at an address. For a name:
    /// * [`Invalid`](ErrorKind::Invalid): the name is malformed, or the resolver does not accept it.
    /// * [`Unavailable`](ErrorKind::Unavailable): there is no resolver.
    /// * The errors of the resolver.
    /// * An error that lists the failures at all addresses; its kind is the kind of an end that answered, if
    ///   any answered.
    pub(crate) async fn first<D, T, F>(
        &self,
        datapath: &D,
        limit: Duration,
        attempt: impl Fn(Addr, Duration) -> F,
    ) -> Result<T, Error>
    where
        D: Datapath,
        F: Future<Output = Result<T, Error>>,
    {
        let name = match self.to.clone().checked()? {
            Destination::Addr(addr) => return attempt(addr, limit).await,
            Destination::Name(name) => name,
            other => return Err(invalid(&other)),
        };
        let attempts = |addresses, now| Attempts::at(&name.to_string(), addresses, now);
        let Some(runtime) = datapath.runtime() else {
            let resolver = self.resolver.as_ref().ok_or_else(|| unresolved(&name))?;
            let addresses = resolver.resolve(&name).await?;
            return Ok(in_turn(attempts(addresses, Instant::now()), limit, attempt).await?.0);
        };
        let deadline = runtime.now() + limit;
        let addresses = self.resolved(&name, &runtime, deadline).await?;
        tracing::debug!(target: "bertha::negotiation", %name, addresses = addresses.len(), "resolved");
        let attempts = attempts(addresses, runtime.now());
        Ok(race(&runtime, attempts, deadline, |addr| attempt(addr, limit)).await?.0)
    }

    async fn resolved(
        &self,
        name: &Name,
        runtime: &impl Runtime,
        deadline: Instant,
    ) -> Result<Vec<Addr>, Error> {
        let resolving = pin!(async {
            match &self.resolver {
                Some(resolver) => resolver.resolve(name).await,
                None => runtime.resolve(name).await,
            }
        });
        match select(resolving, pin!(runtime.sleep_until(deadline))).await {
            Either::Left((resolved, _)) => resolved,
            Either::Right(_) => {
                let what = format!("`{name}` was not resolved in time; is its resolver reachable?");
                Err(Error::new(ErrorKind::TimedOut, what).at("negotiation"))
            }
        }
    }
}

#[cold]
fn unresolved(name: &Name) -> Error {
    let what = format!("the datapath resolves no names; name a resolver to reach `{name}`, or its address");
    Error::new(ErrorKind::Unavailable, what).at("negotiation")
}

#[cold]
fn invalid(to: &Destination) -> Error {
    Error::new(ErrorKind::Invalid, format!("`{to}` is neither an address nor a name")).at("negotiation")
}

impl fmt::Display for HappyEyeballs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to.fmt(f)
    }
}
