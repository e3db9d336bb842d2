//! The daemon.

use crate::admission::grpc_tls::Servers;
use crate::admission::not_taken_counts::Door;
use crate::calling::run::run;
use crate::destinations::peer_addr::PeerAddr;
use crate::destinations::route::Route;
use crate::destinations::services::{Dial, Services};
use crate::doors::attach::{hear, share};
use crate::doors::grpc;
use crate::doors::limits::{Places, waiting};
use crate::doors::lobby::Visitor;
use crate::doors::peer::{self, Listening, Peers};
use crate::doors::unix_door::UnixDoor;
use crate::libraries::kinds::Kinds;
use crate::messages::memory::common::Common;
use crate::operators::operator::Operator;
use crate::operators::orders;
use crate::parties::link::Link;
use crate::state::State;
use crate::state::dedicated::Dedicated;
use bertha_core::{Addr, BoxFuture, Error, ErrorKind};
use bertha_datapath_shm::{Users, Waiting};
use bertha_managed::Order;
use bertha_runtime::tokio::descriptors::raise_limit;
use std::fmt;
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::net::UnixStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinSet;

/// Number of bytes of the smallest heap: one region of it.
const LEAST_HEAP: usize = 64 << 10;

/// Maximum number of attached applications.
const APPLICATIONS: usize = 4096;

/// Maximum number of operators that are served at once.
const OPERATORS: usize = 64;

/// A daemon that takes applications, and passes their calls on.
///
/// Each application has tasks of its own; a slow one waits alone. Dropping the daemon ends it.
pub struct Daemon {
    applications: UnixDoor,
    operators: UnixDoor,
    state: Arc<State>,
    peers: Peers,
    /// The daemons of other machines that call.
    listening: Option<Listening<PeerAddr>>,
    /// The callers of gRPC.
    grpc: Option<Listening>,
    /// The daemons of other machines that have to be connected.
    dials: UnboundedReceiver<Dial>,
}

/// The settings of a [`Daemon`].
#[derive(Debug, Clone)]
pub struct Settings {
    /// The users whose applications are taken.
    pub users: Users,
    /// The policy by which the daemon waits for its applications.
    pub waiting: Waiting,
    /// Number of bytes to which each of the two heaps of an application may grow, and that messages to or from another daemon may take.
    pub heap: usize,
    /// The services whose parties run on a thread of their own, at most 64. It begins with the first of them.
    pub dedicated: Vec<String>,
    /// The callers and servers of other machines.
    pub peers: Peers,
    /// The program that tries each library before this process opens it: `bertha-rpcd`. Without it a library whose code is damaged ends this
    /// process.
    pub trials: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            users: Users::Same,
            waiting: Waiting::Park,
            heap: 256 << 20,
            dedicated: Vec::new(),
            peers: Peers::default(),
            trials: None,
        }
    }
}

impl Daemon {
    /// Listens at the path of a Unix socket, at that of [orders](Order::socket) to it, and for other daemons if the settings say so. Where
    /// users are named, the rights of the first are those of its folder, and the daemon looks at the user of each application. The
    /// files of a daemon that has died are replaced. Raises the limit of descriptors of this process as far as it may be raised, and takes no
    /// more of other machines than leaves half of them to applications.
    ///
    /// # Errors
    /// [`AddrInUse`](ErrorKind::AddrInUse) if a daemon listens there. [`Invalid`](ErrorKind::Invalid) if TLS can't be used as the settings
    /// say, or if too many services are dedicated. The errors of the system.
    pub async fn listen(path: &Path, settings: Settings) -> Result<Self, Error> {
        // In a box it is compiled in this crate, once, and not in every program that awaits it.
        let opening: BoxFuture<'_, _> = Box::pin(Self::open(path, settings));
        opening.await
    }

    async fn open(path: &Path, settings: Settings) -> Result<Self, Error> {
        let descriptors = raise_limit();
        let (places, waiting) = (places(descriptors, &settings.peers), waiting(descriptors));
        let Settings { users, waiting: policy, heap, dedicated, peers, trials } = settings;
        if heap < LEAST_HEAP {
            let what = format!("a heap of {heap} bytes has no room for a message; the least is {LEAST_HEAP}");
            return Err(Error::new(ErrorKind::Invalid, what));
        }
        let dedicated = Dedicated::new(dedicated)?;
        let applications = UnixDoor::bind(Door::Socket, path, users != Users::Same, waiting)?;
        let operators =
            UnixDoor::bind(Door::Orders, &Order::socket(path), false, waiting.min(OPERATORS / 4))?;
        let (dial, dials) = unbounded_channel();
        let services = Services::new(dial, Common::new(heap));
        let servers = Servers::new(peers.grpc_tls.clone());
        let state =
            Arc::new(State::new(services, Kinds::new(trials), servers, dedicated, users, policy, heap));
        for (service, to) in &peers.routes {
            to.iter().try_for_each(|to| state.servers.check(to))?;
            state.services.lead(service, Some(to.clone()));
        }
        let listening = match &peers.listen {
            Some(on) => Some(peer::listen(on, &peers, places, Arc::clone(&state)).await?),
            None => None,
        };
        let grpc = match peers.grpc {
            Some(on) => Some(grpc::listen(on, &peers, places, Arc::clone(&state)).await?),
            None => None,
        };
        Ok(Self { applications, operators, state, peers, listening, grpc, dials })
    }

