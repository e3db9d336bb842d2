//! A choice between Chunnels that negotiation makes.

use crate::chunnel::wrap_preferred;
use crate::guarantee::Common;
use crate::identity::{Reserved, kind};
use crate::picks::Picks;
use crate::{
    BoxFuture, Chunnel, ConnectContext, Connection, Describe, Error, ErrorKind, Identity, Node, Policy,
    Preference, Roaming, forward,
};
use pin_project_lite::pin_project;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Two alternatives, of which the two ends pick one alternative when they connect. Made by
/// [`select!`](crate::select).
#[derive(Clone, PartialEq, Eq)]
pub struct Select<First, Second> {
    first: First,
    second: Second,
    prefer: Preference,
}

impl<First: Describe, Second: Describe> Select<First, Second> {
    /// Makes a choice between `first`, the preferred alternative, and `second`.
    pub const fn new(first: First, second: Second) -> Self {
        Self { first, second, prefer: Preference::branch(0) }
    }

    /// Prefers the alternative with this number, counted from 0; if there are fewer alternatives, the last.
    #[must_use]
    pub fn prefer(mut self, number: usize) -> Self {
        self.prefer_alternative(number, None);
        self
    }

    /// Prefers the alternative with this number while `policy` holds, and otherwise the first of the other
    /// alternatives.
    ///
    /// A connection between two ends always has two participants, so its preference never changes.
    #[must_use]
    pub fn prefer_if(mut self, number: usize, policy: impl Policy) -> Self {
        let policy: Arc<dyn Policy> = Arc::new(policy);
        self.prefer_alternative(number, Some(&policy));
        self
    }
}

impl<First, Second> Select<First, Second> {
    /// Returns the two alternatives and the preference.
    pub(crate) fn into_parts(self) -> (First, Second, Preference) {
        (self.first, self.second, self.prefer)
    }

    /// Makes a choice of the parts that [`into_parts`](Self::into_parts) returns.
    pub(crate) const fn from_parts(first: First, second: Second, prefer: Preference) -> Self {
        Self { first, second, prefer }
    }
}

/// A choice has the guarantees that all its alternatives share, and withdraws the guarantees that any
/// alternative withdraws.
impl<First: Identity, Second: Identity> Identity for Select<First, Second> {
    type Id = Reserved;
    type Parameters = ();
    type Guarantees = Common<First::Guarantees, Second::Guarantees>;
    type Kind = kind::Choice;
    const NAME: &'static str = "bertha-core::Select";
}

impl<First: Describe, Second: Describe> Describe for Select<First, Second> {
    fn describe(&self, into: &mut Vec<Node>) {
        into.push(Node::Select {
            branches: [self.first.nodes(), self.second.nodes()],
            prefer: self.prefer.clone(),
        });
    }

    fn selects(&self) -> usize {
        1 + self.first.selects() + self.second.selects()
    }

    fn notes(&self, into: &mut Vec<String>) {
        self.first.notes(into);
        self.second.notes(into);
    }

    fn prefer_alternative(&mut self, number: usize, condition: Option<&Arc<dyn Policy>>) {
        let always = Preference::branch(u8::from(number > 0));
        self.prefer = match condition {
            Some(condition) => always.only_if(condition.clone()),
            None => always,
        };
        if number > 0 {
            self.second.prefer_alternative(number - 1, condition);
        }
    }
}

impl<First: Describe, Second: Describe> fmt::Debug for Select<First, Second> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.explain())
    }
}

