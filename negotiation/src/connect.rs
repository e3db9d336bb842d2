//! Connecting: the builder that [`Negotiate::connect`](crate::Negotiate::connect) returns.

use crate::early::connect_early;
use crate::handshake::CurrentAgreement;
use crate::happy_eyeballs::HappyEyeballs;
use crate::link::{LinkConnector, establish};
use crate::reached::{Attempt, reached};
use crate::{Agreement, Early, EarlyCache, Negotiated, Reconnecting, Runs, Settings, span};
use bertha_core::backoff::Backoff;
use bertha_core::{
    Base, BoxFuture, ConnectContext, Connection, Describe, Destination, Error, Node, NotePlace, Picks,
    Resolver, Role,
};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tracing::Instrument;

/// A connection to be made. Awaiting it connects; until then it can be given other settings.
///
/// No message is sent before it is awaited. Dropping its future gives the connection up, which the server
/// notices by its time-outs.
#[must_use = "nothing is sent before it is awaited"]
pub struct Connect<'s, S: ?Sized, D, C> {
    stack: &'s S,
    datapath: D,
    to: HappyEyeballs,
    settings: Settings,
    connect: Function<'s, S, D, C>,
}

/// Connects over a datapath with these settings.
type Function<'s, S, D, C> =
    fn(&'s S, D, HappyEyeballs, Settings) -> BoxFuture<'s, Result<Negotiated<C>, Error>>;

impl<'s, S, D> Connect<'s, S, D, D::Out>
where
    S: Describe + Sync + ?Sized,
    D: Runs<S>,
{
    /// The function that connects. It is chosen here rather than at its call, so that for a stack that does
    /// not run over the datapath the compiler reports a single error.
    pub(crate) fn new(stack: &'s S, datapath: D, to: Destination) -> Self {
        let connect = |stack, datapath, to, settings| -> BoxFuture<'s, _> {
            Box::pin(connect(stack, datapath, to, settings))
        };
        let to = HappyEyeballs { to, resolver: None };
        Self { stack, datapath, to, settings: Settings::default(), connect }
    }

    /// Connects, and connects again whenever the connection is lost, with pauses between failed attempts.
    /// Each attempt resolves a name anew. See [`Reconnecting`].
    ///
    /// # Errors
    /// The errors of the first attempt.
    pub async fn reconnecting(self, backoff: Backoff) -> Result<Reconnecting<Negotiated<D::Out>>, Error>
    where
        S: Clone + Send + 'static,
        D: Clone,
    {
        let Self { stack, datapath, to, settings, .. } = self;
        let stack = Arc::new(stack.clone());
        let connect = move || {
            let stack = stack.clone();
            let datapath = datapath.clone();
            let to = to.clone();
            let settings = settings.clone();
            async move { connect(&*stack, datapath, to, settings).await }
        };
        Reconnecting::new(connect, backoff).await
    }
}

impl<'s, S: ?Sized, D, C> Connect<'s, S, D, C> {
    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }

    /// Resolves the name by `resolver` rather than by the runtime of the datapath, which is the system for
    /// sockets. An address needs no resolver.
    pub fn resolver(mut self, resolver: impl Resolver + 'static) -> Self {
        self.to.resolver = Some(Arc::new(resolver));
        self
    }

    /// Connects without waiting for the server, over the stack to which it agreed the last time: the first
    /// messages go out together with the offer. Without a known agreement this connects as usual, and
    /// remembers the agreement. The server has to [take early data](Settings::early_data), which it does not
    /// by default.
    ///
    /// The offer goes out with the first `send` or `recv`, or after a [short
    /// time](Settings::first_flight_delay). A server that repeats its earlier decision takes the messages.
    /// Any other server answers as usual; then the stack is built anew and the messages are sent again, so
    /// that they arrive once. See [`Early`].
    ///
    /// # Replay
    /// A first flight that an attacker has recorded is not received again (RFC 8446 section 8): for half a
    /// minute the server remembers it, after ten seconds it is too old, and after a restart, or at another
    /// server with the same keys, its ticket is not valid. A message is received twice only if the server is
    /// restarted after it took the message and before its answer arrives: then the client sends the message
    /// once more. A Chunnel that does not tolerate a repetition has `#[chunnel(no_early_data)]`, and an
    /// application sends such messages after [`agreed`](Early::agreed).
    ///
    /// Of a name with several addresses it takes the first address to which the datapath connects. Over
    /// datagrams that is the first of all addresses, since no message of the server has arrived when the
    /// connection is returned.
    ///
    /// With a shared key ([`Credentials`](crate::Credentials)) the first flight is authenticated, but not
    /// forward secret: an attacker that learns the key later can forge first flights. With identities alone
    /// no first flight is tried. Without credentials any host can make a first flight, as any host can send
    /// data.
    pub fn early(self, cache: &EarlyCache) -> ConnectEarly<S, D>
    where
        S: Clone,
    {
        let Self { stack, datapath, to, settings, .. } = self;
        ConnectEarly { stack: stack.clone(), datapath, to, cache: cache.clone(), settings }
    }
}