    /// Returns the address at which other daemons connect.
    pub fn peer_addr(&self) -> Option<&PeerAddr> {
        self.listening.as_ref().map(|(addr, _)| addr)
    }

    /// Returns a handle by which policies are changed.
    pub fn operator(&self) -> Operator {
        Operator { state: Arc::clone(&self.state) }
    }

    /// Returns the address at which callers of gRPC connect.
    pub fn grpc_addr(&self) -> Option<&Addr> {
        self.grpc.as_ref().map(|(addr, _)| addr)
    }

    /// Takes applications and serves them. The future runs until it is dropped, which detaches all.
    pub async fn run(self) -> Result<(), Error> {
        // A box for the same reason as in `listen`.
        let serving: BoxFuture<'static, _> = Box::pin(self.serve_all());
        serving.await
    }

    async fn serve_all(self) -> Result<(), Error> {
        let operator = self.operator();
        let Self { applications, operators, state, peers, listening, grpc, dials } = self;
        // Operators may keep the state for longer.
        let _threads = Ending(&state);
        tokio::select! {
            never = applications.take(APPLICATIONS, &state.not_taken, |socket, visitor, place| {
                let state = Arc::clone(&state);
                async move { serve(socket, visitor, place, state).await }
            }) => match never {},
            never = operators.take(OPERATORS, &state.not_taken, |socket, visitor, place| {
                let operator = operator.clone();
                async move {
                    orders::serve(socket, &visitor, &operator).await;
                    drop(place);
                }
            }) => match never {},
            () = taking(listening) => Err(Error::new(ErrorKind::Closed, "the daemon hears no other daemons any more")),
            () = taking(grpc) => Err(Error::new(ErrorKind::Closed, "the daemon hears no callers of gRPC any more")),
            () = connect(dials, &peers, &state) => {
                Err(Error::new(ErrorKind::Closed, "the daemon connects to no other daemons any more"))
            }
        }
    }
}

/// Returns the places at the ports, and tells if they are few.
fn places(descriptors: u64, peers: &Peers) -> Places {
    let places = Places::of(descriptors, peers.per_address);
    if places.are_few() && (peers.listen.is_some() || peers.grpc.is_some()) {
        let Places { all, per_address } = places;
        tracing::warn!(descriptors, all, per_address, "descriptors leave few places at the ports");
    }
    places
}

/// Takes the parties of another machine, if any may come.
async fn taking<A>(listening: Option<Listening<A>>) {
    match listening {
        Some((_, taking)) => taking.await,
        None => pending().await,
    }
}

/// Connects to parties that are needed.
async fn connect(mut dials: UnboundedReceiver<Dial>, peers: &Peers, state: &Arc<State>) {
    let mut tasks = JoinSet::new();
    while let Some(dial) = dials.recv().await {
        while tasks.try_join_next().is_some() {}
        let (tls, state) = (peers.tls.clone(), Arc::clone(state));
        tasks.spawn(async move {
            let Dial { link, to } = dial;
            let (service, all) = (link.service.clone(), Arc::clone(&state));
            let calling = async move {
                match to {
                    Route::Daemon(to) => peer::dial(link, to, tls, &all).await,
                    Route::Grpc(to) => grpc::call(link, to, None, &all).await,
                    Route::Grpcs(to, name) => grpc::call(link, to, Some(&name), &all).await,
                }
            };
            state.dedicated.run(&service, calling).await;
        });
    }
}

async fn serve(mut socket: UnixStream, visitor: Visitor, place: OwnedSemaphorePermit, state: Arc<State>) {
    match hear(&mut socket, visitor, &state).await {
        Ok(link) => {
            link.keep_place(place);
            let (service, all) = (link.service.clone(), Arc::clone(&state));
            state.dedicated.run(&service, async move { exchange(link, socket, &all).await }).await;
        }
        Err(error) => state.not_taken.application(&error),
    }
}

async fn exchange(link: Arc<Link>, socket: UnixStream, state: &State) {
    let attached = match share(link, socket, state).await {
        Ok(attached) => attached,
        Err(error) => {
            state.not_taken.application(&error);
            return;
        }
    };
    let (application, service) = (&*attached.link.application, &attached.link.service);
    tracing::info!(application, service, role = ?attached.link.role, "an application is attached");
    let ended = run(&attached, state).await;
    let error = ended.err().map(tracing::field::display);
    tracing::info!(application, service, error, "an application is detached");
}

/// The end of the threads of services, when this is dropped.
struct Ending<'a>(&'a State);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.dedicated.end();
    }
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("peer_addr", &self.peer_addr()).field("state", &self.state).finish()
    }
}
