//! The options that all connecting subcommands share: datapath, stack, keys and times.

use crate::keys::KeyOptions;
use bertha::ccp::Choice;
use bertha::local::Registration;
use bertha::{Addr, BoxedStack, Buf, Datapath, Error, ErrorKind, Settings};
use bertha_named::{Side, Stack, Transport};
use bertha_program::exposure;
use bertha_program::values::positive_seconds;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{ArgAction, Args};
use std::time::Duration;
use tokio::time::timeout;

/// Port of an address that names none; iperf3 has this port as well.
const PORT: u16 = 5201;

/// Time that connecting has beyond its limit, so that a layer that keeps to the limit tells its reason.
const GRACE: Duration = Duration::from_millis(50);

/// The settings for connecting and listening.
#[derive(Debug, Clone, Args)]
pub(crate) struct Site {
    /// The datapath.
    #[arg(long, short = 'd', value_parser = datapaths(|_| true), default_value_t = Transport::Tcp, conflicts_with = "udp")]
    datapath: Transport,
    /// Short for `--datapath udp`.
    #[arg(long, short = 'u', action = ArgAction::SetTrue)]
    udp: bool,
    /// Time within which a connection has to be made, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive_seconds)]
    timeout: Duration,
    #[command(flatten)]
    keys: KeyOptions,
}

/// Takes the names of the datapaths that are wanted, which help and completions list.
pub(crate) fn datapaths(wanted: fn(Transport) -> bool) -> impl TypedValueParser<Value = Transport> {
    let values = Transport::ALL
        .iter()
        .filter(move |transport| wanted(**transport))
        .map(|transport| PossibleValue::new(transport.name()).help(transport.description()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<Transport>())
}

impl Site {
    pub(crate) fn transport(&self) -> Transport {
        if self.udp { Transport::Udp } else { self.datapath }
    }

    /// Returns the congestion control of the options.
    pub(crate) fn congestion(&self) -> Option<&Choice> {
        self.keys.congestion()
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::default().handshake_timeout(self.timeout)
    }

    /// Connects within the time limit, which counts for the Chunnels of the stack as well.
    ///
    /// # Errors
    /// Errors of connecting; [`TimedOut`](ErrorKind::TimedOut).
    pub(crate) async fn in_time<T>(
        &self,
        connecting: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        in_time(self.timeout, connecting).await
    }

    /// Returns the stack over `datapath`, for a client of the server at `host` or for a server.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if a Chunnel lacks a key or has a key that can't be used.
    pub(crate) fn stack<D: Datapath>(
        &self,
        text: &Stack,
        side: Side<'_>,
        datapath: &D,
    ) -> Result<BoxedStack<D, Buf>, Error> {
        let keys = self.keys.keys();
        keys.secret_files(text).for_each(exposure::warn_of_file);
        text.build_on(datapath, &keys, side)
    }

    /// Enters a server at `addr` in the directory of the machine, if its stack looks for peers there.
    pub(crate) async fn register(&self, text: &Stack, addr: &Addr) -> Option<Registration> {
        let name = format!("bertha-perf-{}", std::process::id());
        self.keys.keys().register(text, &name, addr).await
    }
}

async fn in_time<T>(limit: Duration, connecting: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = |_| {
        let what =
            format!("the Chunnels of the stack did not get ready within {limit:?}; does the server answer?");
        Error::new(ErrorKind::TimedOut, what)
    };
    timeout(limit + GRACE, connecting).await.map_err(late)?
}

/// An address and the host's name in it, for certificates.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) host: String,
    pub(crate) addr: Addr,
}

impl Place {
    /// Returns the place that `text` names: `IP:PORT`, `unix:PATH`, or `HOST[:PORT]`, whose address the
    /// system knows.
    ///
    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the system knows no address of this name.
    pub(crate) async fn find(text: &str) -> Result<Self, Error> {
        if text.starts_with("unix:") {
            return Ok(Self { host: "localhost".into(), addr: text.parse()? });
        }
        let (host, port) = host_and_port(text);
        let unknown = |reason: String| {
            let what = format!("`{text}` is neither IP:PORT nor unix:PATH nor a known HOST[:PORT]: {reason}");
            Error::new(ErrorKind::Invalid, what)
        };
        let mut found =
            tokio::net::lookup_host((host, port)).await.map_err(|error| unknown(error.to_string()))?;
        let addr = found.next().ok_or_else(|| unknown("it has no address".into()))?;
        Ok(Self { host: host.to_owned(), addr: addr.into() })
    }
}

/// Splits `text`, with the usual port if it names none. An IPv6 address has a port only behind brackets.
fn host_and_port(text: &str) -> (&str, u16) {
    let whole = text.trim_start_matches('[').trim_end_matches(']');
    if whole.parse::<std::net::Ipv6Addr>().is_ok() {
        return (whole, PORT);
    }
    match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() => match port.parse() {
            Ok(port) => (host.trim_start_matches('[').trim_end_matches(']'), port),
            Err(_) => (text, PORT),
        },
        _ => (text, PORT),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn chunnels_that_do_not_get_ready_are_given_up_with_the_limit_in_the_reason() {
        let error = in_time(Duration::from_secs(2), pending::<Result<(), Error>>()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("within 2s"), "{error}");
        let own = async { Err::<(), _>(Error::new(ErrorKind::Refused, "its own reason")) };
        assert_eq!(in_time(Duration::ZERO, own).await.unwrap_err().kind(), ErrorKind::Refused);
    }

    #[test]
    fn a_port_that_is_not_named_is_that_of_iperf() {
        for (text, host, port) in [
            ("127.0.0.1:80", "127.0.0.1", 80),
            ("127.0.0.1", "127.0.0.1", PORT),
            ("localhost:1", "localhost", 1),
            ("[::1]:80", "::1", 80),
            ("::1", "::1", PORT),
            ("[::1]", "::1", PORT),
        ] {
            assert_eq!(host_and_port(text), (host, port), "{text}");
        }
    }
}