impl<First, Second, Inner> Chunnel<Inner> for Select<First, Second>
where
    Inner: Connection,
    First: Chunnel<Inner> + 'static,
    Second: Chunnel<Inner> + 'static,
    Second::Connection: Alternative<First::Connection>,
{
    type Connection = SelectConnection<First, Second, Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        wrap_preferred(self, inner, context).await
    }

    fn instantiate<'a>(
        &'a self,
        inner: Inner,
        picks: Picks<'a>,
        context: ConnectContext<'a, Inner>,
    ) -> BoxFuture<'a, Result<Self::Connection, Error>>
    where
        Inner: 'a,
    {
        Box::pin(async move {
            let inside = picks.skip(1);
            let picked = match picks.here() {
                Some(0) => Either::First(self.first.instantiate(inner, inside, context).await?),
                Some(1) => {
                    let inside = inside.skip(self.first.selects());
                    Either::Second(self.second.instantiate(inner, inside, context).await?)
                }
                pick => {
                    let what = format!("the agreed stack picks alternative {pick:?} of {}", self.explain());
                    return Err(Error::new(ErrorKind::Malformed, what));
                }
            };
            Ok(SelectConnection { picked })
        })
    }

    fn roaming<'a>(&'a self, into: &mut Vec<&'a dyn Roaming>) {
        self.first.roaming(into);
        self.second.roaming(into);
    }
}

/// A connection that can be the second branch of a `select!`: same data, same datapath.
#[doc(hidden)]
pub trait Alternative<First: Connection>: Connection<Data = First::Data, Base = First::Base> {}

impl<First, Second> Alternative<First> for Second
where
    First: Connection,
    Second: Connection<Base = First::Base> + SameData<First::Data, <Second as Connection>::Data>,
{
}

/// Implemented if two alternatives carry the same data; if the data differ, the compiler reports both types
/// by name.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "the alternatives of a `select!` must carry the same data, but one carries `{First}`, another `{Second}`",
    label = "the data of these alternatives differ",
    note = "the alternative that carries `{Second}` makes the connection `{Self}`"
)]
pub trait SameData<First, Second>: Connection<Data = First> {}

// One parameter for both: for different data no impl applies, so the compiler reports the message above.
impl<C: Connection<Data = Data>, Data> SameData<Data, Data> for C {}

/// The connection of a [`Select`]: the connection of the picked alternative. It costs one branch per call.
///
/// Its type names the connection below once, and not once for each alternative: otherwise each `select!` of a stack would
/// double the type, and the time that the compiler takes.
pub struct SelectConnection<First: Chunnel<Inner>, Second: Chunnel<Inner>, Inner: Connection> {
    picked: Either<First::Connection, Second::Connection>,
}

impl<First, Second, Inner> Connection for SelectConnection<First, Second, Inner>
where
    Inner: Connection,
    First: Chunnel<Inner> + 'static,
    Second: Chunnel<Inner> + 'static,
    Second::Connection: Alternative<First::Connection>,
{
    type Data = <First::Connection as Connection>::Data;
    type Base = <First::Connection as Connection>::Base;

    forward!(self.picked => base, mtu, send, recv, send_batch, recv_batch, drain, close);
}

impl<First, Second, Inner> fmt::Debug for SelectConnection<First, Second, Inner>
where
    Inner: Connection,
    First: Chunnel<Inner, Connection: fmt::Debug>,
    Second: Chunnel<Inner, Connection: fmt::Debug>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.picked.fmt(f)
    }
}

/// A connection of one of two types. It costs one branch per call.
#[derive(Debug, Clone)]
pub enum Either<First, Second> {
    /// A connection of the first type.
    First(First),
    /// A connection of the second type.
    Second(Second),
}

