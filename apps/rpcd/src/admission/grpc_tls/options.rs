//! The options for TLS with callers and servers of gRPC.

use super::GrpcTls;
use bertha::chunnels::Trust;
use bertha_core::Error;
use bertha_program::tls;
use std::path::PathBuf;

/// The options for TLS with callers and servers of gRPC, who have other authorities than daemons.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Encryption of gRPC")]
pub(crate) struct GrpcOptions {
    /// The certificates that callers of gRPC see, who have to use TLS then, and servers of gRPC that ask; the daemon's own first, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_key")]
    grpc_cert: Option<PathBuf>,
    /// The private key of that certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_cert")]
    grpc_key: Option<PathBuf>,
    /// Takes only callers of gRPC with a certificate of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "grpc_cert")]
    grpc_client_ca: Option<PathBuf>,
    /// The authorities that may have signed the certificates of servers of gRPC, in PEM
    #[arg(long, value_name = "FILE")]
    grpc_server_ca: Option<PathBuf>,
}

impl GrpcOptions {
    /// Reads the files.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid), which names the file, if a file can't be used; and errors of reading it.
    pub(crate) fn read(&self) -> Result<GrpcTls, Error> {
        let files = self.grpc_cert.as_ref().zip(self.grpc_key.as_ref());
        Ok(GrpcTls {
            identity: files.map(|(certificates, key)| tls::identity(certificates, key)).transpose()?,
            callers: self.grpc_client_ca.as_ref().map(Trust::ca_file).transpose()?,
            servers: self.grpc_server_ca.as_ref().map(Trust::ca_file).transpose()?,
        })
    }
}
