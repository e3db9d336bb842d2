//! Connecting by the first of several alternatives, each a stack over a datapath of its own.

mod strength;

use crate::happy_eyeballs::{Attempts, DELAY, in_turn, race};
use crate::{Connect, Negotiated, Runs};
use bertha_core::{Base, BoxFuture, ConnectContext, Connection, Describe, Either, Error, NotePlace, Runtime};
use parking_lot::Mutex;
use std::fmt;
use std::time::{Duration, Instant};
use strength::Strength;

/// A connection to be made by the first alternative that connects, by [`Connect::or`].
///
/// The alternatives are tried as RFC 8305 ("Happy Eyeballs") tries the addresses of a name, and as RFC 9623 (TAPS) says for protocols:
/// in their order, one more each [delay](Self::delay) or as soon as one has failed, until a server has agreed on a stack. The others
/// are dropped then; a server that has answered one notices by its time-outs. Over a datapath that does not tell its
/// [runtime](bertha_core::Datapath::runtime), one is tried after another.
///
/// Each alternative has its own settings, and fails after its own [`handshake_timeout`](crate::Settings::handshake_timeout).
/// [`explain`](Negotiated::explain) tells which alternatives lost, and why.
///
/// # No weaker alternative
///
/// An attacker who can drop messages can choose the alternative. So each alternative has at least the strength of all before it: what their
/// stacks and [floors](crate::Settings::floor) guarantee in any case, apart from delivery, is the least that its stack guarantees, and if
/// one of them has [credentials](crate::Settings::credentials), it has the same. An alternative that can't reach this strength fails
/// with [`Invalid`](bertha_core::ErrorKind::Invalid), and sends nothing.
///
/// # Datapaths
///
/// The alternatives carry the same data, over datapaths with the same [`Base`]: sockets of all kinds have one.
/// [`OverAnyBase`](bertha_core::OverAnyBase) gives other datapaths a common base.
///
/// Dropping its future gives all attempts up.
#[must_use = "nothing is sent before it is awaited"]
pub struct Fallback<'s, C: Connection> {
    alternatives: Vec<Alternative<'s, C>>,
    delay: Duration,
    runtime: Option<<C::Base as Base>::Runtime>,
    strength: Strength,
}

/// An alternative that was not tried yet.
struct Alternative<'s, C> {
    name: String,
    limit: Duration,
    connect: BoxFuture<'s, Result<Negotiated<C>, Error>>,
}

