//! Envoy in front of a server of gRPC, and what it knows of the server's health.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const SOON: Duration = Duration::from_secs(30);

/// The settings of the way from Envoy to the server.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Way<'a> {
    /// The service about whose health Envoy asks, ten times a second. Without a healthy server calls fail.
    pub(crate) checks: Option<&'a str>,
    /// The server's name, and the file of the authority that has certified it. Without them it is plain TCP.
    pub(crate) tls: Option<(&'a str, &'a Path)>,
}

/// An Envoy, which ends when this is dropped.
pub(crate) struct Envoy {
    child: Child,
    pub(crate) addr: SocketAddr,
    admin: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Envoy {
    /// Starts an Envoy that leads all calls to a server. Returns `None` if it is not installed, which is a failure in CI.
    pub(crate) async fn start(server: SocketAddr, way: Way<'_>) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let [settings, admin] = ["envoy.yaml", "admin"].map(|name| folder.path().join(name));
        std::fs::write(&settings, text(server, way)).unwrap();
        let mut command = Command::new("envoy");
        command.arg("--config-path").arg(settings).arg("--admin-address-path").arg(&admin);
        command.args(["--concurrency", "1", "--log-level", "error", "--use-dynamic-base-id"]);
        let child = match command.arg("--disable-hot-restart").stdin(Stdio::null()).spawn() {
            Ok(child) => child,
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::NotFound, "{error}");
                bertha_tests::skip("Envoy is missing: add \"$(scripts/tools envoy)\" to PATH");
                return None;
            }
        };
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut envoy = Self { child, addr: nowhere, admin: nowhere, _folder: folder };
        envoy.admin = envoy.told(async || std::fs::read_to_string(&admin).ok()?.parse().ok()).await;
        let admin = envoy.admin;
        // A listener is told of before its workers listen.
        let listens = async || {
            let addr = listener(&ask(admin, "/listeners").await)?;
            tokio::net::TcpStream::connect(addr).await.is_ok().then_some(addr)
        };
        envoy.addr = envoy.told(listens).await;
        Some(envoy)
    }

    /// Waits for an address that Envoy tells.
    async fn told(&mut self, address: impl AsyncFn() -> Option<SocketAddr>) -> SocketAddr {
        let telling = async {
            loop {
                if let Some(address) = address().await {
                    return address;
                }
                assert_eq!(self.child.try_wait().unwrap(), None, "Envoy ended");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(SOON, telling).await.unwrap()
    }

    /// Waits until Envoy finds the server healthy, or finds that it is not.
    pub(crate) async fn finds(&self, is_healthy: bool) {
        let found = if is_healthy { "health_flags::healthy" } else { "health_flags::/failed_active_hc" };
        let finding = async {
            while !ask(self.admin, "/clusters").await.contains(found) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(SOON, finding).await.unwrap();
    }
}

/// Returns the answer to a question to the administration.
async fn ask(admin: SocketAddr, path: &str) -> String {
    let mut socket = TcpStream::connect(admin).await.unwrap();
    let question = format!("GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n");
    socket.write_all(question.as_bytes()).await.unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.unwrap();
    answer
}

/// Returns the address of the listener among those of an answer, once it has a port.
fn listener(answer: &str) -> Option<SocketAddr> {
    let addr: SocketAddr = answer.lines().find_map(|line| line.strip_prefix("calls::")?.parse().ok())?;
    (addr.port() != 0).then_some(addr)
}

impl Drop for Envoy {
    fn drop(&mut self) {
        // It may have ended.
        let _killed = self.child.kill();
        self.child.wait().unwrap();
    }
}

fn text(to: SocketAddr, way: Way<'_>) -> String {
    let to = format!("{{ socket_address: {{ address: {}, port_value: {} }} }}", to.ip(), to.port());
    let any = "{ socket_address: { address: 127.0.0.1, port_value: 0 } }";
    let mut text = format!(
        "admin: {{ address: {any} }}
static_resources:
  listeners:
  - name: calls
    address: {any}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          '@type': type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: calls
          codec_type: HTTP2
          route_config:
            virtual_hosts:
            - name: calls
              domains: ['*']
              routes:
              - match: {{ prefix: / }}
                route: {{ cluster: next, timeout: 0s }}
          http_filters:
          - name: envoy.filters.http.router
            typed_config:
              '@type': type.googleapis.com/envoy.extensions.filters.http.router.v3.Router
  clusters:
  - name: next
    connect_timeout: 5s
    common_lb_config: {{ healthy_panic_threshold: {{ value: 0 }} }}
    typed_extension_protocol_options:
      envoy.extensions.upstreams.http.v3.HttpProtocolOptions:
        '@type': type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions
        explicit_http_config: {{ http2_protocol_options: {{}} }}
    load_assignment:
      cluster_name: next
      endpoints:
      - lb_endpoints:
        - endpoint: {{ address: {to} }}
"
    );
    if let Some(service) = way.checks {
        let times = "timeout: 5s, interval: 0.1s, no_traffic_interval: 0.1s";
        let counts = "unhealthy_threshold: 1, healthy_threshold: 1";
        let check = format!("grpc_health_check: {{ service_name: {service} }}");
        writeln!(text, "    health_checks: [{{ {times}, {counts}, {check} }}]").unwrap();
    }
    if let Some((name, authority)) = way.tls {
        // The daemon speaks version 1.3 alone, and Envoy's servers are called by 1.2 unless it is told so.
        write!(
            text,
            "    transport_socket:
      name: envoy.transport_sockets.tls
      typed_config:
        '@type': type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
        sni: {name}
        common_tls_context:
          tls_params: {{ tls_maximum_protocol_version: TLSv1_3 }}
          validation_context:
            trusted_ca: {{ filename: {} }}
            match_typed_subject_alt_names: [{{ san_type: DNS, matcher: {{ exact: {name} }} }}]
",
            authority.display()
        )
        .unwrap();
    }
    text
}
