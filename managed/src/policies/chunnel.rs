//! The Chunnel itself.

use super::PoliciesConnection;
use super::flow::Flow;
use super::held_bytes::HeldBytes;
use super::methods::Methods;
use super::state::State;
use super::under_way::UnderWay;
use crate::{
    Binding, CallCounts, Chain, Change, EngineKind, Policy, Settings, Signal, Unchanged, Unsuitable,
};
use bertha_chunnels::rpc::{self, Codec, Postcard};
use bertha_core::{
    Addr, Base, Carries, Chunnel, ConnectContext, DropCounter, Error, ErrorKind, Identity, Role, Runtime,
    debug_fields,
};
use bertha_schemas::{Plan, Schema};
use parking_lot::Mutex;
use std::sync::{Arc, OnceLock, Weak};
use std::task::Waker;
use std::time::Instant;

/// Leads calls through engines, in the application itself. See the [module](crate::policies).
///
/// A clone shares the engines: keep a clone to change them.
#[derive(Clone, Identity)]
#[chunnel(one_sided)]
pub struct Policies {
    /// The binding that all connections have in common. The caller of each is its own.
    binding: Binding,
    methods: Arc<Methods>,
    /// The name of the codec of requests.
    codec: &'static str,
    caller: Option<Arc<str>>,
    most: usize,
    held: HeldBytes,
    engines: Arc<Mutex<Engines>>,
    /// The time from which all connections count, since engines of several may compare their times.
    start: Arc<OnceLock<Instant>>,
}

/// The engines that each connection gets.
#[derive(Debug, Default)]
struct Engines {
    policies: Vec<Policy>,
    connections: Vec<Weak<Flow>>,
}

/// The name of the codec whose requests engines can read.
const READABLE: &str = "protobuf";

/// Number of calls of a connection under way: those that an engine holds by default, and as many as clients and servers have by default.
const MOST: usize = 4_096 + 1_024;

/// Number of bytes of calls that engines hold.
const HELD: usize = 64 << 20;

impl Policies {
    /// Makes a Chunnel without engines for the calls of a service, from the descriptor set of its schema. Its methods are those that
    /// `#[bertha::service]` or gRPC name so: `Hotels.nearby` and `hotel.Hotels/Nearby` are the method `Nearby` of the service
    /// `hotel.Hotels`.
    ///
    /// # Errors
    /// Fails with what is wrong with the schema, and if it has no such service.
    pub fn new(descriptors: &[u8], service: &str) -> Result<Self, Unsuitable> {
        let schema = Schema::read(descriptors).map_err(|wrong| Unsuitable::new(wrong.to_string()))?;
        let plan = Plan::new(&schema);
        let methods = Arc::new(Methods::of(&schema, &plan, service)?);
        let (schema, plan) = (Arc::new(schema), Arc::new(plan));
        let (counts, traffic, waker) = (Arc::default(), Arc::default(), Waker::noop().clone());
        let binding =
            Binding { caller: "".into(), service: service.into(), counts, traffic, waker, schema, plan };
        let (engines, held, start) = (Arc::default(), HeldBytes::new(HELD), Arc::default());
        let codec = <Postcard as Codec<()>>::NAME;
        Ok(Self { binding, methods, codec, caller: None, most: MOST, held, engines, start })
    }

    /// Names the codec of the calls, as it is named to [`Rpc`](bertha_chunnels::Rpc::codec) and to the client. Engines that read fields of
    /// requests need one of the name `protobuf`, which writes the messages of the schema. It is named before such an engine is added.
    #[must_use]
    pub fn codec<K: Codec<()>>(self, _: &K) -> Self {
        Self { codec: K::NAME, ..self }
    }

    /// Adds an engine behind the others, with settings as operators write them: `per-second=1000 burst=10`.
    ///
    /// # Errors
    /// The errors of [`add`](Self::add).
    pub fn engine(
        self,
        name: &str,
        kind: impl EngineKind + 'static,
        settings: &str,
    ) -> Result<Self, Unchanged> {
        self.add(name, Arc::new(kind), settings.parse()?)?;
        Ok(self)
    }

    /// Gives a method of the service the name by which calls name it.
    ///
    /// # Errors
    /// Fails if the service has no such method, and if the number of the name is that of another method.
    pub fn method(mut self, named: rpc::Method, name: &str) -> Result<Self, Unsuitable> {
        let Binding { schema, service, .. } = &self.binding;
        let mut all = schema.methods().iter();
        let place = all.position(|method| method.service == **service && method.name == name);
        let place = place.and_then(|place| u32::try_from(place).ok());
        let place = place.ok_or_else(|| Unsuitable::new(format!("{service} has no method {name}")))?;
        Arc::make_mut(&mut self.methods).name(named.name(), place)?;
        Ok(self)
    }

    /// Lets methods be called that the service does not have in the schema, such as those of other services of the same connection.
    /// Engines see these calls, but none of their fields. Otherwise such calls are refused with
    /// [`UnknownMethod`](bertha_chunnels::rpc::FailureKind::UnknownMethod).
    #[must_use]
    pub fn other_methods(mut self) -> Self {
        Arc::make_mut(&mut self.methods).let_others();
        self
    }

    /// Names the caller, under which engines count calls. Otherwise it is the address that calls: of this end if it has connected, else
    /// of the peer, without its port.
    #[must_use]
    pub fn caller(self, name: &str) -> Self {
        Self { caller: Some(name.into()), ..self }
    }