/// # Errors
/// * [`Refused`](bertha_core::ErrorKind::Refused): no stack suits both ends; the text says which Chunnel and
///   why.
/// * [`Version`](bertha_core::ErrorKind::Version): the server speaks another version of the protocol.
/// * [`TimedOut`](bertha_core::ErrorKind::TimedOut), [`Unreachable`](bertha_core::ErrorKind::Unreachable):
///   there is no server.
/// * [`TooLarge`](bertha_core::ErrorKind::TooLarge): the offer doesn't fit into one message.
/// * [`Invalid`](bertha_core::ErrorKind::Invalid): no alternative of the stack can hold over this datapath: a
///   Chunnel [needs](bertha_core::guarantee) a guarantee that nothing below it gives, or the
///   [floor](Settings::floor) can't be reached. Nothing was sent.
/// * The errors of the datapath and of the Chunnels.
///
/// # Names
/// A name is resolved by the [resolver](Connect::resolver) or the runtime. Its addresses are tried as RFC
/// 8305 ("Happy Eyeballs") says: IPv6 and IPv4 in turn, one more each 250 ms or as soon as one has failed,
/// until a server has agreed on a stack. An attempt is the datapath's connection and the negotiation, so
/// names work over datagrams too, where connecting proves nothing. Further attempts are dropped then, and a
/// server that has answered such an attempt notices by its time-outs. Connecting takes at most
/// [`handshake_timeout`](Settings::handshake_timeout). Over a datapath that does not tell its
/// [runtime](bertha_core::Datapath::runtime) the addresses are tried one after another, each with an equal
/// share of that time, and the resolver sets its own time-out. Further errors:
/// * [`Invalid`](bertha_core::ErrorKind::Invalid): the text is neither an address nor a name, or the resolver
///   takes no such name.
/// * [`Unavailable`](bertha_core::ErrorKind::Unavailable): there is no resolver; set a resolver.
/// * [`Unreachable`](bertha_core::ErrorKind::Unreachable): the name has no address.
/// * An error with the failures at all addresses. It has the kind of the failure at an end that answered, if
///   an end did.
impl<'s, S: ?Sized, D, C> IntoFuture for Connect<'s, S, D, C> {
    type Output = Result<Negotiated<C>, Error>;
    type IntoFuture = BoxFuture<'s, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { stack, datapath, to, settings, connect } = self;
        connect(stack, datapath, to, settings)
    }
}

impl<S: Describe + ?Sized, D, C> Connect<'_, S, D, C> {
    /// Returns the description of its stack.
    pub(crate) fn nodes(&self) -> Vec<Node> {
        self.stack.nodes()
    }

    /// Returns its stack and its destination, as text.
    pub(crate) fn explain(&self) -> String {
        format!("[{}] to {}", self.stack.explain(), self.to)
    }
}

impl<S: ?Sized, D, C> Connect<'_, S, D, C> {
    pub(crate) fn datapath(&self) -> &D {
        &self.datapath
    }

    pub(crate) fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }
}

impl<S: Describe + ?Sized, D, C> fmt::Debug for Connect<'_, S, D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connect({})", self.explain())
    }
}

