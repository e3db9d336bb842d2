//! Envoy beside an application.

use super::bench::calls::Service;
use super::customers::EVE;
use super::process::Process;
use crate::{Error, ErrorKind};
use bertha_managed::Service as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time until it accepts.
const START: Duration = Duration::from_secs(20);

/// The filter of a limit that is never reached, which stands where ours with an infinite limit stands.
const LIMIT: &str = "
              - name: envoy.filters.http.local_ratelimit
                typed_config:
                  '@type': type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
                  stat_prefix: limit
                  token_bucket: { max_tokens: 1000000000, tokens_per_fill: 1000000000, fill_interval: 1s }
                  filter_enabled: { default_value: { numerator: 100 } }
                  filter_enforced: { default_value: { numerator: 100 } }";

/// The filters that refuse calls by a field of the request, which stand where our acl stands. The schema is in a file.
fn by_customer(schema: &Path) -> String {
    format!(
        "
              - name: envoy.filters.http.grpc_field_extraction
                typed_config:
                  '@type': type.googleapis.com/envoy.extensions.filters.http.grpc_field_extraction.v3.GrpcFieldExtractionConfig
                  descriptor_set: {{ filename: '{}' }}
                  extractions_by_method: {{ bench.Calls.Ask: {{ request_field_extractions: {{ customer: {{}} }} }} }}
              - name: envoy.filters.http.rbac
                typed_config:
                  '@type': type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC
                  rules:
                    action: DENY
                    policies:
                      refused:
                        permissions: [{{ any: true }}]
                        principals:
                        - metadata:
                            filter: envoy.filters.http.grpc_field_extraction
                            path: [{{ key: customer }}]
                            value: {{ list_match: {{ one_of: {{ string_match: {{ exact: {EVE} }} }} }} }}",
        schema.display()
    )
}

/// The work of an Envoy besides passing calls on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// Nothing.
    None,
    /// A limit of the rate that is never reached.
    Limit,
    /// A list of customers who are refused.
    Acl,
}

impl Filter {
    /// Returns the settings, with what they need in a folder.
    fn text(self, folder: &Path) -> Result<String, Error> {
        match self {
            Self::None => Ok(String::new()),
            Self::Limit => Ok(LIMIT.to_owned()),
            Self::Acl => {
                let schema = folder.join("schema.pb");
                std::fs::write(&schema, Service::descriptors()).map_err(starting)?;
                Ok(by_customer(&schema))
            }
        }
    }
}

/// Returns the reason why there is no Envoy here, if there is one.
pub(super) fn lacking() -> Option<&'static str> {
    let is_there = program().is_some_and(|program| Path::new(&program).exists());
    (!is_there).then_some("it needs Envoy, whose program the variable ENVOY names: scripts/tools envoy")
}

fn program() -> Option<std::ffi::OsString> {
    std::env::var_os("ENVOY")
}

/// Starts an Envoy with so many workers that leads gRPC to `server`. Returns its process and its address.
pub(super) fn start(
    folder: &Path,
    server: SocketAddr,
    filter: Filter,
    workers: usize,
) -> Result<(Process, SocketAddr), Error> {
    let (process, addrs) = start_before(folder, &[server], filter, workers)?;
    Ok((process, addrs[0]))
}

/// Starts an Envoy with some workers that has an address for each of some servers, at which it takes gRPC for it. Returns its process and
/// the addresses.
pub(super) fn start_before(
    folder: &Path,
    servers: &[SocketAddr],
    filter: Filter,
    workers: usize,
) -> Result<(Process, Vec<SocketAddr>), Error> {
    let addrs = unused(servers.len())?;
    let settings = folder.join(format!("envoy-{}.yaml", addrs[0].port()));
    std::fs::write(&settings, text(&addrs, servers, &filter.text(folder)?)).map_err(starting)?;
    let program =
        program().ok_or_else(|| Error::new(ErrorKind::Core, "the variable ENVOY names no program"))?;
    let mut command = Command::new(program);
    command.arg("--config-path").arg(&settings).args([
        "--concurrency",
        &workers.to_string(),
        "--log-level",
        "error",
    ]);
    command.args(["--use-dynamic-base-id", "--disable-hot-restart"]).stderr(Stdio::null());
    let process = Process::start(&mut command)?;
    let started = Instant::now();
    for addr in &addrs {
        while TcpStream::connect(addr).is_err() {
            if started.elapsed() > START {
                return Err(Error::new(ErrorKind::Stalled, format!("Envoy does not accept at {addr}")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    Ok((process, addrs))
}

/// Returns addresses at which nothing listens.
pub(super) fn unused(count: usize) -> Result<Vec<SocketAddr>, Error> {
    // All listeners are there at once, so that no address comes twice.
    let listeners: Result<Vec<_>, _> =
        (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    listeners.and_then(|all| all.iter().map(TcpListener::local_addr).collect()).map_err(starting)
}

fn text(at: &[SocketAddr], to: &[SocketAddr], filters: &str) -> String {
    let listeners: String = at.iter().map(|at| listener(at.port(), filters)).collect();
    let clusters: String = at.iter().zip(to).map(|(at, to)| cluster(at.port(), to.port())).collect();
    format!("static_resources:\n  listeners:{listeners}\n  clusters:{clusters}\n")
}

fn listener(at: u16, filters: &str) -> String {
    format!(
        "
  - address: {{ socket_address: {{ address: 127.0.0.1, port_value: {at} }} }}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: calls
          codec_type: HTTP2
          generate_request_id: false
          route_config:
            virtual_hosts:
            - name: calls
              domains: ['*']
              routes:
              - match: {{ prefix: / }}
                route: {{ cluster: behind_{at} }}
          http_filters:{filters}
              - name: envoy.filters.http.router
                typed_config:
                  '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"
    )
}

/// Returns the server to which what comes at a port goes.
fn cluster(at: u16, to: u16) -> String {
    format!(
        "
  - name: behind_{at}
    connect_timeout: 5s
    circuit_breakers: {{ thresholds: [{{ max_requests: 100000, max_pending_requests: 100000 }}] }}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        '@type': type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{ http2_protocol_options: {{}} }}
    load_assignment:
      cluster_name: behind_{at}
      endpoints:
      - lb_endpoints:
        - endpoint: {{ address: {{ socket_address: {{ address: 127.0.0.1, port_value: {to} }} }} }}"
    )
}

fn starting(error: std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Core, "starting Envoy")(error)
}