    /// Bounds the calls of a connection under way, 5,120 otherwise. A call beyond fails as overloaded.
    #[must_use]
    pub fn calls(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Bounds the bytes of calls that engines hold, all connections together, 64 MiB otherwise. A call beyond fails as overloaded.
    #[must_use]
    pub fn held_bytes(self, most: usize) -> Self {
        Self { held: HeldBytes::new(most), ..self }
    }

    /// Returns the counts of the calls that engines have counted, such as [`Metrics`](crate::engines::Metrics).
    pub fn counts(&self) -> &CallCounts {
        &self.binding.counts
    }

    /// Returns the engines, in order, as people read them: `limit (rate-limit per-second=1000)`.
    pub fn engines(&self) -> Vec<String> {
        self.engines.lock().policies.iter().map(ToString::to_string).collect()
    }

    /// Adds an engine behind the others, on all connections.
    ///
    /// # Errors
    /// Fails if the name is taken, with what is wrong with the settings, and if the engine reads fields of requests that are not encoded by
    /// protobuf. Then nothing has changed.
    pub fn add(&self, name: &str, kind: Arc<dyn EngineKind>, settings: Settings) -> Result<(), Unchanged> {
        self.change(&Change::Add { name: name.to_owned(), kind, settings })
    }

    /// Changes settings of an engine on all connections. Those that are not named stay.
    ///
    /// # Errors
    /// Fails if there is no such engine, and with what is wrong with the settings.
    pub fn configure(&self, name: &str, settings: Settings) -> Result<(), Unchanged> {
        self.change(&Change::Configure { name: name.to_owned(), settings })
    }

    /// Removes an engine from all connections. The calls that it holds go on before later ones.
    ///
    /// # Errors
    /// Fails if there is no such engine.
    pub fn remove(&self, name: &str) -> Result<(), Unchanged> {
        self.change(&Change::Remove { name: name.to_owned() })
    }

    /// Puts another version of its kind in the place of an engine on all connections, with its state and the calls that it holds.
    ///
    /// # Errors
    /// Fails if there is no such engine, if it is of another kind, and if the new version does not understand its state.
    pub fn upgrade(&self, name: &str, kind: Arc<dyn EngineKind>) -> Result<(), Unchanged> {
        self.change(&Change::Upgrade { name: name.to_owned(), kind })
    }

    /// Changes the engines of all connections, those that are there and those that come. On each the change takes place between two
    /// calls.
    ///
    /// # Errors
    /// The errors of the methods above.
    pub fn change(&self, change: &Change) -> Result<(), Unchanged> {
        let mut engines = self.engines.lock();
        let mut policies = engines.policies.clone();
        change.apply_to_policies(&mut policies)?;
        let trial = self.chain(&policies, self.binding.clone())?;
        if let Change::Add { name, kind, .. } | Change::Upgrade { name, kind } = change {
            self.check_readable(&trial, name, kind.name())?;
        }
        engines.connections.retain(|connection| connection.strong_count() > 0);
        let flows: Vec<_> = engines.connections.iter().filter_map(Weak::upgrade).collect();
        for (place, flow) in flows.iter().enumerate() {
            if let Err(refused) = flow.change(|chain| change.apply(chain)) {
                let before = &engines.policies;
                flows[..place].iter().for_each(|flow| flow.change(|chain| change.undo(before, chain)));
                return Err(refused);
            }
        }
        engines.policies = policies;
        Ok(())
    }

    /// Checks that an engine can read what it reads.
    fn check_readable(&self, chain: &Chain, name: &str, kind: &str) -> Result<(), Unchanged> {
        if self.codec == READABLE || !chain.reads(name) {
            return Ok(());
        }
        let codec = self.codec;
        Err(Unchanged::Unsuitable(Unsuitable::new(format!(
            "{kind} reads fields of requests, which have to be encoded by {READABLE}; the codec of these calls is {codec}"
        ))))
    }

    fn chain(&self, policies: &[Policy], binding: Binding) -> Result<Chain, Unchanged> {
        let mut chain = Chain::new(binding);
        policies.iter().try_for_each(|policy| policy.add_to(&mut chain))?;
        Ok(chain)
    }

    /// Makes the state of a connection, which changes with the others from then on.
    fn flow(&self, caller: Arc<str>, stray: DropCounter) -> Result<Arc<Flow>, Unchanged> {
        let to_do = Arc::new(Signal::default());
        let binding = Binding { caller, waker: Waker::from(Arc::clone(&to_do)), ..self.binding.clone() };
        let (methods, plan) = (Arc::clone(&self.methods), Arc::clone(&binding.plan));
        let calls = UnderWay::new(self.most, methods, plan, self.held.clone(), self.codec == READABLE);
        let mut engines = self.engines.lock();
        let chain = self.chain(&engines.policies, binding)?;
        let flow = Arc::new(Flow::new(State::new(chain, calls, stray), to_do));
        engines.connections.retain(|connection| connection.strong_count() > 0);
        engines.connections.push(Arc::downgrade(&flow));
        Ok(flow)
    }
}

debug_fields!(Policies { codec, caller, most, engines });

impl<Inner: Carries<rpc::Message, Self>> Chunnel<Inner> for Policies {
    type Connection = PoliciesConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        let calling = || match context.role() {
            Role::Client => named(inner.base().local_addr()),
            _ => named(inner.base().peer_addr()),
        };
        let caller = self.caller.clone().unwrap_or_else(calling);
        let flow = self
            .flow(caller, context.counts_drops("Policies", "late or repeated"))
            .map_err(|refused| Error::new(ErrorKind::Invalid, refused.to_string()).at("Policies"))?;
        context.observes(&flow);
        let start = *self.start.get_or_init(|| inner.base().runtime().now());
        Ok(PoliciesConnection::new(inner, flow, start))
    }
}

/// Returns the name of a caller at an address, without the port, of which each connection has another.
fn named(addr: Addr) -> Arc<str> {
    match addr {
        Addr::Ip(addr) => addr.ip().to_string().into(),
        addr => addr.to_string().into(),
    }
}
