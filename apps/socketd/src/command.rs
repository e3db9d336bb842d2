//! The command line.

use crate::server::Server;
use bertha_core::{Error, ErrorKind};
use bertha_program::{Termination, cannot_listen, make_socket_folder};
use bertha_sockets_machine::Layout;
use clap::Parser;
use std::path::PathBuf;

/// Pairs the two ends of TCP connections of this machine, whose programs `bertha run` started, so that they share memory, or carries them by
/// the stacks that `bertha run --stack` names.
#[derive(Debug, Parser)]
#[command(name = "bertha-socketd", version)]
pub(crate) struct Arguments {
    /// The daemon's socket. The rights of its folder, which is made in `/run`, say who may ask.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/sockets.sock")]
    socket: PathBuf,
    /// Size of a ring, of which a connection has two: a power of two from 4 KiB to 64 MiB.
    #[arg(long, value_name = "BYTES", default_value_t = 128 << 10)]
    ring: usize,
}

impl Arguments {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let layout = Layout::new(self.ring).ok_or_else(|| {
            let what =
                format!("a ring of {} bytes: the size is a power of two from 4 KiB to 64 MiB", self.ring);
            Error::new(ErrorKind::Invalid, what)
        })?;
        make_socket_folder(&self.socket)?;
        let server = Server::listen(&self.socket, layout)
            .map_err(|error| cannot_listen(self.socket.display(), error))?;
        // Dropping the server removes its socket.
        termination.serve(server.serve()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_program::style;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_as_those_of_the_other_programs() {
        assert_eq!(style::faults(Arguments::command()), [""; 0]);
    }
}
