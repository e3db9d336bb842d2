//! The program `bertha-bench datapaths`: the key-value store under workload B over kernel UDP, Unix sockets,
//! memory, and DPDK ports that share memory, with a common stack, store and client: the server on a core, the
//! client on another.

use crate::dpdk_echo::config;
use crate::harness::{Effort, Paired, Placement, alternate, meet};
use crate::kv::{self, Client, Sample, Setup, load_and_measure};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Datapath, Listener, Wrap};
use bertha_datapath_dpdk::Dpdk;
use bertha_datapath_kernel::{TokioRuntime, Udp, Unix};
use bertha_kvstore::server::{Handler, Shard};
use bertha_kvstore::{Capacity, Message};
use bertha_plot::{Line, Point, Scale, latency_by_load};
use tokio::sync::oneshot;

/// Numbers of requests in flight at which client and store are the limit, and at which the datapath is.
const SATURATED: usize = 512;
const FEW: usize = 64;

/// Numbers of requests in flight at each point of the figure.
const LOADS: [usize; 6] = [1, 4, 16, 64, 256, 512];

/// Budgets of memif against kernel UDP: at saturation, and with few requests in flight.
const AT_SATURATION: Budget = Budget::AtLeast(1.3);
const WITH_FEW: Budget = Budget::AtLeast(5.0);

type Bytes = bertha_core::Stack<Serialize<Message>, bertha_core::Bottom>;

type Run<'a> = Box<dyn Fn(&Setup) -> Result<Sample, Error> + 'a>;

/// Measures the rows.
///
/// # Errors
/// Errors of the connections; [`ErrorKind::Core`] with fewer than two usable cores.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let open = |side, role, address| {
        let dpdk = Dpdk::open(&config(0, side, role, address));
        dpdk.map_err(Error::while_doing(ErrorKind::Bertha, "opening a port"))
    };
    let server = &open(0, "server", "10.0.0.1/24")?;
    let client = &open(1, "client", "10.0.0.2/24")?;
    let (local, port): (Addr, Addr) = (([127, 0, 0, 1], 0).into(), ([10, 0, 0, 1], 0).into());
    let name = format!("unix:@bertha-bench-{}", std::process::id());
    let socket: Addr = name.parse().map_err(Error::while_doing(ErrorKind::Bertha, "naming a socket"))?;
    let udp = |setup: &Setup| negotiated(Udp::new(), Udp::new(), local.clone(), setup);
    let memif = |setup: &Setup| negotiated(server.clone(), client.clone(), port.clone(), setup);
    let runs: [(&str, Run<'_>); 5] = [
        ("memif", Box::new(memif)),
        (
            "memif, not negotiated",
            Box::new(|setup| bare(server.clone(), client.clone(), port.clone(), setup)),
        ),
        ("kernel UDP", Box::new(udp)),
        ("Unix sockets", Box::new(|setup| negotiated(Unix::new(), Unix::new(), socket.clone(), setup))),
        ("in one process, no network", Box::new(in_memory)),
    ];
    let mut report = Report::new("datapaths");
    for (in_flight, budget) in [(SATURATED, AT_SATURATION), (FEW, WITH_FEW)] {
        let setup = setup(in_flight, effort);
        let paired = alternate(effort.pairs(), || udp(&setup), || memif(&setup))?;
        compare(&format!("{in_flight} in flight"), &paired, budget, &mut report);
    }
    let mut lines = Vec::new();
    for (name, run) in &runs {
        let mut line = Line { label: (*name).into(), points: Vec::new() };
        for in_flight in LOADS {
            let sample = middle_of(run, &setup(in_flight, effort), effort.pick(5, 2))?;
            kv::figures(&format!("{name}, {in_flight} in flight"), &[sample], &mut report);
            let load = sample.requests_per_second;
            let latency = sample.latency;
            line.points.push(Point { load, p50: latency.p50_us, p95: latency.p95_us });
        }
        lines.push(line);
    }
    #[cfg(feature = "caladan")]
    crate::caladan::add(crate::caladan::Rows::Datapaths, effort, &mut report)?;
    report.draw("datapaths.svg", latency_by_load(&lines, Scale::Logarithmic))?;
    Ok(report)
}