/// A connection to be made without waiting for the server; see [`Connect::early`].
#[must_use = "nothing is sent before it is awaited"]
pub struct ConnectEarly<S, D> {
    stack: S,
    datapath: D,
    to: HappyEyeballs,
    cache: EarlyCache,
    settings: Settings,
}

impl<S, D> ConnectEarly<S, D> {
    /// Sets other times, bounds, credentials or a floor than the [defaults](Settings).
    pub fn settings(self, settings: Settings) -> Self {
        Self { settings, ..self }
    }
}

/// # Errors
/// The errors of [`Connect`]. Once the connection is in use they come from `send` and `recv`.
impl<S, D> IntoFuture for ConnectEarly<S, D>
where
    S: Describe + Send + Sync + 'static,
    D: Runs<S, Out: Connection<Data: Clone>>,
{
    type Output = Result<Early<D::Out>, Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { stack, datapath, to, cache, settings } = self;
        Box::pin(async move {
            let span = span::connecting(&to);
            let connecting = connect_early(stack, datapath, to, &cache, settings, span.clone());
            connecting.instrument(span.clone()).await.inspect_err(|error| span::ended(&span, Err(error)))
        })
    }
}

impl<S: Describe, D> fmt::Debug for ConnectEarly<S, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConnectEarly([{}] to {})", self.stack.explain(), self.to)
    }
}

/// Connects, agrees and builds the stack, in its own span.
async fn connect<S, D>(
    stack: &S,
    datapath: D,
    to: HappyEyeballs,
    settings: Settings,
) -> Result<Negotiated<D::Out>, Error>
where
    S: Describe + Sync + ?Sized,
    D: Runs<S>,
{
    let span = span::connecting(&to);
    let connected = agree(stack, datapath, to, settings).instrument(span.clone()).await;
    span::ended(&span, connected.as_ref().map(Negotiated::explain));
    connected
}

async fn agree<S, D>(
    stack: &S,
    datapath: D,
    to: HappyEyeballs,
    settings: Settings,
) -> Result<Negotiated<D::Out>, Error>
where
    S: Describe + Sync + ?Sized,
    D: Runs<S>,
{
    let nodes = stack.nodes();
    let settings = Arc::new(settings);
    let (link, mut answer, session) = to
        .first(&datapath, settings.handshake_timeout, |addr, limit| {
            let datapath = &datapath;
            let nodes = &nodes;
            let settings = &settings;
            async move {
                let attempt = Attempt::begin(datapath, limit);
                let base = reached(datapath, addr, limit).await?;
                let left = attempt.left(base.base().runtime());
                establish(base, nodes, &limited(settings, left)).await
            }
        })
        .await?;
    let dropped = link.dropped();
    let setup = link.setup();
    let differing = std::mem::take(&mut answer.capabilities);
    let agreement = Agreement::new(Role::Client, &nodes, answer, session.clone());
    let peer = agreement.peer_layers(differing);
    let picks = agreement.picks().to_vec();
    let transcript = agreement.binding();
    let (current_agreement, connector) =
        (CurrentAgreement::new(agreement), Arc::new(LinkConnector { datapath, settings }));
    link.stand(current_agreement.clone(), connector.clone());
    let secured = session.secured().clone();
    let notes = NotePlace::default();
    let context = ConnectContext::new(&*connector, Role::Client)
        .with_transcript(transcript)
        .with_peer(Some(&peer))
        .with_secured(&secured)
        .with_registry(session.registry())
        .with_notes(&notes);
    let connection = match D::instantiate(stack, link, Picks::new(&picks), context).await {
        Ok(connection) => connection,
        Err(error) => {
            setup.failed(&error).await;
            return Err(error);
        }
    };
    setup.done();
    current_agreement.note(notes.take());
    let peer = connection.base().peer_addr();
    tracing::debug!(target: "bertha::negotiation", agreement = %current_agreement.get(), %peer, "connected");
    Ok(Negotiated::new(connection, current_agreement, session, dropped))
}

/// Returns the settings for an attempt with this time limit.
fn limited(settings: &Arc<Settings>, limit: Duration) -> Arc<Settings> {
    if settings.handshake_timeout == limit {
        return settings.clone();
    }
    Arc::new(Settings { handshake_timeout: limit, ..(**settings).clone() })
}
