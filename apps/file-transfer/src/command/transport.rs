//! The transport over datagrams: Bertha's own, or QUIC.

use bertha::chunnels::Fault;
use bertha::chunnels::{Quic, TlsIdentity, Trust};
use bertha::prelude::*;
use bertha::{BoxedStack, Buf, Datapath, ErrorKind};
use bertha_file_transfer::Error;
use bertha_file_transfer::stack::{OverDatagrams, over_datagrams, reliable};
use bertha_program::exposure;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

/// The choice between QUIC and Bertha's own transport, and the settings of QUIC.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The transport (over udp and unix)")]
pub(super) struct Transport {
    /// The protocol that repeats lost packets
    #[arg(long, value_enum, default_value_t)]
    transport: Kind,
    /// The certificate that this end shows over QUIC, and the certificates that lead to its authority, in
    /// PEM; a receiver needs it
    #[arg(long, value_name = "FILE", requires = "key")]
    certificate: Option<PathBuf>,
    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// Trusted certificates, in PEM; the other end has to show one of these, or a certificate that leads to
    /// one; a sender needs some
    #[arg(long, value_name = "FILE")]
    trust: Option<PathBuf>,
    /// The name or IP address in the receiver's certificate
    #[arg(long, value_name = "NAME", default_value = "file-transfer")]
    name: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Chunnels of Bertha's own, which do not encrypt
    #[default]
    Reliable,
    /// QUIC, which encrypts
    Quic,
    /// QUIC if the other end has it as well, otherwise Bertha's own. An attacker on the way can bring the
    /// latter about
    Either,
}

/// Stacks over QUIC.
pub(super) struct ByQuic {
    quic: Quic,
    timeout: Duration,
    is_optional: bool,
}

impl Transport {
    pub(super) fn is_by_quic(&self) -> bool {
        self.transport != Kind::Reliable
    }

    /// Returns QUIC, which may carry the file, with packets of up to `packet` bytes.
    pub(super) fn quic(&self, packet: u16, timeout: Duration, is_server: bool) -> Result<ByQuic, Error> {
        let identity = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => {
                exposure::warn_of_file(key);
                Some(TlsIdentity::from_pem_files(certificate, key)?)
            }
            _ => None,
        };
        let trust = self.trust.as_ref().map(Trust::ca_file).transpose()?;
        let quic = match (is_server, identity, trust) {
            (true, Some(identity), None) => Quic::server(identity)?,
            (true, Some(identity), Some(trust)) => Quic::server(identity)?.require_clients(trust),
            (false, None, Some(trust)) => Quic::client(&self.name, trust)?,
            (false, Some(identity), Some(trust)) => Quic::client(&self.name, trust)?.identity(identity),
            (true, None, _) => return Err(missing("a receiver over QUIC needs --certificate and --key")),
            (false, _, None) => return Err(missing("a sender over QUIC needs --trust")),
        };
        let quic = quic.packet(packet).idle_timeout(timeout);
        Ok(ByQuic { quic, timeout, is_optional: self.transport == Kind::Either })
    }
}

fn missing(what: &'static str) -> Error {
    bertha::Error::new(ErrorKind::Invalid, what).into()
}

impl ByQuic {
    /// Returns a stack by QUIC over this datapath, with packets of up to `packet` bytes from Reliable. The
    /// transport is type-erased, since it is chosen here at run time.
    pub(super) fn over<D>(
        self,
        datapath: &D,
        packet: usize,
        faults: Option<Fault>,
    ) -> OverDatagrams<BoxedStack<D, Buf>>
    where
        D: Datapath,
    {
        let Self { quic, timeout, is_optional } = self;
        let either = |quic| select!(quic, reliable(packet, timeout));
        let transport = match (is_optional, faults) {
            (false, None) => make_stack!(quic).boxed(datapath),
            (false, Some(faults)) => make_stack!(quic, faults).boxed(datapath),
            (true, None) => make_stack!(either(quic)).boxed(datapath),
            (true, Some(faults)) => make_stack!(either(quic), faults).boxed(datapath),
        };
        over_datagrams(packet, transport)
    }
}