/// Returns the setup of a sample, which takes about as long at each load.
fn setup(in_flight: usize, effort: Effort) -> Setup {
    let most: u64 = effort.pick(400_000, 100_000);
    let requests = (most / 256 * in_flight as u64).clamp(most / 16, most);
    Setup { in_flight, requests, ..Setup::default() }
}

fn compare(load: &str, paired: &Paired<Sample>, budget: Budget, report: &mut Report) {
    kv::figures(&format!("{load}, kernel UDP beside memif"), &paired.a(), report);
    kv::figures(&format!("{load}, memif beside kernel UDP"), &paired.b(), report);
    let name = format!("{load}, throughput, memif to kernel UDP");
    report.compare(&name, paired, |it| it.requests_per_second, Some(budget));
}

/// Returns the sample in the middle.
fn middle_of(run: &Run<'_>, setup: &Setup, samples: usize) -> Result<Sample, Error> {
    let mut samples = (0..samples).map(|_| run(setup)).collect::<Result<Vec<_>, _>>()?;
    samples.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
    Ok(samples[samples.len() / 2])
}

/// Runs the store and its client, with the stack that both negotiate.
fn negotiated<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error>
where
    D: Runs<Bytes, Out: Connection<Data = Message>>,
{
    let (tell, told) = oneshot::channel();
    between(
        setup,
        async move || {
            let mut incoming = stack().listen(server, addr).await.map_err(failed("listening"))?;
            let _ = tell.send(incoming.local_addr());
            let accepted = incoming.next_or_refusal().await.transpose().map_err(failed("accepting"))?;
            accepted.ok_or_else(|| Error::new(ErrorKind::Bertha, "the listener ended"))
        },
        async move || {
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            stack().connect(client, addr).await.map_err(failed("connecting"))
        },
    )
}

/// Runs a common stack at both ends of the datapath's own connections, without negotiation.
fn bare<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error>
where
    D: Datapath,
    Bytes: bertha_core::Chunnel<D::Connection, Connection: Connection<Data = Message>>,
{
    let (tell, told) = oneshot::channel();
    between(
        setup,
        async move || {
            let listener = server.listen(addr).await.map_err(failed("listening"))?;
            let _ = tell.send(listener.local_addr());
            let accepted = listener.accept().await.map_err(failed("accepting"))?;
            stack().wrap(accepted).await.map_err(failed("making the store's stack"))
        },
        async move || {
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            let connection = client.connect(addr).await.map_err(failed("connecting"))?;
            stack().wrap(connection).await.map_err(failed("making the client's stack"))
        },
    )
}

/// Runs the store at the other end of a queue in memory: the limit of client and store themselves.
fn in_memory(setup: &Setup) -> Result<Sample, Error> {
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    between(
        setup,
        async move || stack().wrap(there).await.map_err(failed("making the store's stack")),
        async move || stack().wrap(here).await.map_err(failed("making the client's stack")),
    )
}

fn stack() -> Bytes {
    make_stack!(Serialize::<Message>::new())
}

/// Runs a store and its client, each on a core and a runtime of its own, with connections that these open.
fn between<S, C>(
    setup: &Setup,
    accept: impl AsyncFnOnce() -> Result<S, Error> + Send,
    connect: impl AsyncFnOnce() -> Result<C, Error> + Send,
) -> Result<Sample, Error>
where
    S: Connection<Data = Message>,
    C: Connection<Data = Message>,
{
    let (done, over) = oneshot::channel::<()>();
    meet(
        Placement::AcrossCores,
        || async {
            let connection = accept().await?;
            let shard = Shard::new(Capacity::default());
            tokio::select! {
                // The task ends with the client's connection.
                _ = shard.serve(&connection) => {}
                _ = over => {}
            }
            Ok(())
        },
        || async {
            // The value is dropped at the end, for a store that does not notice the end otherwise.
            let _done = done;
            let mut client = Client::new(connect().await?, setup.in_flight, setup.timeout);
            let sample = load_and_measure(&mut client, setup, &mut setup.workload.script()?).await;
            client.close().await?;
            sample
        },
    )
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