impl<First, Second> Connection for Either<First, Second>
where
    First: Connection,
    Second: Connection<Data = First::Data, Base = First::Base>,
{
    type Data = First::Data;
    type Base = First::Base;

    fn base(&self) -> &Self::Base {
        match self {
            Self::First(connection) => connection.base(),
            Self::Second(connection) => connection.base(),
        }
    }

    fn mtu(&self) -> usize {
        match self {
            Self::First(connection) => connection.mtu(),
            Self::Second(connection) => connection.mtu(),
        }
    }

    fn send(&self, message: Self::Data) -> impl Future<Output = Result<(), Error>> + Send {
        match self {
            Self::First(connection) => Call::First { call: connection.send(message) },
            Self::Second(connection) => Call::Second { call: connection.send(message) },
        }
    }

    fn recv(&self) -> impl Future<Output = Result<Self::Data, Error>> + Send {
        match self {
            Self::First(connection) => Call::First { call: connection.recv() },
            Self::Second(connection) => Call::Second { call: connection.recv() },
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Self::Data> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        match self {
            Self::First(connection) => Call::First { call: connection.send_batch(messages) },
            Self::Second(connection) => Call::Second { call: connection.send_batch(messages) },
        }
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<Self::Data> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        match self {
            Self::First(connection) => Call::First { call: connection.recv_batch(into, limit) },
            Self::Second(connection) => Call::Second { call: connection.recv_batch(into, limit) },
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        match self {
            Self::First(connection) => connection.drain().await,
            Self::Second(connection) => connection.drain().await,
        }
    }

    async fn close(&self) -> Result<(), Error> {
        match self {
            Self::First(connection) => connection.close().await,
            Self::Second(connection) => connection.close().await,
        }
    }
}

pin_project! {
    /// A call on the picked alternative. An `async` block instead would keep a state of its own beside the
    /// state of the call, and move the message twice.
    #[project = Picked]
    enum Call<First, Second> {
        First { #[pin] call: First },
        Second { #[pin] call: Second },
    }
}

impl<First: Future, Second: Future<Output = First::Output>> Future for Call<First, Second> {
    type Output = First::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<First::Output> {
        match self.project() {
            Picked::First { call } => call.poll(context),
            Picked::Second { call } => call.poll(context),
        }
    }
}

/// A choice between two or more alternatives, each a Chunnel or a stack, made when the two ends connect.
///
/// The first alternative is preferred, or the alternative with the number after `; prefer`, counted from 0.
/// All alternatives must carry the same data.
///
/// With a condition, a [`Policy`](crate::Policy) such as
/// [`NumParticipantsAtMost`](crate::NumParticipantsAtMost) or a policy of yours, the alternative is preferred
/// while the condition holds, and the first of the other alternatives while it does not. A connection with
/// any number of endpoints changes its alternative when the preference changes. A connection between two ends
/// never does.
///
/// ```
/// # use bertha_core::{Describe, Identity, NumParticipantsAtMost, make_stack, select};
/// # #[derive(Identity)] struct Zstd; #[derive(Identity)] struct Lz4; #[derive(Identity)] struct Raw; #[derive(Identity)] struct Pad;
/// # #[derive(Identity)] struct ReceiverOrdered; #[derive(Identity)] struct ServiceOrdered;
/// let stack = make_stack!(select!(Zstd, make_stack!(Lz4, Pad), Raw; prefer 1));
/// let stack = make_stack!(select!(ReceiverOrdered, ServiceOrdered; prefer 0 if NumParticipantsAtMost(2)));
/// ```
#[macro_export]
macro_rules! select {
    ($($alternative:expr),+ ; prefer if $($condition:tt)*) => { $crate::select!(@misread) };
    ($($alternative:expr),+ ; prefer $number:tt if $condition:expr) => {
        $crate::select!($($alternative),+).prefer_if($number, $condition)
    };
    ($($alternative:expr),+ ; prefer $number:expr) => {
        $crate::select!($($alternative),+).prefer($number)
    };
    ($first:expr, $second:expr $(,)?) => {
        $crate::Select::new($crate::plain_stack!($first), $crate::plain_stack!($second))
    };
    ($first:expr, $($rest:expr),+ $(,)?) => {
        $crate::Select::new($crate::plain_stack!($first), $crate::select!($($rest),+))
    };
    ($only:expr $(,)?) => {
        compile_error!("select! needs at least two alternatives; write a single Chunnel without it")
    };
    () => { compile_error!("select! needs at least two alternatives") };
    (@misread) => {
        compile_error!(
            "behind `;` select! takes `prefer` and a number, counted from 0, and perhaps when: \
             select!(A, B; prefer 1) or select!(A, B; prefer 0 if NumParticipantsAtMost(2))"
        )
    };
    ($($alternative:expr),+ ; $($other:tt)*) => { $crate::select!(@misread) };
}