impl<'s, S, D> Connect<'s, S, D, D::Out>
where
    S: Describe + Sync + ?Sized,
    D: Runs<S>,
{
    /// Connects by `next` where this does not connect, or takes long. See [`Fallback`].
    ///
    /// ```no_run
    /// # use bertha_core::{Addr, Connection, Datapath, Error};
    /// # use bertha_negotiation::{Negotiate, Runs};
    /// # type BaseOf<D> = <<D as Datapath>::Connection as Connection>::Base;
    /// # async fn example<S, T, D>(quic: S, tls: T, udp: D, tcp: D, server: Addr) -> Result<(), Error>
    /// # where
    /// #     S: Negotiate,
    /// #     T: Negotiate,
    /// #     D: Runs<S, Out: Connection<Data = String, Base = BaseOf<D>>>,
    /// #     D: Runs<T, Out: Connection<Data = String, Base = BaseOf<D>>>,
    /// # {
    /// let connection = quic.connect(udp, server.clone()).or(tls.connect(tcp, server)).await?;
    /// println!("{}", connection.explain());
    /// # Ok(())
    /// # }
    /// ```
    pub fn or<T, E>(self, next: Connect<'s, T, E, E::Out>) -> Fallback<'s, Either<D::Out, E::Out>>
    where
        D::Out: Connection<Base = <D::Connection as Connection>::Base>,
        T: Describe + Sync + ?Sized,
        E: Runs<T>,
        E::Out: Connection<Data = <D::Out as Connection>::Data, Base = <D::Out as Connection>::Base>,
    {
        Fallback::of(self).or(next)
    }
}

impl<'s, C: Connection> Fallback<'s, C> {
    fn of<S, D>(first: Connect<'s, S, D, C>) -> Self
    where
        S: Describe + Sync + ?Sized,
        D: Runs<S, Out = C>,
        D::Connection: Connection<Base = C::Base>,
    {
        let runtime = first.datapath().runtime();
        let none = Self { alternatives: Vec::new(), delay: DELAY, runtime, strength: Strength::default() };
        none.with(first, |connection| connection)
    }

    /// Connects by `next` where no alternative so far connects, or all take long.
    pub fn or<S, D>(self, next: Connect<'s, S, D, D::Out>) -> Fallback<'s, Either<C, D::Out>>
    where
        S: Describe + Sync + ?Sized,
        D: Runs<S>,
        D::Out: Connection<Data = C::Data, Base = C::Base>,
    {
        let Self { alternatives, delay, runtime, strength } = self;
        let alternatives = alternatives.into_iter().map(Alternative::first).collect();
        Fallback { alternatives, delay, runtime, strength }.with(next, Either::Second)
    }

    /// Sets the time between the beginnings of two attempts, if the earlier one has not failed by then: 250 ms by default, as RFC 8305
    /// recommends.
    pub fn delay(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    /// Adds an alternative whose connection becomes one of type `C` by `into`.
    fn with<S, D>(mut self, mut next: Connect<'s, S, D, D::Out>, into: fn(D::Out) -> C) -> Self
    where
        S: Describe + Sync + ?Sized,
        D: Runs<S>,
    {
        let name = format!("{} over {}", next.explain(), datapath_name::<D>());
        let limit = next.settings_mut().handshake_timeout;
        let connecting = self.strength.admit(next);
        let connect = Box::pin(async move { Ok(connecting?.await?.map(into)) });
        self.alternatives.push(Alternative { name, limit, connect });
        self
    }
}

/// # Errors
/// An error that lists the failure of each alternative, of the kind of an end that answered, if any did.
impl<'s, C: Connection> IntoFuture for Fallback<'s, C> {
    type Output = Result<Negotiated<C>, Error>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(connect(self))
    }
}

async fn connect<C: Connection>(fallback: Fallback<'_, C>) -> Result<Negotiated<C>, Error> {
    let Fallback { alternatives, delay, runtime, .. } = fallback;
    let names: Vec<_> = alternatives.iter().map(|alternative| alternative.name.clone()).collect();
    let limit = alternatives.iter().map(|alternative| alternative.limit + delay).sum();
    let labels = names.iter().enumerate().map(|(number, name)| Label { number, name }).collect();
    let untried: Mutex<Vec<_>> = Mutex::new(alternatives.into_iter().map(|it| Some(it.connect)).collect());
    let attempt = |label: Label<'_>| {
        let connect = untried.lock().get_mut(label.number).and_then(Option::take);
        async move {
            match connect {
                Some(connect) => connect.await.map(|connection| (label.number, connection)),
                None => unreachable!("each alternative is tried once"),
            }
        }
    };
    let attempts = |now| Attempts::new("alternative".into(), labels, delay, now);
    let ((won, connection), others) = match runtime {
        Some(runtime) => {
            let now = runtime.now();
            race(&runtime, attempts(now), now + limit, attempt).await?
        }
        None => in_turn(attempts(Instant::now()), limit, |label, _| attempt(label)).await?,
    };
    let places = NotePlace::default();
    let context = ConnectContext::<()>::none().with_notes(&places);
    for (number, name) in names.iter().enumerate().filter(|(number, _)| *number != won) {
        let failure = others.failures().iter().find(|(label, _)| label.number == number);
        let is_waiting = untried.lock().get(number).is_some_and(Option::is_some);
        match failure {
            Some((_, error)) => context.note("Fallback", format_args!("{name} failed: {error}")),
            None if is_waiting => context.note("Fallback", format_args!("{name} was not tried")),
            None => context.note("Fallback", format_args!("{name} was slower")),
        }
    }
    connection.current_agreement().note(places.take());
    Ok(connection)
}

/// An alternative that is tried.
#[derive(Clone, Copy)]
struct Label<'a> {
    number: usize,
    name: &'a str,
}

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl<'s, C: Connection> Alternative<'s, C> {
    /// Makes it the first of two kinds of connections.
    fn first<Second: Send + 's>(self) -> Alternative<'s, Either<C, Second>>
    where
        C: 's,
    {
        let Self { name, limit, connect } = self;
        Alternative { name, limit, connect: Box::pin(async move { Ok(connect.await?.map(Either::First)) }) }
    }
}

/// Returns the name of the datapath's type, without the paths of modules.
fn datapath_name<D>() -> String {
    let parts = std::any::type_name::<D>().split_inclusive(['<', ',', ' ']);
    parts.map(|part| part.rsplit("::").next().unwrap_or(part)).collect()
}

impl<C: Connection> fmt::Debug for Fallback<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.alternatives.iter().map(|alternative| &alternative.name)).finish()
    }
}
